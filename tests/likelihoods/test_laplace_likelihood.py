from __future__ import annotations

import math

import pytest
import torch

from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import Dense
from fewhot.likelihoods import LaplaceLikelihood

from .cases import spec_of


def test_the_default_scale_is_a_tenth() -> None:
    log_prob = LaplaceLikelihood(1)(torch.tensor([[0.5]])).log_prob(Dense(torch.tensor([[0.7]])))
    assert log_prob.item() == pytest.approx(-math.log(0.2) - 2.0, abs=1e-5)


@pytest.mark.parametrize("noise_scale", [0.0, -1.0])
def test_a_scale_that_is_not_positive_is_refused(noise_scale: float) -> None:
    with pytest.raises(InvalidParameterError, match="noise_scale"):
        LaplaceLikelihood(1, noise_scale=noise_scale)


def test_reports_name_the_scale_and_its_unit() -> None:
    spec = spec_of(torch.randn(2, 3))
    assert "0.1 of each column's standard deviation" in LaplaceLikelihood(3).describe(spec)
    assert "0.1 in units of the data" in LaplaceLikelihood(3, standardise=False).describe(spec)
