"""Single units turned: which, how far, and what else stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import fewhot as fh
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.metrics import traverse
from tests.metrics.conftest import PlantedRows
from tests.plots.fakes import Linear

IDENTITY = Linear(np.eye(4))
ROW = np.array([1.0, -3.0, 0.0, 0.6])


def test_only_units_that_are_on_are_turned_largest_first() -> None:
    assert traverse(IDENTITY, ROW).units.tolist() == [1, 0, 3]
    assert traverse(IDENTITY, ROW, n_units=2).units.tolist() == [1, 0]


def test_one_unit_is_turned_and_the_rest_held() -> None:
    turned = traverse(IDENTITY, ROW, values=[-1.0, 0.0, 2.0])
    assert turned.decoded.shape == (3, 3, 4)
    for unit, values, decoded in zip(turned.units, turned.values, turned.decoded, strict=True):
        expected = np.tile(ROW, (3, 1))
        expected[:, unit] = values
        np.testing.assert_allclose(decoded, expected)


def test_a_row_with_nothing_on_turns_nothing() -> None:
    turned = traverse(IDENTITY, np.zeros(4), prior_stds=2)
    assert turned.values.shape == (0, 7)
    assert turned.decoded.shape == (0, 7, 4)


@pytest.mark.parametrize("how", [{"prior": "fixed"}, {"alpha": 0.3}])
def test_prior_standard_deviations_are_those_of_the_slab(how: dict, planted: PlantedRows) -> None:
    model = small_vsc(**how).fit(planted.X[:50])
    prior = model.module_.prior
    loc, scale = prior.loc.detach().numpy()[[0, 3]], np.exp(0.5 * prior.logvar.detach().numpy()[[0, 3]])
    assert_spread(model, planted.X[0], loc, scale)


def test_a_prior_that_knows_which_units_go_together_is_asked_about_the_rows_own(planted: PlantedRows) -> None:
    model = small_vsc(prior="joint", max_steps=60).fit(planted.X)
    row = planted.X[0]
    gates = torch.tensor((model.transform(row[None]).toarray() != 0).astype(np.float32))
    slab = model.module_.prior.given(gates).slab
    assert_spread(model, row, *(m[0, [0, 3]].detach().numpy() for m in (slab.mean, slab.stddev)))
    alone = model.module_.prior.given(torch.zeros_like(gates)).slab
    assert not torch.equal(alone.mean, slab.mean) or not gates.any()


def test_the_values_under_a_mixture_are_those_of_its_likely_laws(planted: PlantedRows) -> None:
    model = small_vsc(prior="pseudo-inputs", n_pseudo_inputs=3).fit(planted.X[:50])
    row, module = planted.X[0], model.module_
    active = torch.tensor(model.transform(row[None]).toarray() != 0)
    p = module.prior(module.posterior_of)
    weights, laws = p.responsibilities(active)[0], p.components
    draws = torch.distributions.Normal(laws.loc, laws.scale).sample((200_000,))  # (n, U, K)
    mean = (weights[:, None] * draws.mean(0)).sum(0)
    var = (weights[:, None] * draws.square().mean(0)).sum(0) - mean.square()
    assert_spread(model, row, *(m[[0, 3]].detach().numpy() for m in (mean, var.sqrt())), atol=0.03)


def small_vsc(**how: Any) -> fh.VSC:
    arguments: dict[str, Any] = {"max_steps": 3, "hidden_layer_sizes": (8,), "random_state": 0, "device": "cpu"}
    return fh.VSC(n_components=5, **(arguments | how))


def assert_spread(model: Any, row: np.ndarray, mean: np.ndarray, std: np.ndarray, atol: float = 1e-6) -> None:
    """Units 0 and 3 go from two standard deviations below their mean to two above it."""
    turned = traverse(model, row, [0, 3], prior_stds=2, n_values=5)
    for k, column in zip((-2, -1, 0, 1, 2), turned.values.T, strict=True):
        np.testing.assert_allclose(column, mean + k * std, rtol=1e-5, atol=atol)


@pytest.mark.parametrize("cls", [fh.MATVAE, fh.HSVAE, fh.BetaTCVAE])
def test_every_prior_has_a_spread(cls: Any, planted: PlantedRows) -> None:
    model = cls(n_components=3, hidden_layer_sizes=(8,), max_steps=3, random_state=0, device="cpu").fit(planted.X[:50])
    values = traverse(model, planted.X[0], [0, 1], prior_stds=3).values
    assert (np.diff(values, axis=1) > 0).all()


def test_the_observed_range_is_that_of_the_rows_that_use_the_unit() -> None:
    background = np.zeros((200, 4))
    background[:101, 0] = np.linspace(1.0, 2.0, 101)
    values = traverse(IDENTITY, ROW, [0], background=background).values[0]
    assert values[0] == 0.0
    assert values[-1] == pytest.approx(1.95)


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ({"row": np.zeros((2, 4))}, InvalidInputError, r"row has shape \(2, 4\)"),
        ({"units": [4]}, InvalidParameterError, "Unit 4 was asked for"),
        ({"units": []}, InvalidParameterError, "units is empty"),
        ({"units": 1}, InvalidParameterError, "units is 1; give a sequence of unit numbers"),
        ({"values": [1.0], "prior_stds": 1.0}, InvalidParameterError, "Both values and prior_stds"),
        ({"prior_stds": 0.0}, InvalidParameterError, "prior_stds is 0.0"),
        ({"n_values": 1}, InvalidParameterError, "n_values is 1"),
        ({"n_units": 0}, InvalidParameterError, "n_units is 0"),
        ({"units": [0], "values": [[1.0], [2.0]]}, InvalidParameterError, r"values has shape \(2, 1\) for 1 units"),
    ],
)
def test_unusable_requests_are_refused(changes: dict[str, Any], error: type, sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        traverse(IDENTITY, **({"row": ROW} | changes))
