"""Refinement at encode time: every estimator, row by row, against the encoder's own bound."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from fewhot import HSVAE, MATVAE, VAE, VSC, BetaTCVAE
from fewhot.codes.encoding import JUDGES, Encoding, refinement_noise
from fewhot.core.records import Batch, Noise, Params
from fewhot.inference import exact_bound, refine
from tests.estimators.cases import SMALL, dense, grey_rows

EVERY = (VAE, BetaTCVAE, MATVAE, VSC, HSVAE)
CLOSED_FORM = (VAE, BetaTCVAE, VSC, HSVAE)
"""Those whose divergence is not estimated from draws."""
STEPS = 60
ROWS = grey_rows()


class Refined(NamedTuple):
    estimator: Any
    batch: Batch
    before: Params
    after: Params

    def gains(self, bank: list[Noise]) -> np.ndarray:
        """Return what each row gained on each draw, (draws, n)."""
        pairs = [
            [exact_bound(self.estimator.module_, self.batch, [noise], psi) for psi in (self.before, self.after)]
            for noise in bank
        ]
        return torch.stack([after - before for before, after in pairs]).numpy().astype(np.float64)

    def bank(self, n: int, purpose: str) -> list[Noise]:
        return self.estimator.module_.bank(n, self.estimator.seed_, purpose, torch.device("cpu"))


@pytest.fixture(scope="module")
def refined() -> dict[type, Refined]:
    found = {}
    for cls in EVERY:
        estimator = cls(**SMALL).fit(ROWS)
        module = estimator.module_
        (batch,) = estimator._rows(ROWS).batches(len(ROWS))
        noise = refinement_noise(module, Encoding(refine_steps=STEPS, seed=estimator.seed_), torch.device("cpu"))
        with torch.no_grad():
            before = module.psi(batch)
        after = refine(module, batch, before, noise, STEPS)
        found[cls] = Refined(estimator.set_params(refine_steps=STEPS), batch, before, after)
    return found


@pytest.mark.parametrize("cls", EVERY)
def test_no_row_is_below_the_encoders_bound_on_the_noise_of_refinement(refined: dict[type, Refined], cls: type) -> None:
    gain = refined[cls].gains(refined[cls].bank(JUDGES, "refinement")).mean(axis=0)
    assert (gain >= -1e-4).all()  # float32 sums over draws


@pytest.mark.parametrize("cls", EVERY)
def test_no_row_is_below_the_encoders_bound_on_many_draws(refined: dict[type, Refined], cls: type) -> None:
    gains = refined[cls].gains(refined[cls].bank(600, "many"))
    standard_error = gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
    assert (gains.mean(axis=0) >= -3 * standard_error).all()
    assert gains.mean() > 0.05


@pytest.mark.parametrize("cls", EVERY)
def test_the_gap_is_reported_row_by_row(refined: dict[type, Refined], cls: type) -> None:
    estimator = refined[cls].estimator
    codes = estimator.codes(ROWS)
    amortised = estimator.set_params(refine_steps=0).score_samples(ROWS)
    estimator.set_params(refine_steps=STEPS)
    assert codes.gap.shape == (len(ROWS),)
    np.testing.assert_allclose(codes.gap, codes.bound - amortised, atol=1e-4)
    np.testing.assert_array_equal(codes.bound, estimator.score_samples(ROWS))
    np.testing.assert_array_equal(dense(codes.values), dense(estimator.transform(ROWS)))


@pytest.mark.parametrize("cls", CLOSED_FORM)
def test_every_reported_gap_is_a_gain(refined: dict[type, Refined], cls: type) -> None:
    assert (refined[cls].estimator.codes(ROWS).gap >= 0).all()


def test_a_gap_whose_divergence_is_drawn_is_a_gain_up_to_the_noise_of_its_draws(refined: dict[type, Refined]) -> None:
    found = refined[MATVAE]
    spread = found.gains(found.bank(600, "many")).std(axis=0, ddof=1)
    gap = found.estimator.codes(ROWS).gap
    assert (gap >= -3 * spread / np.sqrt(32)).all()
    assert gap.mean() > 0
