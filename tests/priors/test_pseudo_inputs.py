"""The prior made of learned rows."""

from __future__ import annotations

import pytest
import torch

from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import ColumnMoments, Dense
from fewhot.core.seeding import stream
from fewhot.distributions import SpikeSlab
from fewhot.priors import PseudoInputPrior

K, D = 3, 4


def posterior_of(x: Dense) -> SpikeSlab:
    """Encode rows by columns: easy to follow."""
    return SpikeSlab(x.x[:, :K], 2 * x.x[:, :K], (0.1 * x.x[:, 1:]).exp())


def fitted(n: int = 5, **options: object) -> PseudoInputPrior:
    prior = PseudoInputPrior(K, D, n, **options)
    prior.fit(
        ColumnMoments(torch.tensor([0.0, 10.0, -5.0, 0.5]), torch.tensor([1.0, 3.0, 0.1, 2.0]), 0.0, torch.ones(4), 10)
    )
    return prior


def test_rows_begin_as_draws_from_the_moments_of_the_data() -> None:
    n, prior = 20_000, fitted(20_000)
    x = prior.rows().x.detach()
    assert ((x.mean(0) - prior.loc).abs() < 4.5 * prior.scale / n**0.5).all()
    torch.testing.assert_close(x.std(0), prior.scale, rtol=0.05, atol=0.0)


def test_rows_stay_within_the_range_of_the_data_and_keep_their_gradient() -> None:
    prior = fitted(200, low=0.0, high=1.0)
    x = prior.rows().x
    (gradient,) = torch.autograd.grad(x.sum(), prior.inputs)
    assert (x.min(), x.max()) == (0.0, 1.0)
    assert (gradient > 0).all()
    assert prior.rows().x[:, 3].detach().unique().numel() > 2


def test_the_law_is_the_mixture_of_the_rows_posteriors() -> None:
    prior = fitted(sharpness=None)
    p, q = prior(posterior_of), posterior_of(prior.rows())
    assert p.n_components == 5
    for one, other in ((p.components.logits, q.logits), (p.components.loc, q.loc), (p.components.scale, q.scale)):
        assert torch.equal(one, other)


def test_sharpening_pulls_gates_to_the_ends_of_a_safe_range() -> None:
    prior = fitted(50, sharpness=10.0)
    on, told = prior(posterior_of).components.probs, posterior_of(prior.rows()).probs
    torch.testing.assert_close(on, torch.sigmoid(10 * (told - 0.5)))
    assert 0.0066 < on.min() < 0.01 < 0.99 < on.max() < 0.9934


def test_gradients_reach_every_row() -> None:
    prior = fitted()
    p = prior(posterior_of)
    (gradient,) = torch.autograd.grad(p.log_prob(torch.tensor([0.3, 0.0, -0.2])), prior.inputs)
    assert gradient.isfinite().all()
    assert (gradient.abs().sum(1) > 0).all()


def test_values_for_active_units_come_from_a_row_that_has_them_on() -> None:
    """Of two rows, the first has unit 0 on and the second unit 1: the active unit says whose values are drawn."""

    def told(x: Dense) -> SpikeSlab:
        logits = torch.tensor([[8.0, -8.0], [-8.0, 8.0]])
        return SpikeSlab(logits, torch.tensor([[5.0, 5.0], [-5.0, -5.0]]), torch.full((2, 2), 0.1))

    prior = PseudoInputPrior(2, D, 2, sharpness=None)
    active = torch.tensor([[True, False], [False, True]]).repeat(200, 1)
    z = prior.sample_given(active, told, stream(0))
    assert torch.equal(z != 0, active)
    torch.testing.assert_close(z[0::2, 0].mean(), torch.tensor(5.0), rtol=0, atol=4.5 * 0.1 / 200**0.5)
    torch.testing.assert_close(z[1::2, 1].mean(), torch.tensor(-5.0), rtol=0, atol=4.5 * 0.1 / 200**0.5)


@pytest.mark.parametrize("options", [{"n_pseudo_inputs": 0}, {"n_pseudo_inputs": 2.5}, {"sharpness": 0.0}])
def test_what_cannot_be_learned_is_refused(options: dict) -> None:
    with pytest.raises(InvalidParameterError, match=r"^(n_pseudo_inputs|sharpness) is .*; it must be a"):
        PseudoInputPrior(K, D, **options)


@pytest.mark.parametrize("sharpness", [None, 10.0])
def test_a_shift_of_all_gates_leaves_the_law_as_it_was(sharpness: float | None) -> None:
    prior = fitted(sharpness=sharpness)
    before = prior(posterior_of).components.logits

    def shifted(x: Dense) -> SpikeSlab:
        q = posterior_of(x)
        return SpikeSlab(q.logits - 0.7, q.loc, q.scale)

    prior.take_back(-0.7)
    torch.testing.assert_close(prior(shifted).components.logits, before)
