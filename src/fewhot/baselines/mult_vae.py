"""Mult-VAE, which is an NFA."""

from __future__ import annotations

from typing import Any

from fewhot.estimators import NFA


def MultVAE(n_components: int = 200, **changes: Any) -> NFA:
    """Return the variational autoencoder of Liang et al. (2018): `NFA` with ``recipe="liang2018"``.

    Parameters
    ----------
    n_components
        Number of units.
    **changes
        Other arguments of `NFA`.

    Examples
    --------
    >>> MultVAE(50, max_epochs=10).recipe
    'liang2018'
    """
    return NFA(n_components, recipe="liang2018", **changes)
