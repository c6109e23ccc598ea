from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import ColumnMoments, Dense
from fewhot.likelihoods import GaussianLikelihood, LaplaceLikelihood

from .cases import moments_of, rows_for, spec_of


@pytest.mark.parametrize(("floor", "ceiling"), [(1e-6, 5.99), (1e-4, 3.69), (1e-3, 2.53), (1e-2, 1.38)])
@pytest.mark.parametrize("variance", ["per-row", "per-column"])
def test_constant_pixels_meet_the_ceiling_of_the_floor(floor: float, ceiling: float, variance: str) -> None:
    likelihood = GaussianLikelihood(1, floor=floor, standardise=False, variance=variance)
    collapsed = torch.tensor([[0.3, -1000.0]])[:, : likelihood.n_outputs]
    with torch.no_grad():
        for parameter in likelihood.parameters():
            parameter.fill_(-1000.0)
    assert likelihood(collapsed).log_prob(Dense(torch.tensor([[0.3]]))).item() == pytest.approx(ceiling, abs=0.006)


def test_the_ceiling_of_a_standardised_column_is_of_the_raw_data() -> None:
    likelihood = GaussianLikelihood(1, floor=1e-2, variance="per-row")
    likelihood.fit(ColumnMoments(torch.tensor([7.0]), torch.tensor([5.0]), 7.0, torch.ones(1), 10))
    log_prob = likelihood(torch.tensor([[0.0, -1000.0]])).log_prob(Dense(torch.tensor([[7.0]])))
    assert log_prob.item() == pytest.approx(-0.5 * math.log(2 * math.pi * 25 * 1e-2), abs=1e-4)


def test_the_default_floor_is_a_thousandth() -> None:
    assert GaussianLikelihood(1).floor == 1e-3


def test_rescaling_a_column_shifts_the_density_by_its_jacobian() -> None:
    x, factor = rows_for("gaussian"), 10.0
    likelihood, rescaled = GaussianLikelihood(x.shape[1]), GaussianLikelihood(x.shape[1])
    likelihood.fit(moments_of(x))
    rescaled.fit(moments_of(factor * x))
    out = torch.randn(len(x), likelihood.n_outputs)
    difference = likelihood(out).log_prob(Dense(x)) - rescaled(out).log_prob(Dense(factor * x))
    torch.testing.assert_close(difference, torch.full((len(x),), x.shape[1] * math.log(factor)), rtol=0, atol=1e-3)


def test_without_standardising_fit_leaves_the_units_alone() -> None:
    likelihood = GaussianLikelihood(5, standardise=False)
    likelihood.fit(moments_of(rows_for("gaussian")))
    assert torch.equal(likelihood.loc, torch.zeros(5))
    assert torch.equal(likelihood.scale, torch.ones(5))


@pytest.mark.parametrize("standardise", [True, False])
@pytest.mark.parametrize("variance", ["per-row", "per-column"])
def test_the_initial_standard_deviation_is_that_of_the_columns_and_at_least_that_of_the_decoder(
    standardise: bool, variance: str
) -> None:
    moments = moments_of(rows_for("gaussian", n_rows=30))
    likelihood = GaussianLikelihood(5, standardise=standardise, variance=variance)
    likelihood.fit(moments)
    wanted = moments.std if standardise else moments.std.clamp(min=1.0)
    torch.testing.assert_close(likelihood(likelihood.output_bias(moments)[None]).params["scale"][0], wanted)


def test_a_clipped_log_variance_still_learns() -> None:
    out = torch.tensor([[0.0, 400.0]], requires_grad=True)
    (gradient,) = torch.autograd.grad(
        GaussianLikelihood(1, variance="per-row")(out).log_prob(Dense(torch.zeros(1, 1))).sum(), out
    )
    assert gradient[0, 1] < 0


def test_a_squashed_mean_stays_in_the_unit_interval() -> None:
    likelihood = GaussianLikelihood(3, standardise=False, sigmoid_mean=True)
    mean = likelihood(torch.tensor([[-1000.0, 0.0, 1000.0, 0.0, 0.0, 0.0]])).mean
    torch.testing.assert_close(mean, torch.tensor([[0.0, 0.5, 1.0]]))


def test_a_squashed_mean_of_standardised_columns_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="pass standardise=False"):
        GaussianLikelihood(3, sigmoid_mean=True)


@pytest.mark.parametrize(
    "options", [{"floor": -1.0}, {"variance": "per-pixel"}, {"standardise": "yes"}], ids=["floor", "variance", "flag"]
)
def test_arguments_outside_what_is_accepted_are_refused(options: dict) -> None:
    with pytest.raises(InvalidParameterError, match=next(iter(options))):
        GaussianLikelihood(3, **options)


def test_reports_name_the_floor_and_its_unit() -> None:
    spec = spec_of(torch.randn(2, 3))
    assert "floored at 0.001 of each column's variance" in GaussianLikelihood(3).describe(spec)
    assert "1e-06 in squared units of the data" in GaussianLikelihood(3, floor=1e-6, standardise=False).describe(spec)


def with_a_constant_column() -> torch.Tensor:
    x = rows_for("gaussian")
    x[:, 2] = 1.0
    return x


@pytest.mark.parametrize("standardise", [True, "together"])
@pytest.mark.parametrize("family", [GaussianLikelihood, LaplaceLikelihood])
def test_a_constant_column_has_its_mean_whatever_the_code(family: Any, standardise: Any) -> None:
    x = with_a_constant_column()
    likelihood = family(x.shape[1], standardise=standardise)
    likelihood.fit(moments_of(x))
    out = torch.randn(len(x), likelihood.n_outputs, requires_grad=True)
    rows = likelihood(out)
    assert rows.mean[:, 2].tolist() == [1.0] * len(x)
    rows.log_prob(Dense(x)).sum().backward()
    assert out.grad is not None
    assert not out.grad[:, 2].any()
    assert out.grad[:, [0, 1, 3, 4]].any()


def test_a_row_that_differs_in_a_constant_column_is_as_unlikely_as_by_a_deviation_of_one() -> None:
    x = with_a_constant_column()
    likelihood = GaussianLikelihood(x.shape[1])
    likelihood.fit(moments_of(x))
    at_mean = likelihood(torch.zeros(1, x.shape[1]))
    other = x[:1] + 2 * torch.eye(x.shape[1])[2]
    difference = at_mean.log_prob(Dense(other)) - at_mean.log_prob(Dense(x[:1]))
    assert difference.item() == pytest.approx(-0.5 * 2**2, rel=1e-4)  # the variance starts at 1


def test_what_was_saved_before_constant_columns_were_kept_loads() -> None:
    x = with_a_constant_column()
    likelihood, loaded = GaussianLikelihood(x.shape[1]), GaussianLikelihood(x.shape[1])
    likelihood.fit(moments_of(x))
    saved = {name: value for name, value in likelihood.state_dict().items() if name != "varies"}
    loaded.load_state_dict(saved)
    out = torch.randn(len(x), x.shape[1])
    assert torch.equal(loaded(out).mean, likelihood.loc + likelihood.scale * out)
