"""What each family refuses, in one sentence that names the data, the support and the remedy."""

from __future__ import annotations

import pytest
import torch

from fewhot.core.errors import InvalidInputError
from fewhot.core.registry import LIKELIHOODS

from .cases import spec_of

counts = pytest.mark.parametrize("name", ["poisson", "negative-binomial", "multinomial"])


def refusal(name: str, x: torch.Tensor, **options: object) -> str:
    with pytest.raises(InvalidInputError) as caught:
        LIKELIHOODS[name](x.shape[1], **options).check(spec_of(x))
    text = str(caught.value)
    assert text.endswith(".")
    assert ". " not in text
    return text


@pytest.mark.parametrize("x", [torch.tensor([[-0.5, 1.0]]), torch.tensor([[0.0, 255.0]])], ids=["below", "above"])
def test_bernoulli_refuses_values_outside_the_unit_interval(x: torch.Tensor) -> None:
    text = refusal("bernoulli", x)
    assert f"from {float(x.min()):g} to {float(x.max()):g}" in text
    assert "[0, 1]" in text
    assert "rescale or binarise" in text


@counts
def test_counts_refuse_fractions(name: str) -> None:
    text = refusal(name, torch.tensor([[0.5, 2.0]]))
    assert "fractional values" in text
    assert "pass the raw counts" in text


@counts
def test_counts_refuse_negative_values(name: str) -> None:
    text = refusal(name, torch.tensor([[-2.0, 2.0]]))
    assert "negative values (minimum -2)" in text
    assert "pass the raw counts" in text


@counts
def test_counts_refuse_numbers_that_float32_cannot_count_to(name: str) -> None:
    assert "exact up to 16,777,216" in refusal(name, torch.tensor([[0.0, 1e8]]))


def test_a_squashed_gaussian_refuses_values_its_mean_cannot_reach() -> None:
    text = refusal("gaussian", torch.tensor([[0.0, 3.0]]), standardise=False, sigmoid_mean=True)
    assert "sigmoid_mean=False" in text


@pytest.mark.parametrize("name", ["gaussian", "laplace"])
def test_real_families_accept_any_value(name: str) -> None:
    LIKELIHOODS[name](2).check(spec_of(torch.tensor([[-3.5, 1e4]])))
