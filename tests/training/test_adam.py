import pytest
import torch
from torch import nn

from fewhot.inference.phases import OptimiserSpec
from fewhot.training import adam
from fewhot.training.adam import FusedAdam

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
