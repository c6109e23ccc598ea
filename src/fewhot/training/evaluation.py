"""Looking at the model during training: held-out bound under exact gates, and how its units are used."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from fewhot.core.devices import matrix_precision
from fewhot.core.evaluations import elbo_of
from fewhot.core.records import Noise
from fewhot.core.seeding import stream
from fewhot.data import Dataset
from fewhot.inference import RefinementNoise, ascent_draws, exact_bound, refine, rows_at_once
from fewhot.metrics.activity import activity_of_shares
from fewhot.models.latent_model import LatentModel
from fewhot.training.gate_shift import LARGEST_SHIFT, shift_to, shifted

MOST_ROWS = 512
DRAWS, MOST_DRAWS = 4, 32
_MOST_NOISE = 1 << 24
"""How many random numbers are kept so that each row has its own; of more, all rows share the same few draws."""
JUDGES = 16
_BATCH = 2048
_OBJECTIVE_ROWS = 256
_DENSE_UNIT_VARIANCE = 0.01


def _reachable(margins: Tensor) -> dict[str, float]:
    """Return the least and the most active units per row that a shift of all gates by `LARGEST_SHIFT` leaves on."""
    least, most = ((margins > threshold).float().sum(-1).mean() for threshold in (LARGEST_SHIFT, -LARGEST_SHIFT))
    return {"least_active": float(least), "most_active": float(most)}


def _bank_of_rows(model: LatentModel, data: Dataset, seed: int) -> list[Noise]:
    """Return draws that differ from row to row, so that their chances cancel: more of them where there are few rows.

    Shared ones do not cancel. A gate that is off in one of a hundred draws cost a model of 35 diabetes patients 60 nats
    in all rows at once, and the best of many evaluations was the one that this draw did not hit.
    """
    n_draws = min(max(DRAWS, DRAWS * MOST_ROWS // data.n_rows), MOST_DRAWS)
    shared = model.bank(n_draws, seed, "evaluation", data.device)
    numbers = sum(value.numel() for noise in shared for value in noise.values())
    if numbers * data.n_rows > _MOST_NOISE:
        return shared
    draws = model.bank(n_draws * data.n_rows, seed, "evaluation", data.device)
    by_draw = [draws[start : start + data.n_rows] for start in range(0, len(draws), data.n_rows)]
    return [{name: torch.cat([noise[name] for noise in of_rows]) for name in of_rows[0]} for of_rows in by_draw]


def _of_rows(noise: Noise, start: int, stop: int) -> Noise:
    return {name: value if len(value) == 1 else value[start:stop] for name, value in noise.items()}


class _Measured(NamedTuple):
    """What is measured of all rows, one after another."""

    bounds: Tensor  # (n,)
    refined: Tensor | None  # (n,)
    active: Tensor  # (n, K)
    values: Tensor  # (n, K)
    margins: Tensor | None  # (n, K)


class Evaluator:
    """Measures the same rows with the same noise every time, so that evaluations differ by the weights alone."""

    def __init__(self, model: LatentModel, data: Dataset, seed: int) -> None:
        self.model = model
        self.data = data
        self.bank = _bank_of_rows(model, data, seed)
        self.refinement = RefinementNoise(
            ascent=model.bank(ascent_draws(model.inference.steps_in_training), seed, "refined evaluation", data.device),
            judges=model.bank(JUDGES, seed, "judged evaluation", data.device),
        )
        self.noise = self._noise(seed) if model.objective.weighted else None

    def _noise(self, seed: int) -> Noise:
        """Return noise that differs from row to row: a bank's, which all rows share, is no sample of the codes."""
        noise = self.model.noise(min(self.data.n_rows, _OBJECTIVE_ROWS), stream(seed, "objective"))
        return {name: value.to(self.data.device) for name, value in noise.items()}

    @torch.no_grad()
    def __call__(self) -> dict[str, float]:
        """Return the exact bound and the activity of the units on these rows.

        Where training optimises local parameters, the bound after as many steps stands beside it as ``refined_bound``.
        Where a sparsity target is held, ``bound_at_target`` is the bound, refined where training refines, with the
        gates shifted to the target as they are at the end of a fit: what a fit would end with.
        Where training is after something else than the bound, its ``objective`` stands beside it: the last of these
        bounds, plus what weights, penalties and discrepancies add to it on up to 256 of the rows.
        """
        was_training = self.model.training
        self.model.eval()
        with matrix_precision("float32", self.data.device):
            found = self._measure()
            report = {"bound": float(found.bounds.mean())}
            if found.refined is not None:
                report["refined_bound"] = float(found.refined.mean())
            l0 = self.model.objective.l0
            if l0 is not None and found.margins is not None:
                with shifted(self.model, shift_to(found.margins, l0)):
                    at_target = self._measure()
                final = at_target.bounds if at_target.refined is None else at_target.refined
                report["bound_at_target"] = float(final.mean())
            if self.noise is not None:
                report["objective"] = elbo_of(report) + self._beyond_bound(self.noise)
        self.model.train(was_training)
        if not self.model.latent.gated:
            return report | {"used": float((found.values.var(0, correction=0) > _DENSE_UNIT_VARIANCE).sum())}
        assert found.margins is not None
        share = found.active.float().mean(0).double().cpu().numpy()
        report |= activity_of_shares(share, float((~found.active.any(-1)).float().mean())).to_dict()
        return report | _reachable(found.margins)

    def _measure(self) -> _Measured:
        """Return bounds, refined ones where training refines, and codes of all rows."""
        bounds, refined, active, values, margins = [], [], [], [], []
        n_steps = self.model.inference.steps_in_training
        at = 0
        for batch in self.data.batches(rows_at_once(self.data.spec.n_columns, _BATCH)):
            bank = [_of_rows(noise, at, at + batch.x.n_rows) for noise in self.bank]
            at += batch.x.n_rows
            bounds.append(exact_bound(self.model, batch, bank))
            seen = self.model.observe(batch, bank[0])
            psi = self.model.psi(seen)
            if n_steps:
                psi = refine(self.model, seen, psi, self.refinement, n_steps)
                refined.append(exact_bound(self.model, seen, bank, psi))
            summary = self.model.latent.summary(psi)
            active.append(summary.active)
            values.append(summary.values)
            margins.append(summary.logits if summary.margins is None else summary.margins)
        has_margins = all(margin is not None for margin in margins)
        return _Measured(
            torch.cat(bounds),
            torch.cat(refined) if refined else None,
            torch.cat(active),
            torch.cat(values),
            torch.cat([margin for margin in margins if margin is not None]) if has_margins else None,
        )

    def _beyond_bound(self, noise: Noise) -> float:
        """Return what the objective adds to the bound, with its weights as they are once schedules have settled."""
        model = self.model
        knobs = model.knobs(torch.tensor(model.settled_at, device=self.data.device))._replace(gates="exact")
        seen = model.observe(next(self.data.batches(_OBJECTIVE_ROWS)), noise)
        psi = model.psi(seen)
        if model.inference.steps_in_training:
            psi = refine(model, seen, psi, self.refinement, model.inference.steps_in_training)
        result = model.run(psi, seen, knobs, noise)
        return float(model.objective.beyond_bound(result, model.divergence(result), knobs))
