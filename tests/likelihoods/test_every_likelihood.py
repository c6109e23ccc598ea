"""The contract, on every registered likelihood: a new family is tested here without being asked."""

from __future__ import annotations

import json

import pytest
import torch

from fewhot.core.errors import InvalidInputError
from fewhot.core.parts import Part
from fewhot.core.records import Dense, Ragged
from fewhot.core.registry import LIKELIHOODS
from fewhot.likelihoods import Likelihood

from .cases import EVERY, N_COLUMNS, N_ROWS, fitted, identify, moments_of, outputs_for, ragged_of, rows_for, spec_of

every = pytest.mark.parametrize(("name", "options"), EVERY, ids=identify)


def assert_same_numbers(a: torch.Tensor, b: torch.Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=2e-5, atol=2e-4)


@every
@pytest.mark.parametrize("lead", [(), (3,), (2, 3)], ids=str)
def test_log_prob_has_one_number_a_row(name: str, options: dict, lead: tuple[int, ...]) -> None:
    likelihood = fitted(name, **options)
    assert likelihood(outputs_for(likelihood, *lead, N_ROWS)).log_prob(Dense(rows_for(name))).shape == (*lead, N_ROWS)


@every
@pytest.mark.parametrize("n_padding", [0, 1, 6])
def test_ragged_rows_have_the_density_of_dense_ones(name: str, options: dict, n_padding: int) -> None:
    x, likelihood = rows_for(name), fitted(name, **options)
    px = likelihood(outputs_for(likelihood, N_ROWS))
    assert_same_numbers(px.log_prob(ragged_of(x, n_padding)), px.log_prob(Dense(x)))


@every
@pytest.mark.parametrize("n_columns", [1, 2, 33])
def test_ragged_rows_have_the_density_of_dense_ones_at_any_width(name: str, options: dict, n_columns: int) -> None:
    x, likelihood = rows_for(name, n_columns=n_columns), fitted(name, n_columns, **options)
    px = likelihood(outputs_for(likelihood, N_ROWS))
    assert_same_numbers(px.log_prob(ragged_of(x, 2)), px.log_prob(Dense(x)))


@every
@pytest.mark.parametrize("ragged", [False, True], ids=["dense", "ragged"])
def test_sample_dimensions_broadcast_over_the_rows(name: str, options: dict, ragged: bool) -> None:
    likelihood, x = fitted(name, **options), rows_for(name)
    rows, out = ragged_of(x, 1) if ragged else Dense(x), outputs_for(likelihood, 2, 3, N_ROWS)
    one_at_a_time = torch.stack([torch.stack([likelihood(o).log_prob(rows) for o in slab]) for slab in out])
    assert_same_numbers(likelihood(out).log_prob(rows), one_at_a_time)


@every
@pytest.mark.parametrize("ragged", [False, True], ids=["dense", "ragged"])
def test_one_code_can_be_held_against_many_rows(name: str, options: dict, ragged: bool) -> None:
    likelihood, x = fitted(name, **options), rows_for(name)
    rows, out = ragged_of(x) if ragged else Dense(x), outputs_for(likelihood, 1)
    repeated = out.expand(N_ROWS, -1)
    assert_same_numbers(likelihood(out).log_prob(rows), likelihood(repeated).log_prob(rows))


@every
def test_padding_contributes_exactly_nothing(name: str, options: dict) -> None:
    likelihood = fitted(name, **options)
    px = likelihood(outputs_for(likelihood, 2, N_ROWS))
    indices, values = torch.zeros(N_ROWS, 17, dtype=torch.int64), torch.zeros(N_ROWS, 17)
    narrow, wide = Ragged(indices[:, :1], values[:, :1], N_COLUMNS), Ragged(indices, values, N_COLUMNS)
    assert torch.equal(px.log_prob(narrow), px.log_prob(wide))


@every
def test_padding_sends_no_gradient(name: str, options: dict) -> None:
    likelihood, x = fitted(name, **options), rows_for(name)
    gradients = []
    for n_padding in (0, 9):
        out = outputs_for(likelihood, N_ROWS).requires_grad_()
        gradients += torch.autograd.grad(likelihood(out).log_prob(ragged_of(x, n_padding)).sum(), out)
    torch.testing.assert_close(*gradients)


@every
def test_ragged_gradients_are_the_dense_ones(name: str, options: dict) -> None:
    likelihood, x = fitted(name, **options), rows_for(name)
    gradients = []
    for rows in (Dense(x), ragged_of(x, 2)):
        out = outputs_for(likelihood, N_ROWS).requires_grad_()
        gradients += torch.autograd.grad(likelihood(out).log_prob(rows).sum(), out)
    assert_same_numbers(*gradients)


@every
def test_mean_is_the_average_draw(name: str, options: dict) -> None:
    n_draws, likelihood = 20_000, fitted(name, **options)
    px = likelihood(outputs_for(likelihood, 2).expand(n_draws, 2, -1))
    draws = px.sample(torch.Generator().manual_seed(0))
    expected = px.mean[0]
    if name == "multinomial":  # draws hold a whole number of counts, the mean the exact average total
        expected = expected / expected.sum(-1, keepdim=True) * likelihood.total.round()
    standard_error = draws.std(0) / n_draws**0.5
    assert ((draws.mean(0) - expected).abs() < 4.5 * standard_error).all()


@every
def test_draws_have_the_shape_of_the_rows(name: str, options: dict) -> None:
    likelihood = fitted(name, **options)
    px = likelihood(outputs_for(likelihood, 3, N_ROWS))
    assert px.sample().shape == px.mean.shape == (3, N_ROWS, N_COLUMNS)


@every
def test_draws_repeat_with_the_generator_and_leave_the_global_one_alone(name: str, options: dict) -> None:
    likelihood = fitted(name, **options)
    px = likelihood(outputs_for(likelihood, 50))
    first, before = px.sample(torch.Generator().manual_seed(1)), torch.random.get_rng_state()
    again, other = px.sample(torch.Generator().manual_seed(1)), px.sample(torch.Generator().manual_seed(2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(before, torch.random.get_rng_state())


@every
def test_draws_lie_in_the_support(name: str, options: dict) -> None:
    likelihood = fitted(name, **(options | ({"sigmoid_mean": False} if "sigmoid_mean" in options else {})))
    likelihood.check(spec_of(likelihood(outputs_for(likelihood, 200)).sample(torch.Generator().manual_seed(0))))


@every
def test_config_rebuilds_the_likelihood(name: str, options: dict) -> None:
    likelihood = fitted(name, **options)
    rebuilt = Part.from_config(json.loads(json.dumps(likelihood.to_config())))
    assert type(rebuilt) is type(likelihood)
    assert rebuilt.to_config() == likelihood.to_config()


@every
def test_state_dict_restores_what_was_fitted(name: str, options: dict) -> None:
    likelihood = fitted(name, **options)
    rebuilt = Likelihood.from_config(likelihood.to_config())
    rebuilt.load_state_dict(likelihood.state_dict())
    out, x = outputs_for(likelihood, N_ROWS), Dense(rows_for(name))
    assert torch.equal(rebuilt(out).log_prob(x), likelihood(out).log_prob(x))
    assert torch.equal(rebuilt(out).mean, likelihood(out).mean)


@every
@pytest.mark.parametrize("ragged", [False, True], ids=["dense", "ragged"])
@pytest.mark.parametrize("size", [-1000.0, -50.0, 50.0, 1000.0])
def test_extreme_outputs_give_finite_values_and_gradients(name: str, options: dict, size: float, ragged: bool) -> None:
    likelihood, x = fitted(name, **options), rows_for(name)
    out = (size * torch.ones(N_ROWS, likelihood.n_outputs)).requires_grad_()
    with torch.no_grad():
        for parameter in likelihood.parameters():
            parameter.fill_(size)
    log_prob = likelihood(out).log_prob(ragged_of(x, 1) if ragged else Dense(x))
    gradients = torch.autograd.grad(log_prob.sum(), [out, *likelihood.parameters()])
    assert log_prob.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in gradients)


@every
def test_extreme_outputs_of_both_signs_give_finite_values(name: str, options: dict) -> None:
    likelihood = fitted(name, **options)
    out = torch.full((N_ROWS, likelihood.n_outputs), 1000.0)
    out[:, ::2] = -1000.0
    px = likelihood(out)
    assert px.log_prob(Dense(rows_for(name))).isfinite().all()
    assert px.mean.isfinite().all()


@every
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_outputs_are_computed_in_float32(name: str, options: dict, dtype: torch.dtype) -> None:
    likelihood, x = fitted(name, **options), Dense(rows_for(name))
    out = outputs_for(likelihood, N_ROWS).to(dtype)
    log_prob = likelihood(out).log_prob(x)
    assert log_prob.dtype == likelihood(out).mean.dtype == torch.float32
    assert torch.equal(log_prob, likelihood(out.float()).log_prob(x))


@every
def test_autocast_changes_nothing(name: str, options: dict) -> None:
    likelihood, x = fitted(name, **options), Dense(rows_for(name))
    out = outputs_for(likelihood, N_ROWS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = likelihood(out).log_prob(x)
    assert torch.equal(inside, likelihood(out).log_prob(x))


@every
def test_output_bias_starts_at_the_column_means(name: str, options: dict) -> None:
    x = rows_for(name, n_rows=40).clamp(0.0, 1.0) if options.get("sigmoid_mean") else rows_for(name, n_rows=40)
    moments, likelihood = moments_of(x), fitted(name, **options)
    likelihood.fit(moments)
    bias = likelihood.output_bias(moments)
    assert bias.shape == (likelihood.n_outputs,)
    torch.testing.assert_close(likelihood(bias[None]).mean[0], moments.mean, rtol=1e-3, atol=1e-4)


@every
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_output_bias_of_constant_columns_is_finite(name: str, options: dict, value: float) -> None:
    likelihood = fitted(name, **options)
    assert likelihood.output_bias(moments_of(torch.full((4, N_COLUMNS), value))).isfinite().all()


@every
def test_rows_of_another_width_are_refused_with_the_remedy(name: str, options: dict) -> None:
    with pytest.raises(InvalidInputError, match=r"^The data have 9 columns[^.]*n_columns=9\.$"):
        fitted(name, **options).check(spec_of(torch.ones(3, 9)))


@every
def test_rows_in_the_support_are_accepted(name: str, options: dict) -> None:
    x = rows_for(name).clamp(0.0, 1.0) if options.get("sigmoid_mean") else rows_for(name)
    fitted(name, **options).check(spec_of(x))


@every
def test_description_is_half_a_sentence(name: str, options: dict) -> None:
    text = fitted(name, **options).describe(spec_of(rows_for(name)))
    assert 0 < len(text) < 120
    assert not text.endswith(".")


@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize("ragged", [False, True], ids=["dense", "ragged"])
def test_compiles_as_one_graph(name: str, ragged: bool) -> None:
    torch.compiler.reset()  # one compiled code object for all cases would meet dynamo's limit on recompilations
    likelihood, x = fitted(name), rows_for(name)
    rows, out = ragged_of(x, 1) if ragged else Dense(x), outputs_for(likelihood, 2, N_ROWS)
    compiled = torch.compile(lambda out, rows: likelihood(out).log_prob(rows), fullgraph=True, backend="eager")
    assert_same_numbers(compiled(out, rows), likelihood(out).log_prob(rows))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@every
@pytest.mark.parametrize("ragged", [False, True], ids=["dense", "ragged"])
def test_a_captured_graph_replays_on_new_outputs(name: str, options: dict, ragged: bool) -> None:
    likelihood, x = fitted(name, **options).cuda(), rows_for(name)
    rows = Ragged(*(t.cuda() for t in ragged_of(x, 1)[:2]), N_COLUMNS) if ragged else Dense(x.cuda())
    out = outputs_for(likelihood, N_ROWS).cuda().requires_grad_()

    def step() -> tuple[torch.Tensor, torch.Tensor]:
        log_prob = likelihood(out).log_prob(rows)
        return log_prob.detach(), torch.autograd.grad(log_prob.sum(), out)[0]

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    out.data.copy_(outputs_for(likelihood, N_ROWS, seed=6))
    graph.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(captured, step())
    on_cpu = likelihood.cpu()(out.detach().cpu()).log_prob(Dense(x))
    assert_same_numbers(captured[0].cpu(), on_cpu)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@every
def test_draws_on_the_device_repeat_with_its_generator(name: str, options: dict) -> None:
    likelihood = fitted(name, **options).cuda()
    px = likelihood(outputs_for(likelihood, 50).cuda())
    first, again = (px.sample(torch.Generator("cuda").manual_seed(1)) for _ in range(2))
    assert torch.equal(first, again)
