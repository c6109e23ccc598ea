"""A mixture of codes: its law, and the bounds on the divergence from it."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.distributions import kl_divergence

from fewhot.core.seeding import stream
from fewhot.distributions import (
    SpikeSlab,
    SpikeSlabMixture,
    choice_kl,
    component_kl,
    mixture_kl_bound,
)

K = 3


def law(*shape: int, seed: int = 0) -> SpikeSlab:
    generator = stream(seed, "law")
    logits, loc, logscale = (torch.randn(*shape, K, generator=generator) for _ in range(3))
    return SpikeSlab(1.5 * logits, loc, (0.5 * logscale).exp())


def mixture(n: int, seed: int = 1) -> SpikeSlabMixture:
    return SpikeSlabMixture(law(n, seed=seed))


def weights(n_rows: int, n: int, size: float) -> Tensor:
    return torch.log_softmax(size * torch.randn(n_rows, n, generator=stream(2)), dim=-1)


def test_the_density_is_the_mean_of_the_components() -> None:
    p, z = mixture(4), law(7).sample()
    slow = torch.stack([p.component(u).log_prob(z).sum(-1).exp() for u in range(4)]).mean(0)
    assert (p.batch_shape, p.event_shape) == ((), (K,))
    torch.testing.assert_close(p.log_prob(z), slow.log())
    torch.testing.assert_close(p.log_prob(z.expand(2, 7, K)), p.log_prob(z).expand(2, 7))


def test_noise_says_which_component_is_drawn() -> None:
    p = mixture(4)
    noise = {**p.noise_like((5,), stream(0)), "choice": torch.tensor([0.0, 0.24, 0.26, 0.99, 1.0])}
    z = p.sample((5,), noise)
    for row, u in enumerate([0, 0, 1, 3, 3]):
        alone = p.component(u).sample(noise={name: noise[name][row] for name in ("gate", "slab")})
        assert torch.equal(z[row], alone)


def test_draws_come_from_all_components_with_exact_zeros() -> None:
    n, p = 40_000, mixture(3)
    z = p.sample((n,), p.noise_like((n,), stream(0)))
    rate = p.components.probs.mean(0)
    assert (((z != 0).float().mean(0) - rate).abs() < 4.5 * (rate * (1 - rate) / n).sqrt()).all()
    assert ((z.mean(0) - p.mean).abs() < 4.5 * p.stddev / n**0.5).all()
    torch.testing.assert_close(z.std(0), p.stddev, rtol=0.05, atol=0.0)


def test_components_are_as_likely_as_they_explain_the_active_units() -> None:
    p = mixture(4)
    active = torch.tensor([[True, False, True], [False, False, False]])
    on = p.components.probs
    for row, given in zip(p.responsibilities(active), active, strict=True):
        slow = torch.stack([math.prod(on[u, j] if given[j] else 1 - on[u, j] for j in range(K)) for u in range(4)])
        torch.testing.assert_close(row, slow / slow.sum())


def test_the_divergence_from_each_component_is_that_of_the_laws() -> None:
    q, p = law(5), mixture(4)
    gate, slab = component_kl(q, p)
    slow = torch.stack([kl_divergence(q, p.component(u)).sum(-1) for u in range(4)], dim=-1)
    torch.testing.assert_close(gate + slab, slow)


def test_the_parts_of_the_bound_add_up_to_its_closed_form() -> None:
    q, p = law(5), mixture(4)
    kl = torch.stack(component_kl(q, p)).sum(0)
    closed = -(torch.logsumexp(-kl, dim=-1) - math.log(4))
    torch.testing.assert_close(torch.stack(mixture_kl_bound(q, p)).sum(0), closed)


@pytest.mark.parametrize("size", [0.0, 1.0, 30.0])
def test_no_other_weights_give_a_tighter_bound(size: float) -> None:
    """Divergence <= mixture bound <= corrected bound; the paper's value lies log U below the last at most."""
    n, q, p = 20_000, law(6), mixture(5)
    with torch.no_grad():
        z = q.sample((n,), noise=q.noise_like((n,), stream(3)))
        ratio = q.log_prob(z).sum(-1) - p.log_prob(z)  # (n, 6)
        tight = torch.stack(mixture_kl_bound(q, p)).sum(0)
        log_weights = weights(6, 5, size)
        paper = (log_weights.exp() * torch.stack(component_kl(q, p)).sum(0)).sum(-1)
    corrected = paper + choice_kl(log_weights)
    assert (ratio.mean(0) < tight + 4.5 * ratio.std(0) / n**0.5).all()
    assert (tight <= corrected + 1e-5).all()
    assert (corrected - paper <= math.log(5) + 1e-5).all()
    assert (tight > 0).all()


def test_a_mixture_of_one_is_its_component() -> None:
    q, p = law(6), mixture(1)
    gate, slab, choice = mixture_kl_bound(q, p)
    torch.testing.assert_close(gate + slab, kl_divergence(q, p.component(0)).sum(-1))
    assert torch.equal(choice, torch.zeros(6))
    z = q.sample()
    torch.testing.assert_close(p.log_prob(z), p.component(0).log_prob(z).sum(-1))


def test_equal_components_are_one_component() -> None:
    q, one = law(6), law(1, seed=1)
    p = SpikeSlabMixture(SpikeSlab(*(x.expand(7, K) for x in (one.logits, one.loc, one.scale))))
    torch.testing.assert_close(torch.stack(mixture_kl_bound(q, p)).sum(0), kl_divergence(q, one).sum(-1))


def test_choosing_costs_nothing_at_random_and_the_log_of_the_number_for_sure() -> None:
    certain = torch.tensor([0.0, torch.finfo(torch.float32).min, torch.finfo(torch.float32).min])
    assert choice_kl(torch.full((3,), 1 / 3).log()).item() == pytest.approx(0.0, abs=1e-6)
    assert choice_kl(certain).item() == pytest.approx(math.log(3))


def test_a_component_that_rules_a_code_out_has_no_weight() -> None:
    q, p = law(5), mixture(3)
    logits = p.components.logits.clone()
    logits[1] = -torch.inf  # never on, where q may be
    certain = SpikeSlabMixture(SpikeSlab(logits, p.components.loc, p.components.scale))
    others = torch.stack([kl_divergence(q, p.component(u)).sum(-1) for u in (0, 2)], dim=-1)
    expected = math.log(3) - torch.logsumexp(-others, dim=-1)
    torch.testing.assert_close(torch.stack(mixture_kl_bound(q, certain)).sum(0), expected)


def test_components_far_apart_have_finite_gradients() -> None:
    q = law(2)
    loc = torch.tensor([[0.0], [1e3], [-1e4]]).expand(3, K).clone().requires_grad_()
    p = SpikeSlabMixture(SpikeSlab(torch.zeros(3, K), loc, torch.full((3, K), 1e-3)))
    total = torch.stack(mixture_kl_bound(q, p)).sum()
    (gradient,) = torch.autograd.grad(total, loc)
    assert total.isfinite()
    assert gradient.isfinite().all()


def test_it_has_one_batch_shape() -> None:
    p = mixture(2)
    assert p.expand(()) is p
    with pytest.raises(TypeError, match="is one law; draw from it with a sample shape"):
        p.expand((3,))
