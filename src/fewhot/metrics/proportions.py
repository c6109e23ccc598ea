"""Decoders over words: codes in, log proportions out."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from fewhot.core.errors import InvalidParameterError


def decoder_module(estimator: Any) -> Any:
    """Return the fitted module of an estimator; refuse what is not fitted, or has no decoder."""
    module = getattr(estimator, "module_", None)
    if module is not None:
        return module
    name = type(estimator).__name__
    learned = [attribute for attribute in getattr(estimator, "__dict__", ()) if attribute.endswith("_")]
    if hasattr(estimator, "fit") and not learned:
        raise InvalidParameterError(f"This {name} is not fitted; call fit first.")
    raise InvalidParameterError(
        f"{name} has no decoder from codes to words; give a fitted NFA, or another model with likelihood='multinomial'."
    )


def log_proportions(module: Any, z: Tensor) -> Tensor:
    """Return the log proportions of codes (n, K), (n, V); refuse models of anything but shares of a total."""
    rows = module.decoder.generate(z)
    if not hasattr(rows, "log_probs"):
        raise InvalidParameterError(
            f"The likelihood is {type(module.decoder.head).__name__}, which has no log proportions; fit with "
            f"likelihood='multinomial'."
        )
    return rows.log_probs
