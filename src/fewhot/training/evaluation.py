"""Looking at the model during training: held-out bound under exact gates, and how its units are used."""

from __future__ import annotations

import torch
from torch import Tensor

from fewhot.core.devices import matrix_precision
from fewhot.core.records import Noise
from fewhot.core.seeding import stream
from fewhot.data import Dataset
from fewhot.inference import RefinementNoise, ascent_draws, exact_bound, refine, rows_at_once
from fewhot.metrics.activity import activity_of_shares
from fewhot.models.latent_model import LatentModel
from fewhot.training.gate_shift import LARGEST_SHIFT

MOST_ROWS = 512
DRAWS = 4
JUDGES = 16
_BATCH = 2048
_OBJECTIVE_ROWS = 256
_DENSE_UNIT_VARIANCE = 0.01


def _reachable(margins: Tensor) -> dict[str, float]:
    """Return the least and the most active units per row that a shift of all gates by `LARGEST_SHIFT` leaves on."""
    least, most = ((margins > threshold).float().sum(-1).mean() for threshold in (LARGEST_SHIFT, -LARGEST_SHIFT))
    return {"least_active": float(least), "most_active": float(most)}


class Evaluator:
    """Measures the same rows with the same noise every time, so that evaluations differ by the weights alone."""

    def __init__(self, model: LatentModel, data: Dataset, seed: int) -> None:
        self.model = model
        self.data = data
        self.bank = model.bank(DRAWS, seed, "evaluation", data.device)
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
        Where training is after something else than the bound, its ``objective`` stands beside it: the bound, refined
        where training refines, plus what weights, penalties and discrepancies add to it on up to 256 of the rows.
        """
        was_training = self.model.training
        self.model.eval()
        bounds, refined, active, values, margins = [], [], [], [], []
        n_steps = self.model.inference.steps_in_training
        with matrix_precision("float32", self.data.device):
            for batch in self.data.batches(rows_at_once(self.data.spec.n_columns, _BATCH)):
                bounds.append(exact_bound(self.model, batch, self.bank))
                seen = self.model.observe(batch, self.bank[0])
                psi = self.model.psi(seen)
                if n_steps:
                    psi = refine(self.model, seen, psi, self.refinement, n_steps)
                    refined.append(exact_bound(self.model, seen, self.bank, psi))
                summary = self.model.latent.summary(psi)
                active.append(summary.active)
                values.append(summary.values)
                margins.append(summary.logits if summary.margins is None else summary.margins)
            beyond = None if self.noise is None else self._beyond_bound(self.noise)
        self.model.train(was_training)
        report = {"bound": float(torch.cat(bounds).mean())}
        if n_steps:
            report["refined_bound"] = float(torch.cat(refined).mean())
        if beyond is not None:
            report["objective"] = report.get("refined_bound", report["bound"]) + beyond
        if self.model.latent.gated:
            hot = torch.cat(active)
            share = hot.float().mean(0).double().cpu().numpy()
            report |= activity_of_shares(share, float((~hot.any(-1)).float().mean())).to_dict()
            return report | _reachable(torch.cat([margin for margin in margins if margin is not None]))
        return report | {"used": float((torch.cat(values).var(0, correction=0) > _DENSE_UNIT_VARIANCE).sum())}

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
