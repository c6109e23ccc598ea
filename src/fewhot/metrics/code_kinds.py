"""The four kinds of code of a row: map, mean, sample, slab mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import torch

from fewhot.core.checks import one_of
from fewhot.core.devices import in_float32, matrix_precision
from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import Batch, Knobs, Noise
from fewhot.core.seeding import resolve_seed, stream
from fewhot.data import Dataset
from fewhot.metrics.examples import transformed
from fewhot.metrics.libraries import library

Kind = Literal["map", "mean", "sample", "slab_mean"]
KINDS: tuple[Kind, ...] = ("map", "mean", "sample", "slab_mean")
EXACT = Knobs(gates="exact")
BATCH = 512
_ENCODING_DRAWS = 64  # the length of the bank whose first observation `transform` encodes


def code_matrix(estimator: Any, X: Any, kind: Kind = "map", random_state: Any = 0) -> Any:
    r"""Return one kind of code of every row.

    With on-probability :math:`\gamma` and slab :math:`\mathcal{N}(\mu, \sigma^2)`; families without gates have
    :math:`\gamma = 1`:

    - ``"map"``: :math:`\mathbb{1}[\gamma > \tfrac12]\,\mu`, what `transform` returns: deterministic, exactly sparse;
    - ``"mean"``: :math:`\gamma\mu`, the expected code, of counts the expected counts: dense;
    - ``"sample"``: a hard gate times a draw of the slab: exactly sparse;
    - ``"slab_mean"``: :math:`\mu`, whatever the gate: for diagnosis only.

    A ceiling on active units (``max_active``) and refinement (``refine_steps``) belong to the map code; the other
    kinds are refused for an estimator that refines, because they would be of another posterior.

    Parameters
    ----------
    estimator
        A fitted estimator.
    X
        Rows, (n, p).
    kind
        Which code.
    random_state
        Seed of the draws of ``"sample"``; a row's draw depends on its place.

    Returns
    -------
    ndarray or csr_array
        (n, K): sparse for ``"map"`` and ``"sample"`` where the estimator has ``sparse_output``.

    Examples
    --------
    >>> import fewhot as fh
    >>> X = np.random.default_rng(0).random((50, 4))
    >>> vae = fh.VAE(n_components=2, max_steps=5, random_state=0).fit(X)
    >>> code_matrix(vae, X, "sample").shape
    (50, 2)
    """
    one_of("kind", kind, KINDS)
    if kind == "map":
        return transformed(estimator, X)
    check_unrefined(estimator, kind)
    code = {"mean": _mean, "slab_mean": _slab_mean, "sample": _sampler(resolve_seed(random_state))}[kind]
    parts = [code(estimator.module_, psi).cpu().numpy() for _, psi in encoded(estimator, X)]
    if kind == "sample" and estimator.module_.latent.gated and getattr(estimator, "sparse_output", False):
        sparse = library("scipy.sparse")
        return sparse.csr_array(sparse.vstack([sparse.csr_array(part) for part in parts], format="csr"))
    return np.concatenate(parts)


def activity_probabilities(estimator: Any, X: Any) -> np.ndarray:
    """Return P(active) of every unit and row, (n, K), dense; of refined codes, those of at least 0.01 and else 0."""
    if not estimator.module_.latent.gated:
        raise InvalidParameterError(
            f"{type(estimator).__name__} has no gates, so its units are always active; use a gated model."
        )
    if estimator.refine_steps_:
        return estimator.codes(X).p_active.toarray()
    latent = estimator.module_.latent
    return np.concatenate([latent.summary(psi).logits.sigmoid().cpu().numpy() for _, psi in encoded(estimator, X)])


def check_unrefined(estimator: Any, kind: str) -> None:
    """Refuse other kinds than "map" for an estimator that refines, because they would be of another posterior."""
    if estimator.refine_steps_:
        raise InvalidParameterError(
            f"kind is {kind!r} and the estimator refines its codes, of which only 'map' is known; "
            f"ask for 'map' or set refine_steps=0."
        )


def encoded(estimator: Any, X: Any) -> Iterator[tuple[Batch, Any]]:
    """Yield batches of rows as the model observes them, with the encoder's local parameters; in float32."""
    yield from encoded_rows(estimator, estimator._rows(X))


def encoded_rows(estimator: Any, data: Dataset) -> Iterator[tuple[Batch, Any]]:
    """Yield what `encoded` does, of rows that were read before."""
    module = estimator.module_
    with torch.no_grad(), in_float32(), matrix_precision("float32", data.device):
        first = module.bank(_ENCODING_DRAWS, estimator.seed_, "refinement", data.device)[0]
        for batch in data.batches(BATCH):
            seen = module.observe(batch, first)
            yield seen, module.psi(seen)


def drawn(module: Any, psi: Any, generator: torch.Generator) -> torch.Tensor:
    """Return one draw of the code of every row, with exact gates."""
    return module.latent.draw(module.posterior(psi, EXACT), noise_of_rows(module, psi, generator)).z


def noise_of_rows(module: Any, psi: Any, generator: torch.Generator) -> Noise:
    """Return the random numbers of one draw of the codes of rows, others for every row."""
    local = next(iter(psi.values()))
    noise = module.latent.noise(local.shape[0], generator)
    return {name: value.to(local.device) for name, value in noise.items()}


def _mean(module: Any, psi: Any) -> torch.Tensor:
    return module.latent.summary(psi).mean


def _slab_mean(module: Any, psi: Any) -> torch.Tensor:
    return module.latent.summary(psi).values


def _sampler(seed: int) -> Callable[[Any, Any], torch.Tensor]:
    generator = stream(seed, "codes")
    return lambda module, psi: drawn(module, psi, generator)
