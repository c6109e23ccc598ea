"""Whether a fit finds the atoms and supports that were planted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.metrics.examples import decode, refuse_texts
from fewhot.metrics.labels import micro_f1
from fewhot.metrics.libraries import library
from fewhot.metrics.matrices import as_matrix, dense, row_sums, same_shape
from fewhot.metrics.stability import unit_matching


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """How much of a planted code was found.

    Attributes
    ----------
    matching
        Mean absolute correlation of planted atoms with their units; an atom without a unit counts as 0.
    support_f1
        Micro F1 of the units' activity against the planted supports; an atom without a unit is missed throughout.
    support_auc
        Mean over atoms of the probability that a row with the atom scores above a row without it; 0.5 for an atom
        without a unit.
    cosine
        Mean absolute cosine of planted atoms with their units' directions, 0 without a unit; None without
        dictionaries.
    surplus
        Share of all activations that belong to units without an atom.
    pairs
        (unit, atom), best first, (m, 2).
    """

    matching: float
    support_f1: float
    support_auc: float
    cosine: float | None
    surplus: float
    pairs: np.ndarray


def recovery(
    codes: Any,
    planted_codes: Any,
    dictionary: Any = None,
    planted_dictionary: Any = None,
    p_active: Any = None,
) -> Recovery:
    r"""Compare a code with the one that was planted, after pairing units with atoms by correlation.

    Parameters
    ----------
    codes
        Codes of the rows as `transform` returns them, (n, K).
    planted_codes
        The codes that made the rows, (n, A), or their supports as zeros and ones.
    dictionary
        Direction of each unit in the data, (K, D); `unit_directions` gives it.
    planted_dictionary
        Atoms, (A, D).
    p_active
        P(active), (n, K), which orders rows for the AUC; the size of the code when None.

    Examples
    --------
    >>> Z = np.random.default_rng(0).normal(size=(50, 3)) * (np.arange(150).reshape(50, 3) % 4 == 0)
    >>> found = recovery(-Z[:, ::-1], Z)
    >>> round(found.matching, 6), found.support_f1, found.surplus
    (1.0, 1.0, 0.0)
    """
    found, planted = as_matrix(codes, "codes"), as_matrix(planted_codes, "planted_codes")
    match = unit_matching(found, planted)
    pairs = match.pairs
    n_atoms = planted.shape[1]
    support = dense(planted) != 0
    scores = abs(found) if p_active is None else as_matrix(p_active, "p_active")
    same_shape(found, scores, "codes and p_active")
    activations = row_sums((found != 0).T)
    total = activations.sum()
    return Recovery(
        matching=float(np.abs(match.correlation).sum() / n_atoms),
        support_f1=micro_f1(support, _by_atom(found, pairs, n_atoms)),
        support_auc=_mean_auc(support, _by_atom(scores, pairs, n_atoms)),
        cosine=_cosine(dictionary, planted_dictionary, pairs, found.shape[1], n_atoms),
        surplus=float(1 - activations[pairs[:, 0]].sum() / total) if total else 0.0,
        pairs=pairs,
    )


def unit_directions(estimator: Any, sizes: Any = 1.0) -> np.ndarray:
    r"""Return what each unit alone adds to the decoded row.

    .. math:: d_j = \mathbb{E}[x \mid z = s_j e_j] - \mathbb{E}[x \mid z = 0]

    Parameters
    ----------
    estimator
        A fitted estimator.
    sizes
        The value :math:`s_j` of each unit, one for all or (K,); directions of a curved decoder depend on it.

    Returns
    -------
    ndarray
        (K, D).
    """
    if getattr(estimator, "says_texts", False):
        refuse_texts(estimator)
    n_units = estimator.module_.latent.n_latent
    values = np.asarray(sizes, dtype=np.float64)
    if values.shape not in ((), (n_units,)):
        raise InvalidParameterError(f"sizes has shape {values.shape}; give one number or one a unit, ({n_units},).")
    rows = decode(estimator, np.vstack([np.zeros(n_units), np.eye(n_units) * values]))
    return rows[1:] - rows[0]


def _by_atom(matrix: Any, pairs: np.ndarray, n_atoms: int) -> np.ndarray:
    """Return the units' columns in the order of the atoms; zeros for an atom without a unit."""
    ordered = np.zeros((matrix.shape[0], n_atoms))
    ordered[:, pairs[:, 1]] = dense(matrix[:, pairs[:, 0]])
    return ordered


def _mean_auc(support: np.ndarray, scores: np.ndarray) -> float:
    """Return the mean rank AUC over atoms that some rows have and some have not; NaN when there is none."""
    rank = library("scipy.stats").rankdata
    areas: list[float] = []
    for present, score in zip(support.T, scores.T, strict=True):
        n_with = int(present.sum())
        n_without = len(present) - n_with
        if n_with and n_without:
            above = rank(score)[present].sum() - n_with * (n_with + 1) / 2
            areas.append(float(above / (n_with * n_without)))
    return float(np.mean(areas)) if areas else float("nan")


def _cosine(found: Any, planted: Any, pairs: np.ndarray, n_units: int, n_atoms: int) -> float | None:
    if found is None and planted is None:
        return None
    if found is None or planted is None:
        raise InvalidParameterError("Only one of dictionary and planted_dictionary was given; give both or neither.")
    directions, atoms = dense(as_matrix(found, "dictionary")), dense(as_matrix(planted, "planted_dictionary"))
    if directions.shape[0] != n_units or atoms.shape[0] != n_atoms or directions.shape[1] != atoms.shape[1]:
        raise InvalidInputError(
            f"dictionary and planted_dictionary have shapes {directions.shape} and {atoms.shape}; "
            f"give ({n_units}, D) and ({n_atoms}, D)."
        )
    a, b = directions[pairs[:, 0]], atoms[pairs[:, 1]]
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    product = np.abs((a * b).sum(axis=1))
    return float(np.divide(product, norms, out=np.zeros_like(norms), where=norms > 0).sum() / n_atoms)
