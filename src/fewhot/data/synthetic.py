r"""Data with planted codes: which units made a row, and how strongly, is known.

Everything comes from one seed, and row i depends on the seed and on i alone: more rows leave the earlier ones as they
are.

**Codes.** Unit k of row i is on with probability :math:`\ell_0 / K`, independently, and its amplitude keeps away from
zero, so that "on" is a fact and not a matter of a threshold:

.. math::

    s_{ik} \sim \mathrm{Bernoulli}(\ell_0 / K), \qquad
    a_{ik} = r_{ik}\, u_{ik}, \quad u_{ik} \sim \mathrm{Uniform}(\tfrac12, \tfrac32), \qquad
    z_{ik} = s_{ik}\, a_{ik}

The sign :math:`r_{ik}` is +1 or -1 with equal probability. Count data made by a linear decoder have :math:`r_{ik} = 1`.

**Real rows.** Atoms have random directions and one length, chosen so that the features of the linear decoder have
variance 1 on average (:math:`\mathrm{E}\,u^2 = 13/12`); Q is a random orthogonal matrix and c = 1.5925 brings tanh of a
standard normal back to variance 1:

.. math::

    d_k &= \sqrt{\tfrac{p}{\ell_0\, 13/12}}\; \frac{g_k}{\lVert g_k \rVert}, \quad g_k \sim N(0, I_p) \\
    f(z) &= z D \ \text{(linear)}, \qquad f(z) = c \tanh(z D)\, Q \ \text{(nonlinear)} \\
    x_i &= f(z_i) + \sigma\, \varepsilon_i, \quad \varepsilon_i \sim N(0, I_p)

**Counts.** The linear decoder mixes topics with a background of share :math:`\sigma`; the nonlinear one is log-linear,
with the atoms of above and noise of standard deviation :math:`\sigma` on the logits. L is the mean sum of a row:

.. math::

    d_k &\sim \mathrm{Dirichlet}(0.1), \quad
    \lambda_i = L \Big( (1 - \sigma) \frac{z_i D}{\ell_0} + \frac{\sigma}{p} \Big) \ \text{(linear)} \\
    \lambda_i &= L\, \mathrm{softmax}(z_i D + \sigma\, \varepsilon_i) \ \text{(nonlinear)} \\
    x_{ij} &\sim \mathrm{Poisson}(\lambda_{ij})
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewhot.core.checks import one_of, real_number, whole_number
from fewhot.core.seeding import derive_seed, resolve_seed
from fewhot.data.catalogue import register_dataset
from fewhot.data.loaded import Loaded, content_digest

BLOCK = 1024
"""Rows that are drawn together; part of the law, for another size draws other rows."""

_MEAN_SQUARE = 13 / 12
_TANH_GAIN = 1.5925
_TOPIC_CONCENTRATION = 0.1
_LICENCE = "none needed: generated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """Rows and the codes that made them.

    Attributes
    ----------
    X
        The rows, (n, p): a float32 array, or CSR for counts.
    codes
        The planted codes z, (n, K), CSR in float32.
    supports
        Which units are on, (n, K), CSR of booleans with the pattern of ``codes``.
    dictionary
        The atoms or topics D, (K, p), float32.
    mixing
        Q of the nonlinear decoder of real rows, (p, p), float32; None otherwise.
    seed
        The seed from which all of it came.
    """

    X: np.ndarray | sp.csr_array
    codes: sp.csr_array
    supports: sp.csr_array
    dictionary: np.ndarray
    mixing: np.ndarray | None
    seed: int

    def loaded(self) -> Loaded:
        """Return the rows as every other dataset's."""
        return Loaded(
            X=self.X,
            y=None,
            name="planted",
            split=None,
            image_shape=None,
            feature_names=None,
            licence=_LICENCE,
            digest=content_digest(self.X),
        )


def planted(
    n_rows: int = 2000,
    n_features: int = 64,
    n_units: int = 32,
    l0: float = 3.0,
    *,
    kind: str = "real",
    decoder: str = "linear",
    noise: float = 0.1,
    mean_count: float = 100.0,
    random_state: Any = 0,
) -> Planted:
    """Make rows from planted sparse codes; the laws are the equations of this module.

    Parameters
    ----------
    n_rows, n_features, n_units
        n, p and K.
    l0
        Mean number of active units a row, at most ``n_units``.
    kind
        "real" rows with Gaussian noise, or Poisson "counts".
    decoder
        "linear" or "nonlinear".
    noise
        σ: the noise's standard deviation against features of variance 1; for linear counts the background's share.
    mean_count
        L: the mean sum of a row of counts.
    random_state
        The seed.

    Examples
    --------
    >>> made = planted(500, n_features=20, n_units=10, l0=2.0)
    >>> made.X.shape, made.codes.shape, made.dictionary.shape
    ((500, 20), (500, 10), (10, 20))
    >>> clean = planted(5, noise=0.0)
    >>> bool(np.allclose(clean.X, clean.codes @ clean.dictionary, atol=1e-5))
    True
    """
    whole_number("n_rows", n_rows)
    whole_number("n_features", n_features)
    whole_number("n_units", n_units)
    real_number("l0", l0, low=0, high=n_units, open_low=True)
    one_of("kind", kind, ("real", "counts"))
    one_of("decoder", decoder, ("linear", "nonlinear"))
    counts = kind == "counts"
    real_number("noise", noise, low=0, high=1 if counts and decoder == "linear" else float("inf"))
    real_number("mean_count", mean_count, low=0, open_low=True)
    seed = resolve_seed(random_state)
    topics = counts and decoder == "linear"
    D = _topics(seed, n_units, n_features) if topics else _atoms(seed, n_units, n_features, l0)
    Q = _rotation(seed, n_features) if decoder == "nonlinear" and not counts else None
    rows: list[Any] = []
    codes: list[sp.csr_array] = []
    for block in range(-(-n_rows // BLOCK)):
        rng = _generator(seed, "rows", block)
        z = _codes(rng, n_units, l0, signed=not topics)
        epsilon = rng.standard_normal((BLOCK, n_features))
        if not counts:
            x = _decode(z, D, Q) + noise * epsilon
        else:
            rates = _mixture(z, D, l0, noise) if topics else _softmax(z @ D + noise * epsilon)
            x = sp.csr_array(rng.poisson(mean_count * rates).astype(np.float32))
        keep = slice(0, n_rows - block * BLOCK)
        rows.append(x[keep] if counts else x[keep].astype(np.float32))
        codes.append(sp.csr_array(z[keep].astype(np.float32)))
    Z = sp.csr_array(sp.vstack(codes, format="csr"))
    return Planted(
        X=sp.csr_array(sp.vstack(rows, format="csr")) if counts else np.concatenate(rows),
        codes=Z,
        supports=sp.csr_array(Z, dtype=bool),
        dictionary=D.astype(np.float32),
        mixing=None if Q is None else Q.astype(np.float32),
        seed=seed,
    )


def _codes(rng: np.random.Generator, n_units: int, l0: float, *, signed: bool) -> np.ndarray:
    """Draw a block of z = s r u."""
    on = rng.random((BLOCK, n_units)) < l0 / n_units
    sign = np.where(rng.random((BLOCK, n_units)) < 0.5, -1.0, 1.0)
    amplitude = rng.uniform(0.5, 1.5, (BLOCK, n_units))
    return on * amplitude * (sign if signed else 1.0)


def _atoms(seed: int, n_units: int, n_features: int, l0: float) -> np.ndarray:
    g = _generator(seed, "dictionary").standard_normal((n_units, n_features))
    return g / np.linalg.norm(g, axis=1, keepdims=True) * np.sqrt(n_features / (l0 * _MEAN_SQUARE))


def _topics(seed: int, n_units: int, n_features: int) -> np.ndarray:
    return _generator(seed, "dictionary").dirichlet(np.full(n_features, _TOPIC_CONCENTRATION), n_units)


def _rotation(seed: int, n_features: int) -> np.ndarray:
    q, r = np.linalg.qr(_generator(seed, "mixing").standard_normal((n_features, n_features)))
    return q * np.sign(np.diag(r))  # the sign makes it uniform over orthogonal matrices, and unique


def _decode(z: np.ndarray, D: np.ndarray, Q: np.ndarray | None) -> np.ndarray:
    return z @ D if Q is None else _TANH_GAIN * np.tanh(z @ D) @ Q


def _mixture(z: np.ndarray, D: np.ndarray, l0: float, background: float) -> np.ndarray:
    return (1 - background) * (z @ D) / l0 + background / D.shape[1]


def _softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def _generator(seed: int, *names: object) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(derive_seed(seed, "planted", *names)))


def _read_planted(part: str, files: Mapping[str, Path]) -> tuple[Any, None]:
    return planted().X, None


register_dataset(
    "planted",
    _read_planted,
    title="Planted sparse codes: 3 of 32 atoms a row, 64 features, a tenth of noise (fewhot.data.planted)",
    licence=_LICENCE,
    shapes={"all": (2000, 64)},
)
