"""Bounds on the likelihood of rows, each with its standard error, and perplexity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from fewhot.core.checks import one_of, whole_number
from fewhot.core.devices import in_float32
from fewhot.core.errors import InvalidInputError
from fewhot.core.records import Draw, Params
from fewhot.core.seeding import stream
from fewhot.metrics.code_kinds import EXACT, encoded, noise_of_rows
from fewhot.metrics.estimates import Estimate, estimate
from fewhot.metrics.matrices import as_numbers

RELAXATION_DRAWS = 8
MOST_COMPARED = 1000


def exact_bound(estimator: Any, X: Any) -> Estimate:
    """Return the evidence lower bound in nats a row: exact gates, KL weight 1. The number of record.

    The standard error is over rows. All rows share one bank of noise draws, whose own error it leaves out.

    Parameters
    ----------
    estimator
        A fitted estimator.
    X
        Rows, (n, p); held-out ones for an honest number.
    """
    return estimate(estimator.score_samples(X))


def iwae(estimator: Any, X: Any, n_draws: int = 100) -> Estimate:
    r"""Return the importance-weighted bound in nats a row: tighter with more draws.

    .. math:: \log \frac{1}{S}\sum_s \exp\big(\log p(x, z_s) - \log q(z_s|x)\big), \qquad z_s \sim q(z|x)

    The standard error is over rows, as in `exact_bound`.

    Parameters
    ----------
    estimator
        A fitted estimator.
    X
        Rows, (n, p).
    n_draws
        Draws S a row.

    References
    ----------
    Burda, Grosse and Salakhutdinov (2016), Importance Weighted Autoencoders.
    """
    return estimate(estimator.log_likelihood(X, n_draws))


@in_float32()
def information(estimator: Any, X: Any) -> Estimate:
    r"""Return :math:`\mathrm{KL}(q(z|x)\,\|\,p(z))` in nats a row: how much the encoder's code says about a row.

    Its mean over rows is an upper bound on the mutual information of rows and codes.
    """
    module, generator = estimator._fitted_module(), stream(estimator.seed_, "information")
    rows: list[np.ndarray] = []
    for seen, psi in encoded(estimator, X):
        divergence = module.divergence(module.run(psi, seen, EXACT, noise_of_rows(module, psi, generator)))
        rows.append(torch.stack(tuple(divergence.values())).sum(0).cpu().numpy())
    return estimate(np.concatenate(rows))


@in_float32()
def reconstruction(estimator: Any, X: Any, n_draws: int = 1) -> Estimate:
    r"""Return :math:`\mathbb{E}_{q(z|x)}[\log p(x|z)]` in nats a row: how well codes say their rows.

    Models are often compared where this is alike. Every row has draws of its own, with exact gates.
    """
    whole_number("n_draws", n_draws)
    module, generator = estimator._fitted_module(), stream(estimator.seed_, "reconstruction")
    rows: list[np.ndarray] = []
    for seen, psi in encoded(estimator, X):
        draws = [
            module.run(psi, seen, EXACT, noise_of_rows(module, psi, generator)).px.log_prob(seen.x)
            for _ in range(n_draws)
        ]
        rows.append(torch.stack(draws).mean(0).cpu().numpy())
    return estimate(np.concatenate(rows))


@in_float32()
@torch.no_grad()
def mutual_information(estimator: Any, X: Any, n_rows: int = MOST_COMPARED) -> Estimate:
    r"""Return how many nats codes tell rows apart by: about 0 where posteriors are all alike, whatever they cost.

    .. math:: I = \frac{1}{n}\sum_i \log q(z_i|x_i) - \log\frac{1}{n}\sum_j q(z_i|x_j), \qquad z_i \sim q(z|x_i)

    It is at most :math:`\log n` of the n rows that are compared, and never more than `information` in the mean.

    Parameters
    ----------
    estimator
        A fitted estimator.
    X
        Rows, (m, p).
    n_rows
        The most rows to compare, each with each; of more, evenly spaced ones are taken.
    """
    module, generator = estimator._fitted_module(), stream(estimator.seed_, "mutual information")
    batches = [(psi, noise_of_rows(module, psi, generator)) for _, psi in encoded(estimator, X)]
    psi, noise = (_joined(parts) for parts in zip(*batches, strict=True))
    n = len(next(iter(psi.values())))
    kept = np.unique(np.linspace(0, n - 1, min(n, n_rows)).astype(int)).tolist()
    psi, noise = ({name: value[kept] for name, value in part.items()} for part in (psi, noise))
    q = module.posterior(psi, EXACT)
    draw = module.latent.draw(q, noise)
    told: list[float] = []
    for row in range(len(kept)):
        alone = Draw(
            draw.z[row].expand_as(draw.z),
            None if draw.gate is None else draw.gate[row].expand_as(draw.gate),
            {name: value[row].expand_as(value) for name, value in draw.auxiliary.items()},
        )
        under_each = module.latent.log_prob(q, alone)  # of one row's code, (n,)
        told.append(float(under_each[row] - under_each.logsumexp(0)) + math.log(len(kept)))
    return estimate(np.array(told))


def relaxed_bound(estimator: Any, X: Any, n_draws: int = RELAXATION_DRAWS) -> Estimate:
    """Return what the bound would be under the gates of training, at its last step, in nats a row.

    It is no bound where those gates are soft; `exact_bound` is the number of record. Every row has noise of its own.
    """
    relaxed, _ = _under_both_gates(estimator, X, n_draws)
    return estimate(relaxed)


def relaxation_gap(estimator: Any, X: Any, n_draws: int = RELAXATION_DRAWS) -> Estimate:
    """Return by how many nats a row the gates of training flatter the bound.

    Rows, weights and noise are the same on both sides: only the gates differ, those of training at its last step
    against exact ones. It is 0 for families without gates, and for gates that are exact on the way forward.
    """
    relaxed, exact = _under_both_gates(estimator, X, n_draws)
    return estimate(relaxed - exact)


@dataclass(frozen=True, slots=True, kw_only=True)
class Perplexity:
    """How many words a model wavers between, in both definitions; see `perplexities`.

    Attributes
    ----------
    document
        From the mean of each document's rate.
    document_se
        How far other documents might have moved it: one standard error, by the delta method.
    corpus
        From totals over totals.
    n_documents
        Documents with words, which it was taken over.
    empty
        Documents without words, which were left out.
    """

    document: float
    document_se: float
    corpus: float
    n_documents: int
    empty: int


def perplexities(bounds: Any, lengths: Any) -> Perplexity:
    r"""Return perplexity from the bound on each document, in both definitions.

    .. math:: \exp\Big(-\frac{1}{D}\sum_d \frac{L_d}{N_d}\Big) \quad\text{and}\quad
        \exp\Big(-\frac{\sum_d L_d}{\sum_d N_d}\Big)

    Documents without words have no rate: they are left out of both, and counted.

    Parameters
    ----------
    bounds
        Bound :math:`L_d` on each document's log-probability in nats, the KL included, (D,): what ``score_samples``
        returns.
    lengths
        Words :math:`N_d` of each document, (D,): the sums of the rows of X.

    Examples
    --------
    >>> found = perplexities([-2 * np.log(10), -np.log(1000), -0.1], [2, 1, 0])
    >>> round(found.document, 6), round(found.corpus, 4), found.empty
    (100.0, 46.4159, 1)
    """
    nats, words = as_numbers(bounds, "bounds"), as_numbers(lengths, "lengths")
    if nats.ndim != 1 or nats.shape != words.shape:
        raise InvalidInputError(
            f"bounds and lengths have shapes {nats.shape} and {words.shape}; give one of each a document."
        )
    if not np.isfinite(nats).all() or (words < 0).any() or (words != np.rint(words)).any():
        raise InvalidInputError(
            "bounds must be finite, and lengths whole numbers of words from 0 up; give raw counts and no others."
        )
    some = words > 0
    if not some.any():
        raise InvalidInputError(f"None of the {len(words)} documents has words, and perplexity is per word.")
    rate = estimate(-nats[some] / words[some])
    return Perplexity(
        document=float(np.exp(rate.mean)),
        document_se=float(np.exp(rate.mean) * rate.se),
        corpus=float(np.exp(-nats[some].sum() / words.sum())),
        n_documents=int(some.sum()),
        empty=int((~some).sum()),
    )


def perplexity(bounds: Any, lengths: Any, average: str = "document") -> float:
    """Return perplexity from the bound on each document, in one definition.

    Parameters
    ----------
    bounds, lengths
        As in `perplexities`, which returns both definitions and says how many documents had no words.
    average
        ``"document"``: the mean of each document's rate, as in Krishnan et al. (2018); ``"corpus"``: totals over
        totals. They differ by tens of points: say which.

    Examples
    --------
    >>> round(perplexity([-2 * np.log(10), -np.log(1000)], [2, 1], average="document"), 6)
    100.0
    >>> round(perplexity([-2 * np.log(10), -np.log(1000)], [2, 1], average="corpus"), 4)
    46.4159
    """
    one_of("average", average, ("document", "corpus"))
    return getattr(perplexities(bounds, lengths), average)


def _joined(parts: Sequence[Params]) -> Params:
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}


@in_float32()
def _under_both_gates(estimator: Any, X: Any, n_draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the bound of each row under the gates of training and under exact ones, (n,) each."""
    whole_number("n_draws", n_draws)
    estimator._check_bound()
    module, generator = estimator._fitted_module(), stream(estimator.seed_, "gates of training")
    device = next(module.parameters()).device
    sides = (module.knobs(torch.tensor(estimator.n_iter_, device=device)), EXACT)
    rows: list[np.ndarray] = []
    for seen, psi in encoded(estimator, X):
        total = torch.zeros(len(sides), next(iter(psi.values())).shape[0], device=device)
        for _ in range(n_draws):
            noise = noise_of_rows(module, psi, generator)
            total += torch.stack([module.bound(module.run(psi, seen, knobs, noise)) for knobs in sides])
        rows.append((total / n_draws).cpu().numpy())
    relaxed, exact = np.concatenate(rows, axis=1)
    return relaxed, exact
