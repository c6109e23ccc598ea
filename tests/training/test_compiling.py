"""Compiling functions: a fit is compiled like the first one, whatever was compiled before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from fewhot.core.seeding import stream
from fewhot.models import LatentModel, gumbel_vae, hsvae, mat_vae, sdlgm, vae, vsc
from fewhot.training import Settings
from fewhot.training.compiling import compiled
from fewhot.training.step import TrainStep
from tests.training.toys import dataset, weights

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")  # the compiler's own
N_FITS = 10
"""More than torch compiles one function for."""


def test_the_tenth_step_of_a_process_is_compiled_like_the_first() -> None:
    data = dataset()
    for n_latent in range(2, 2 + N_FITS):
        of = vae(data.spec, n_latent=n_latent, hidden_layer_sizes=(4,))
        of.fit_features(data.moments())
        step = TrainStep(of, Settings(max_steps=10), stream(0, "noise"))
        step.compile(fullgraph=True, backend="eager")
        step(data.batch(torch.arange(10), 0))
        assert int(step.step) == 1


MODELS: dict[str, tuple[Callable[..., LatentModel], dict[str, Any]]] = {
    "vsc": (vsc, {"l0": 2.0}),
    "hsvae": (hsvae, {}),
    "mat-vae": (mat_vae, {}),
    "gumbel": (gumbel_vae, {"n_classes": 3, "estimator": "second-order"}),
    "shared slots": (sdlgm, {"n_slots": 3, "l0": 2.0}),
    "independent slots": (sdlgm, {"n_slots": 3, "l0": 2.0, "shared": False, "n_draws": 2}),
    "shared slots that hang together": (sdlgm, {"n_slots": 3, "l0": 2.0, "joint": True, "n_draws": 2}),
    "independent slots that hang together": (sdlgm, {"n_slots": 3, "l0": 2.0, "shared": False, "joint": True}),
}


@pytest.mark.parametrize("name", MODELS)
def test_compiled_steps_move_every_weight_as_eager_ones_do(name: str) -> None:
    data, (build, options) = dataset(), MODELS[name]
    moved = []
    for is_compiled in (False, True):
        torch.manual_seed(0)
        of = build(data.spec, n_latent=6, hidden_layer_sizes=(4,), **options)
        of.fit_features(data.moments())
        step = TrainStep(of, Settings(max_steps=10), stream(0, "noise"))
        if is_compiled:
            step.compile(fullgraph=True, backend="aot_eager")
        before = weights(of)
        for start in (0, 10, 20):
            step(data.batch(torch.arange(start, start + 10), 0))
        moved.append({key: value - before[key] for key, value in weights(of).items()})
    torch.testing.assert_close(moved[1], moved[0], rtol=1e-3, atol=1e-6)
    assert all(change.abs().max() > 0 for key, change in moved[0].items() if key in dict(of.named_parameters()))


def test_a_function_is_compiled_for_every_shape_it_meets() -> None:
    seen: list[int] = []

    def backend(graph: Any, inputs: list[Tensor]) -> Callable[..., Any]:
        seen.append(len(inputs[0]))
        return graph.forward

    double = compiled(lambda x: 2 * x, fullgraph=True, backend=backend)
    for n in range(2, 2 + N_FITS):
        assert torch.equal(double(torch.ones(n)), torch.full((n,), 2.0))
    assert seen == list(range(2, 2 + N_FITS))


def test_what_is_compiled_goes_with_its_function() -> None:
    calls: list[int] = []

    def backend(graph: Any, _: list[Tensor]) -> Callable[..., Any]:
        calls.append(1)
        return graph.forward

    def double(x: Tensor, *, factor: float = 2.0) -> Tensor:
        return factor * x

    for _ in range(2):
        assert compiled(double, backend=backend)(torch.ones(3), factor=3.0).tolist() == [3.0] * 3
    assert len(calls) == 2


def test_kernels_are_not_chosen_by_timing_them(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import config

    assert "deterministic" in config.get_config_copy()
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(torch, "compile", lambda function, **given: asked.append(given) or function)
    compiled(lambda x: x)
    assert asked[0]["options"] == {"deterministic": True}
