from __future__ import annotations

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from fewhot.core.records import Dense
from fewhot.likelihoods import BernoulliLikelihood

from .cases import spec_of


def test_grey_levels_give_minus_the_cross_entropy() -> None:
    out, x = torch.randn(4, 6), torch.rand(4, 6)
    expected = -binary_cross_entropy_with_logits(out, x, reduction="none").sum(-1)
    torch.testing.assert_close(BernoulliLikelihood(6)(out).log_prob(Dense(x)), expected)


def test_integer_pixels_are_read_as_numbers() -> None:
    out, x = torch.randn(4, 6), torch.randint(0, 2, (4, 6), dtype=torch.uint8)
    px = BernoulliLikelihood(6)(out)
    assert torch.equal(px.log_prob(Dense(x)), px.log_prob(Dense(x.float())))


def test_reports_say_that_grey_levels_have_no_likelihood() -> None:
    likelihood = BernoulliLikelihood(2)
    assert likelihood.describe(spec_of(torch.tensor([[0.0, 0.5]]))) == "BCE on grey levels: not a proper likelihood"


def test_reports_of_binary_rows_carry_no_warning() -> None:
    assert "BCE" not in BernoulliLikelihood(2).describe(spec_of(torch.tensor([[0.0, 1.0]])))
