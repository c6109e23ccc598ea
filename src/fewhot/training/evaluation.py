"""Looking at the model during training: held-out bound under exact gates, and how its units are used."""

from __future__ import annotations

import torch

from fewhot.core.devices import matrix_precision
from fewhot.data import Dataset
from fewhot.inference import exact_bound
from fewhot.metrics.activity import activity_of_shares
from fewhot.models.latent_model import LatentModel

MOST_ROWS = 512
DRAWS = 4
_BATCH = 2048
_DENSE_UNIT_VARIANCE = 0.01


class Evaluator:
    """Measures the same rows with the same noise every time, so that evaluations differ by the weights alone."""

    def __init__(self, model: LatentModel, data: Dataset, seed: int) -> None:
        self.model = model
        self.data = data
        self.bank = model.bank(DRAWS, seed, "evaluation", data.device)

    @torch.no_grad()
    def __call__(self) -> dict[str, float]:
        """Return the exact bound and the activity of the units on these rows."""
        was_training = self.model.training
        self.model.eval()
        bounds, active, values = [], [], []
        with matrix_precision("float32", self.data.device):
            for batch in self.data.batches(_BATCH):
                bounds.append(exact_bound(self.model, batch, self.bank))
                summary = self.model.latent.summary(self.model.psi(self.model.observe(batch, self.bank[0])))
                active.append(summary.active)
                values.append(summary.values)
        self.model.train(was_training)
        report = {"bound": float(torch.cat(bounds).mean())}
        if self.model.latent.gated:
            hot = torch.cat(active)
            share = hot.float().mean(0).double().cpu().numpy()
            return report | activity_of_shares(share, float((~hot.any(-1)).float().mean())).to_dict()
        return report | {"used": float((torch.cat(values).var(0, correction=0) > _DENSE_UNIT_VARIANCE).sum())}
