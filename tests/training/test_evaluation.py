"""What is looked at during training: the bound, and the objective where training is after something else."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from fewhot.core.evaluations import watched
from fewhot.core.records import Knobs
from fewhot.models import beta_tcvae, hsvae, mat_vae, vae, vsc
from fewhot.models.latent_model import LatentModel
from fewhot.objectives.dial import Dial
from fewhot.training.evaluation import Evaluator
from fewhot.training.gate_shift import shift_gates, shift_to, shifted
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


def weights(of: LatentModel) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in of.state_dict().items()}


@pytest.mark.parametrize(("make", "options"), [(vsc, {"l0": 2.0}), (hsvae, {"l0": 2.0})])
def test_weights_are_compared_by_what_the_fit_would_end_with(make: Any, options: dict[str, Any]) -> None:
    """The bound at the target is that of the shifted gates, and looking leaves the weights as they were."""
    of = build(make, **options)
    before = weights(of)
    found = look(of)
    assert all(torch.equal(value, before[name]) for name, value in weights(of).items())
    assert watched(found) == found.get("objective", found["bound_at_target"])
    shift_gates(of, [dataset()], 2.0, seed=0)
    assert look(of)["bound"] == pytest.approx(found["bound_at_target"], abs=1e-4)


def test_gates_are_put_back_when_what_they_were_shifted_for_fails() -> None:
    of = build(vsc, l0=2.0)
    before = weights(of)

    def fail() -> None:
        with shifted(of, 0.3):
            assert not torch.equal(of.latent.heads.bias, before["latent.heads.bias"])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert all(torch.equal(value, before[name]) for name, value in weights(of).items())


def test_the_shift_leaves_as_many_gates_on_as_asked() -> None:
    margins = torch.tensor([[0.5, 0.2, -0.1], [0.3, -0.4, -0.6]])
    for l0, n_on in ((0.5, 1), (1.5, 3), (2.5, 5)):
        assert (margins + shift_to(margins, l0) > 0).sum() == n_on
    assert shift_to(margins - 5, 1.5) == 1.0


@pytest.mark.parametrize(
    ("least", "most", "admitted"),
    [(3.0, 5.0, True), (4.3, 5.0, True), (4.5, 5.0, False), (3.0, 3.7, True), (3.0, 3.5, False)],
)
def test_weights_that_end_within_a_tenth_of_the_target_are_admitted(least: float, most: float, admitted: bool) -> None:
    dial = Dial(8, l0=4.0, cap=1.0, freeze_at=10)
    assert dial.admits({"active": 4.3, "least_active": least, "most_active": most}) is admitted


def test_rows_have_draws_of_their_own_unless_these_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    of = build(vsc, l0=2.0)
    evaluator = Evaluator(of, dataset(n_rows=20), seed=0)
    assert len(evaluator.bank) == 32
    assert {len(value) for noise in evaluator.bank for value in noise.values()} == {20}
    own = evaluator()["bound"]
    monkeypatch.setattr("fewhot.training.evaluation._MOST_NOISE", 0)
    shared = Evaluator(of, dataset(n_rows=20), seed=0)
    assert {len(value) for noise in shared.bank for value in noise.values()} == {1}
    assert own == pytest.approx(shared()["bound"], rel=0.1)
    assert own != shared()["bound"]


def test_rows_in_several_batches_keep_their_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    of = build(vsc, l0=2.0)
    whole = look(of)
    monkeypatch.setattr("fewhot.training.evaluation._BATCH", 7)
    assert look(of)["bound"] == pytest.approx(whole["bound"], rel=1e-6)
