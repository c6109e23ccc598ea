"""From a model and rows to codes and bounds, batch by batch, in float32."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from fewhot.codes.codes import Codes, Matrix
from fewhot.core.devices import matrix_precision
from fewhot.core.records import Batch, Params
from fewhot.data import Dataset
from fewhot.inference import (
    RefinementNoise,
    ascent_draws,
    exact_bound,
    exact_terms,
    importance_bound,
    refine,
    rows_at_once,
)
from fewhot.latents import CodeSummary
from fewhot.models.latent_model import LatentModel

P_ACTIVE_FROM = 0.01
SCORE_DRAWS = 32
"""Noise draws behind every reported bound; all rows share them."""
JUDGES = 64
"""Noise draws that say whether refinement has made a row better."""
BATCH = 512


class Encoding(NamedTuple):
    """How to encode: the ceiling on active units a row, and how many refinement steps."""

    max_active: int | None = None
    refine_steps: int = 0
    seed: int = 0


def encode_values(model: LatentModel, data: Dataset, how: Encoding, *, sparse: bool) -> Matrix:
    """Return the map code of every row."""
    noise = refinement_noise(model, how, data.device)
    gather = _Gatherer(model, sparse)
    with matrix_precision("float32", data.device):
        for batch in data.batches(rows_at_once(data.spec.n_columns, BATCH) if how.refine_steps else BATCH):
            _, psi = _local(model, batch, how, noise)
            gather.add(model.latent.summary(psi), how.max_active)
    return gather.values()


def encode(model: LatentModel, data: Dataset, how: Encoding, *, sparse: bool) -> Codes:
    """Return codes with variance, activity, bound and, when refined, the gap that refinement closed."""
    noise = refinement_noise(model, how, data.device)
    fresh = model.bank(SCORE_DRAWS, how.seed, "score", data.device)
    gather = _Gatherer(model, sparse)
    bounds, before = [], []
    with matrix_precision("float32", data.device):
        for batch in data.batches(rows_at_once(data.spec.n_columns, BATCH)):
            seen, psi = _local(model, batch, how, noise)
            gather.add(model.latent.summary(psi), how.max_active)
            amortised = exact_bound(model, seen if how.refine_steps else batch, fresh)
            bounds.append(exact_bound(model, seen, fresh, psi) if how.refine_steps else amortised)
            before.append(amortised)
    bound = torch.cat(bounds).cpu().numpy()
    return Codes(
        values=gather.values(),
        variance=gather.variance(),
        p_active=gather.p_active(),
        bound=bound,
        gap=bound - torch.cat(before).cpu().numpy() if how.refine_steps else None,
    )


def score(model: LatentModel, data: Dataset, how: Encoding, *, importance_draws: int | None = None) -> np.ndarray:
    """Return the bound of every row; importance-weighted over so many draws when asked."""
    noise = refinement_noise(model, how, data.device)
    fresh = model.bank(importance_draws or SCORE_DRAWS, how.seed, "score", data.device)
    bound = exact_bound if importance_draws is None else importance_bound
    rows = []
    with matrix_precision("float32", data.device):
        for batch in data.batches(rows_at_once(data.spec.n_columns, BATCH)):
            if not how.refine_steps:
                rows.append(bound(model, batch, fresh))
                continue
            seen, psi = _local(model, batch, how, noise)
            rows.append(bound(model, seen, fresh, psi))
    return torch.cat(rows).cpu().numpy()


def score_terms(model: LatentModel, data: Dataset, how: Encoding) -> dict[str, np.ndarray]:
    """Return the named terms of every row, on the noise that `score` has."""
    noise = refinement_noise(model, how, data.device)
    fresh = model.bank(SCORE_DRAWS, how.seed, "score", data.device)
    parts: list[Params] = []
    with matrix_precision("float32", data.device):
        for batch in data.batches(rows_at_once(data.spec.n_columns, BATCH)):
            seen, psi = _local(model, batch, how, noise) if how.refine_steps else (batch, None)
            parts.append(exact_terms(model, seen, fresh, psi))
    return {name: torch.cat([part[name] for part in parts]).cpu().numpy() for name in parts[0]}


def refinement_noise(model: LatentModel, how: Encoding, device: torch.device) -> RefinementNoise:
    """Return the noise of refinement, the same for every batch."""
    return RefinementNoise(
        ascent=model.bank(ascent_draws(how.refine_steps), how.seed, "ascent", device),
        judges=model.bank(JUDGES, how.seed, "refinement", device),
    )


@torch.no_grad()
def _local(model: LatentModel, batch: Batch, how: Encoding, noise: RefinementNoise) -> tuple[Batch, Params]:
    """Return the observed rows and their local parameters, refined when asked."""
    seen = model.observe(batch, noise.judges[0])
    psi = model.psi(seen)
    return seen, refine(model, seen, psi, noise, how.refine_steps) if how.refine_steps else psi


class _Gatherer:
    """Collects the non-zeros of each batch on the host, so that a sparse code never exists densely as a whole."""

    def __init__(self, model: LatentModel, sparse: bool) -> None:
        self.gated = model.latent.gated
        self.sparse = sparse and self.gated
        self.n_units = model.latent.n_latent
        self._values: list[Matrix] = []
        self._variance: list[Matrix] = []
        self._p_active: list[sp.csr_array] = []

    def add(self, summary: CodeSummary, max_active: int | None) -> None:
        active = _under_ceiling(summary, max_active)
        self._values.append(self._matrix(summary.values, active))
        self._variance.append(self._matrix(summary.variance, active))
        if summary.logits is not None:
            p = summary.logits.sigmoid()
            self._p_active.append(_csr(p, p >= P_ACTIVE_FROM))

    def values(self) -> Matrix:
        return self._stack(self._values)

    def variance(self) -> Matrix:
        return self._stack(self._variance)

    def p_active(self) -> sp.csr_array | None:
        return sp.csr_array(sp.vstack(self._p_active, format="csr")) if self.gated else None

    def _matrix(self, values: Tensor, active: Tensor) -> Matrix:
        return _csr(values, active) if self.sparse else torch.where(active, values, 0.0).cpu().numpy()

    def _stack(self, parts: list[Any]) -> Matrix:
        return sp.csr_array(sp.vstack(parts, format="csr")) if self.sparse else np.concatenate(parts)


def _under_ceiling(summary: CodeSummary, max_active: int | None) -> Tensor:
    """Return the active units of each row, at most ``max_active`` of them: those most likely to be on."""
    active = summary.active
    if max_active is None or summary.logits is None or max_active >= summary.logits.shape[-1]:
        return active
    top = summary.logits.topk(max_active, dim=-1).indices
    return active & torch.zeros_like(active).scatter_(-1, top, True)


def _csr(values: Tensor, keep: Tensor) -> sp.csr_array:
    columns = keep.nonzero()[:, 1].cpu().numpy().astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(keep.sum(-1).cpu().numpy())]).astype(np.int32)
    return sp.csr_array((values[keep].cpu().numpy(), columns, offsets), shape=tuple(values.shape))
