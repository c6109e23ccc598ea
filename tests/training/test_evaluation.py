"""What is looked at during training: the bound, and the objective where training is after something else."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from fewhot.core.records import Knobs
from fewhot.models import beta_tcvae, hsvae, mat_vae, vae, vsc
from fewhot.models.latent_model import LatentModel
from fewhot.training.evaluation import Evaluator
from tests.training.toys import dataset

SIZES: dict[str, Any] = {"n_latent": 4, "hidden_layer_sizes": (8,)}


def build(make: Any, **options: Any) -> LatentModel:
    torch.manual_seed(0)
    data = dataset()
    built = make(data.spec, **SIZES, **options)
    built.fit_features(data.moments())
    return built


def look(of: LatentModel, data: Any = None) -> dict[str, float]:
    return Evaluator(of, data or dataset(), seed=0)()


@pytest.mark.parametrize(
    ("make", "options"),
    [(vae, {}), (vsc, {"l0": 2.0}), (vsc, {"alpha": 0.2}), (mat_vae, {"mmd_weight": 0.0})],
)
def test_models_that_are_after_the_bound_have_no_other_objective(make: Any, options: dict[str, Any]) -> None:
    assert "objective" not in look(build(make, **options))


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (vae, {"beta": 4.0}),
        (vae, {"penalty": "l1"}),
        (beta_tcvae, {}),
        (mat_vae, {}),
        (hsvae, {"gate_kl_weight": 0.3, "l0": 2.0}),
    ],
)
def test_models_that_are_not_are_looked_at_by_what_they_are_after(make: Any, options: dict[str, Any]) -> None:
    of = build(make, **options)
    found = look(of)
    assert found["objective"] != found["bound"]
    assert found == look(of)


def test_a_weight_on_the_divergence_is_in_the_objective() -> None:
    found = look(of := build(vae, beta=4.0))
    batch = next(dataset().batches(100))
    with torch.no_grad():
        (noise,) = of.bank(1, 0, "any", torch.device("cpu"))
        kl = of.divergence(of.run(of.psi(batch), batch, Knobs(), noise))["kl"].mean()  # closed form: any noise will do
    assert found["objective"] - found["bound"] == pytest.approx(-3 * kl.item(), rel=1e-4)


def test_the_objective_has_the_weights_of_the_end() -> None:
    """A warm-up does not make early evaluations look better than late ones."""
    of = build(mat_vae, kl_weight=0.5, mmd_weight=0.0, n_steps=1000)
    before = look(of)["objective"]
    of.schedules = {}
    assert look(of)["objective"] == pytest.approx(before)


def test_the_discrepancy_is_taken_over_different_draws() -> None:
    """Rows of one code are a sample of its posterior; with noise that all share they would be one point."""
    of = build(mat_vae, spike_weight=0.0, mmd_weight=1.0)
    with torch.no_grad():
        of.latent.heads.weight.zero_()
        of.latent.heads.bias.zero_()  # q(z | x) is the prior
    found = look(of, dataset(n_rows=256))
    assert abs(found["objective"] - found["bound"]) < 0.1
