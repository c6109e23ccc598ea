import pytest
import torch
from torch import nn

from fewhot.inference.phases import OptimiserSpec
from fewhot.training import adam
from fewhot.training.adam import FusedAdam, GroupedAdam

SPEC = OptimiserSpec(weight_decay=0.01)
AMSGRAD = OptimiserSpec(weight_decay=0.01, betas=(0.9, 0.5), amsgrad=True)  # a short memory, so that it matters
ADAMW = OptimiserSpec(weight_decay=0.5, decoupled_weight_decay=True)
every_update = pytest.mark.parametrize("update", [adam._fused, adam._pointwise], ids=["fused", "pointwise"])
every_spec = pytest.mark.parametrize("spec", [SPEC, AMSGRAD, ADAMW], ids=["adam", "amsgrad", "adamw"])


def moved(
    update: object, n_steps: int = 5, halted_from: int | None = None, spec: OptimiserSpec = SPEC
) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    weights = [nn.Parameter(torch.randn(7, 3, generator=generator)), nn.Parameter(torch.randn(4, generator=generator))]
    rate, scale, halted = torch.tensor(0.1), torch.tensor(2.0), torch.tensor(0.0)
    optimiser = FusedAdam(weights, spec, rate=rate, scale=scale, halted=halted)
    optimiser.update = update
    for step in range(n_steps):
        for weight in weights:
            weight.grad = torch.randn(weight.shape, generator=generator)
        if step == halted_from:
            halted.fill_(1.0)
            weights[0].grad[0, 0] = torch.nan
        optimiser.step()
    return [weight.detach() for weight in weights] + list(optimiser.state().values())


@every_update
@every_spec
def test_the_update_is_torchs_adam(update: object, spec: OptimiserSpec) -> None:
    generator = torch.Generator().manual_seed(0)
    weights = [nn.Parameter(torch.randn(7, 3, generator=generator)), nn.Parameter(torch.randn(4, generator=generator))]
    kind = torch.optim.AdamW if spec.decoupled_weight_decay else torch.optim.Adam
    reference = kind(weights, lr=0.1, weight_decay=spec.weight_decay, betas=spec.betas, amsgrad=spec.amsgrad)
    for _ in range(5):
        for weight in weights:
            weight.grad = torch.randn(weight.shape, generator=generator) / 2
        reference.step()
    for ours, theirs in zip(moved(update, spec=spec), weights, strict=False):
        torch.testing.assert_close(ours, theirs.detach(), rtol=1e-5, atol=1e-6)


@every_update
@every_spec
def test_nothing_moves_once_halted(update: object, spec: OptimiserSpec) -> None:
    before = moved(update, n_steps=3, spec=spec)
    after = moved(update, n_steps=5, halted_from=3, spec=spec)
    for a, b in zip(before, after, strict=True):
        assert torch.equal(a, b)


def test_parameters_with_a_rate_of_their_own_move_as_by_an_optimiser_of_their_own() -> None:
    def trained(steps: int, from_state: dict[str, torch.Tensor] | None = None) -> tuple[list[torch.Tensor], dict]:
        generator = torch.Generator().manual_seed(0)
        fast, slow = (nn.Parameter(torch.zeros(5)) for _ in range(2))
        rate, scale, halted = torch.tensor(0.1), torch.tensor(1.0), torch.tensor(0.0)
        made = adam.adam([fast, slow], {id(slow): 0.01}, SPEC, rate=rate, scale=scale, halted=halted)
        if from_state is not None:
            made.load(from_state)
        reference = [nn.Parameter(torch.zeros(5)) for _ in range(2)]
        theirs = [
            torch.optim.Adam([weight], lr=lr, weight_decay=SPEC.weight_decay)
            for weight, lr in zip(reference, (0.1, 0.001), strict=True)
        ]
        for _ in range(steps):
            for ours, other in zip((fast, slow), reference, strict=True):
                ours.grad = torch.randn(5, generator=generator)
                other.grad = ours.grad.clone()
            made.step()
            for optimiser in theirs:
                optimiser.step()
        if from_state is None:
            for ours, other in zip((fast, slow), reference, strict=True):
                torch.testing.assert_close(ours, other)
        return [fast.detach(), slow.detach()], {name: value.clone() for name, value in made.state().items()}

    _, state = trained(4)
    assert float(state["group0/count"]) == float(state["group1/count"]) == 4
    _, further = trained(3, state)
    assert float(further["group1/count"]) == 7


def of_shapes(*shapes: tuple[int, ...], grouped: bool) -> FusedAdam | GroupedAdam:
    scalars = {name: torch.zeros(()) for name in ("rate", "scale", "halted")}
    weights = [nn.Parameter(torch.zeros(shape)) for shape in shapes]
    rates = {id(weights[0]): 0.5} if grouped else {}
    return adam.adam(weights, rates, SPEC, **scalars)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("shapes", [((1, 3), (1,)), ((4, 3), (4,), (2,)), ((4, 3),)], ids=str)
def test_moments_of_other_parameters_are_refused_and_change_nothing(
    shapes: tuple[tuple[int, ...], ...], grouped: bool
) -> None:
    """Those of shape (1, 3) would broadcast to (4, 3), as those of heads that were two layers once."""
    ours, theirs = of_shapes((4, 3), (4,), grouped=grouped), of_shapes(*shapes, grouped=grouped)
    for value in theirs.state().values():
        value.fill_(1.0)
    with pytest.raises(RuntimeError, match="of other parameters"):
        ours.load(theirs.state())
    assert not any(value.any() for value in ours.state().values())


@pytest.mark.parametrize("grouped", [False, True])
def test_moments_of_the_same_parameters_are_taken_back(grouped: bool) -> None:
    ours, theirs = (of_shapes((4, 3), (4,), grouped=grouped) for _ in range(2))
    for value in theirs.state().values():
        value.fill_(1.0)
    ours.load(theirs.state())
    assert all((value == 1).all() for value in ours.state().values())
