"""Whether P(active) means what it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from fewhot.core.checks import whole_number
from fewhot.core.devices import matrix_precision
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.core.records import Batch, Dense, Tokens
from fewhot.core.seeding import resolve_seed, stream
from fewhot.metrics.code_kinds import BATCH
from fewhot.metrics.estimates import estimate
from fewhot.metrics.matrices import dense
from fewhot.metrics.stability import unit_matching


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Probabilities against what happened.

    Attributes
    ----------
    bins
        Lower and upper edge of each bin that holds anything, (m, 2).
    expected
        Mean probability in each bin, (m,).
    observed
        Share of its entries that were active, (m,).
    count
        Entries in each bin, (m,).
    ece
        Expected calibration error: the mean of ``|observed - expected|`` over entries.
    se
        Standard error of ``ece`` over rows, which may be correlated inside.
    noise
        The error that perfectly calibrated probabilities would show with so many entries.
    rate
        Share of all entries that were active.
    """

    bins: np.ndarray
    expected: np.ndarray
    observed: np.ndarray
    count: np.ndarray
    ece: float
    se: float
    noise: float
    rate: float


def calibration(p_active: Any, truth: Any, n_bins: int = 10) -> Calibration:
    r"""Return how well probabilities agree with what happened, in bins of equal width.

    .. math:: \mathrm{ECE} = \sum_b \frac{n_b}{n} \Big| \frac{1}{n_b}\sum_{i \in b} t_i
        - \frac{1}{n_b}\sum_{i \in b} p_i \Big|

    Parameters
    ----------
    p_active
        Probabilities, (n,) or (n, K), an array or a sparse matrix; an entry that is not stored is 0.
    truth
        What happened, of the same shape: not zero where the unit was active. Known for planted codes
        (`planted_calibration`) and for rows drawn from the model itself (`self_calibration`).
    n_bins
        Number of bins between 0 and 1.

    Notes
    -----
    Given the signs of the bins' errors, ECE is a mean over entries; its standard error is that of the rows' means.

    Examples
    --------
    >>> result = calibration(np.array([0.25, 0.25, 0.25, 0.25]), np.array([1, 0, 0, 0]))
    >>> result.ece, result.bins.round(1).tolist()
    (0.0, [[0.2, 0.3]])
    """
    n_bins = whole_number("n_bins", n_bins)
    p, active = _pair(p_active, truth)
    index = np.minimum((p * n_bins).astype(int), n_bins - 1)
    count = np.bincount(index.ravel(), minlength=n_bins)
    said = np.bincount(index.ravel(), p.ravel(), n_bins)
    seen = np.bincount(index.ravel(), active.ravel(), n_bins)
    spread = np.bincount(index.ravel(), (p * (1 - p)).ravel(), n_bins)
    signed = estimate((np.sign(seen - said)[index] * (active - p)).mean(axis=1))
    full = count > 0
    edges = np.linspace(0, 1, n_bins + 1)
    return Calibration(
        bins=np.stack([edges[:-1], edges[1:]], axis=1)[full],
        expected=said[full] / count[full],
        observed=seen[full] / count[full],
        count=count[full],
        ece=float(np.abs(seen - said).sum() / p.size),
        se=signed.se,
        noise=float(np.sqrt(2 / np.pi * spread).sum() / p.size),
        rate=float(active.mean()),
    )


def planted_calibration(p_active: Any, codes: Any, planted_codes: Any, n_bins: int = 10) -> Calibration:
    """Return the calibration of P(active) against planted codes, over the units that can be paired with an atom.

    Units are paired with atoms by correlation, as in `unit_matching`. A unit that stands for something else than its
    atom is counted as miscalibrated, so read this beside `recovery`.

    Parameters
    ----------
    p_active
        P(active), (n, K).
    codes
        Codes of the same rows as `transform` returns them, (n, K).
    planted_codes
        The codes that made the rows, (n, A).
    n_bins
        Number of bins between 0 and 1.
    """
    pairs = unit_matching(codes, planted_codes).pairs
    if not len(pairs):
        raise InvalidInputError(
            "No unit of codes is used, so none can be paired with an atom; fit a model that uses some."
        )
    return calibration(dense(p_active)[:, pairs[:, 0]], dense(planted_codes)[:, pairs[:, 1]], n_bins)


def self_calibration(estimator: Any, n_rows: int = 2000, n_bins: int = 10, random_state: Any = 0) -> Calibration:
    r"""Return the calibration of P(active) on rows drawn from the model itself, where the active units are known.

    .. math:: z \sim p(z), \quad x \sim p(x|z), \quad \text{then } q(\text{active}_j \mid x) \text{ against }
        \mathbb{1}[z_j \neq 0]

    The exact posterior of the fitted model is calibrated on such rows by construction, so what is missing is the
    encoder's doing, not the model's; refinement is left out. Where rows of data are not what the model draws (grey
    levels under a Bernoulli, unit-norm rows under a Gaussian), the encoder meets rows it was not trained on, and the
    error is larger for it.

    Parameters
    ----------
    estimator
        A fitted estimator with gates.
    n_rows
        Rows to draw.
    n_bins
        Number of bins between 0 and 1.
    random_state
        Seed of the draws.
    """
    module = estimator.module_
    if not module.latent.gated:
        raise InvalidParameterError(
            f"{type(estimator).__name__} has no gates, so its units are always active; use a gated model."
        )
    if not module.reads_what_it_makes:
        raise InvalidParameterError(
            "The encoder cannot read what the decoder makes, so the model says nothing of its own rows; calibrate it "
            "on rows whose units are known."
        )
    device = next(module.parameters()).device
    generator = stream(resolve_seed(random_state), "self-calibration", device=device)
    said: list[np.ndarray] = []
    truth: list[np.ndarray] = []
    with torch.no_grad(), matrix_precision("float32", device):
        left = whole_number("n_rows", n_rows)
        while left > 0:
            z = module.prior.sample(min(left, BATCH), module.posterior_of, generator)
            x = _rows(module, module.decoder.generate(z).sample(generator))
            summary = module.latent.summary(module.psi(module.observe(Batch(x), {})))
            said.append(summary.logits.sigmoid().cpu().numpy())
            truth.append((z != 0).cpu().numpy())
            left -= len(z)
    return calibration(np.concatenate(said), np.concatenate(truth), n_bins)


def _rows(module: Any, x: torch.Tensor) -> Dense | Tokens:
    """Return drawn rows as the encoder reads them: texts are drawn as ids."""
    return Dense(x) if x.is_floating_point() else Tokens(x, module.decoder.head.n_columns)


def _pair(p_active: Any, truth: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities and 0/1 truths as (n, K) arrays."""
    p, active = dense(p_active).astype(np.float64), (dense(truth) != 0).astype(np.float64)
    if p.shape != active.shape or p.ndim not in (1, 2) or not p.size:
        raise InvalidInputError(
            f"p_active and truth have shapes {p.shape} and {active.shape}; give two of one shape, (n,) or (n, K)."
        )
    if not ((p >= 0) & (p <= 1)).all():
        raise InvalidInputError("p_active has values outside [0, 1]; give probabilities.")
    return (p[:, None], active[:, None]) if p.ndim == 1 else (p, active)
