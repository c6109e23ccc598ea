"""Counts from slots: closed forms against enumeration and draws."""

from __future__ import annotations

from itertools import product
from math import log

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.distributions import kl_divergence

from fewhot.distributions import OneHot, SlotCounts, slot_kl
from fewhot.distributions.choices import second_order
from fewhot.distributions.slot_counts import quick_slot_kl

RATE, FEATURES, SLOTS = 0.6, (0.5, 0.3, 0.2), 5


def shared(rate: float = RATE, features: tuple[float, ...] = FEATURES, n_slots: int = SLOTS) -> SlotCounts:
    return SlotCounts(torch.tensor([rate]).logit(), torch.tensor([features]).log(), n_slots)


def independent(n_slots: int = 3, n_units: int = 4, seed: int = 0) -> SlotCounts:
    generator = torch.Generator().manual_seed(seed)
    return SlotCounts(
        torch.randn(n_slots, generator=generator), torch.randn(n_slots, n_units, generator=generator), n_slots
    )


def several(
    n_laws: int, n_slots: int, scale: float = 1.0, batch: tuple[int, ...] = (5,), seed: int = 0, n_units: int = 6
) -> SlotCounts:
    """Return random laws in double precision, whose logits are leaves."""
    generator = torch.Generator().manual_seed(seed)
    shapes = (*batch, n_laws), (*batch, n_laws, n_units)
    gates, features = (scale * torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes)
    return SlotCounts(gates.requires_grad_(), features.requires_grad_(), n_slots)


def every_outcome(law: SlotCounts) -> list[tuple[Tensor, float]]:
    """Return the counts and the probability of every combination of choices, one by one."""
    log_choices = law.log_choices.expand(law.n_slots, -1)
    n_classes = log_choices.shape[-1]
    found = []
    for slots in product(range(n_classes), repeat=law.n_slots):
        counts = torch.bincount(torch.tensor(slots), minlength=n_classes)[:-1].float()
        found.append((counts, sum(log_choices[i, s].item() for i, s in enumerate(slots))))
    return [(counts, float(torch.tensor(p).exp())) for counts, p in found]


def test_the_reference_values() -> None:
    torch.testing.assert_close(shared().probs, torch.tensor([0.83193, 0.62926, 0.47227]), atol=1e-5, rtol=0)
    torch.testing.assert_close(shared().mean, torch.tensor([1.5, 0.9, 0.6]))


@pytest.mark.parametrize("law", [shared(n_slots=4), independent()], ids=["shared", "independent"])
def test_closed_forms_agree_with_every_outcome(law: SlotCounts) -> None:
    outcomes = every_outcome(law)
    assert sum(p for _, p in outcomes) == pytest.approx(1, abs=1e-5)
    mean = sum(p * z for z, p in outcomes)
    torch.testing.assert_close(law.mean, mean, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(law.variance, sum(p * (z - mean) ** 2 for z, p in outcomes), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(law.probs, sum(p * (z > 0).float() for z, p in outcomes), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(law.logits.sigmoid(), law.probs)


@pytest.mark.parametrize("n_laws", [1, 4])
def test_the_log_of_the_mean_has_its_value_and_gradient(n_laws: int) -> None:
    law, same = several(n_laws, 4), several(n_laws, 4)
    ours, theirs = law.log_mean, same.mean.log()
    torch.testing.assert_close(ours, theirs)
    (ours.sum() + theirs.sum()).backward()
    torch.testing.assert_close(law.gate_logits.grad, same.gate_logits.grad)
    torch.testing.assert_close(law.feature_logits.grad, same.feature_logits.grad)


def test_the_log_of_a_mean_that_underflows_is_finite() -> None:
    law = SlotCounts(torch.tensor([-300.0]), torch.tensor([[0.0, -300.0]]), 4)
    assert not law.mean.any()
    torch.testing.assert_close(law.log_mean, torch.tensor([-300.0, -600.0]) + log(4))


def test_the_likelihood_of_counts_is_the_sum_over_their_outcomes() -> None:
    law, by_counts = shared(n_slots=4), {}
    for z, p in every_outcome(law):
        by_counts[tuple(z.tolist())] = by_counts.get(tuple(z.tolist()), 0.0) + p
    for counts, p in by_counts.items():
        assert law.log_prob(torch.tensor(counts)).exp().item() == pytest.approx(p, rel=1e-4)
    assert law.log_prob(torch.tensor([3.0, 2.0, 0.0])) == -torch.inf  # five, of four slots


def test_draws_follow_the_law() -> None:
    for law in (shared(), independent()):
        n = 100_000
        z = law.sample((n,), noise=law.noise_like((n,), torch.Generator().manual_seed(0)))
        assert (z == z.round()).all()
        assert (z.sum(-1) <= law.n_slots).all()
        assert ((z.mean(0) - law.mean).abs() < 4.5 * z.std(0) / n**0.5).all()
        torch.testing.assert_close((z > 0).float().mean(0), law.probs, atol=0.01, rtol=0)


def test_the_divergence_of_counts_is_that_of_their_multinomial_laws() -> None:
    q, p = shared(n_slots=3), shared(0.2, (0.1, 0.1, 0.8), 3)
    expected, seen = 0.0, set()
    for z, _ in every_outcome(q):
        if tuple(z.tolist()) not in seen:
            seen.add(tuple(z.tolist()))
            expected += (q.log_prob(z).exp() * (q.log_prob(z) - p.log_prob(z))).item()
    assert kl_divergence(q, p).item() == pytest.approx(expected, rel=1e-4)


def test_special_cases_of_the_divergence() -> None:
    uniform = shared(0.3, (1 / 3, 1 / 3, 1 / 3))
    assert sum(slot_kl(uniform, uniform)) == pytest.approx(0, abs=1e-6)
    one, other = shared(1 - 1e-7, FEATURES, 1), shared(1 - 1e-7, (1 / 3, 1 / 3, 1 / 3), 1)
    categorical = kl_divergence(OneHot(torch.tensor(FEATURES).log()), OneHot(torch.zeros(3)))
    assert sum(slot_kl(one, other)).item() == pytest.approx(categorical.item(), abs=1e-4)
    q, p = shared(), shared(0.2, (0.1, 0.1, 0.8))
    tight, published = slot_kl(q, p), slot_kl(q, p, off_slots_choose=True)
    assert published.gate == tight.gate
    assert published.feature.item() == pytest.approx(tight.feature.item() / RATE, rel=1e-5)


def test_the_gradient_of_a_gates_divergence_is_the_right_one() -> None:
    logit = torch.tensor([0.3]).logit().requires_grad_()
    q, p = SlotCounts(logit, torch.zeros(1, 4), 1), SlotCounts(torch.zeros(1), torch.zeros(1, 4), 1)
    (by_logit,) = torch.autograd.grad(kl_divergence(q, p), logit)
    by_rate = by_logit / (0.3 * 0.7)
    assert by_rate.item() == pytest.approx(log(0.3 / 0.5) - log(0.7 / 0.5), abs=1e-5)  # not the printed +1.8256
    assert by_rate.item() == pytest.approx(-0.847297860, abs=1e-5)


@settings(max_examples=60, deadline=None)
@given(
    rate=st.floats(0.01, 0.99),
    weights=st.lists(st.floats(0.01, 1.0), min_size=2, max_size=6),
    n_slots=st.integers(1, 9),
)
def test_the_likeliest_code_of_shared_slots_seats_units_one_by_one(rate, weights, n_slots) -> None:
    features = torch.tensor(weights, dtype=torch.float64)
    features = features / features.sum()
    law = SlotCounts(torch.tensor([rate], dtype=torch.float64).logit(), features.log()[None], n_slots)
    if abs((n_slots + 1) * rate - round((n_slots + 1) * rate)) < 1e-6:
        return  # as likely as one seat fewer
    seats = torch.zeros(len(features))
    for _ in range(min(int((n_slots + 1) * rate), n_slots)):
        quotients = features / (seats + 1)
        if (quotients > quotients.max() * (1 - 1e-5)).sum() > 1:
            return  # a tie may be broken in any way
        seats[quotients.argmax()] += 1
    assert torch.equal(law.margins > 0, seats > 0)
    assert torch.equal(law.likeliest_counts.float(), seats)


def test_the_likeliest_code_of_independent_slots_counts_their_likeliest_choices() -> None:
    gates = torch.tensor([2.0, -1.0, 0.5, 3.0])
    features = 5 * torch.eye(3)[torch.tensor([0, 1, 2, 0])]
    law = SlotCounts(gates, features, 4)
    assert law.likeliest_counts.tolist() == [2.0, 0.0, 1.0]
    assert law.margins.tolist() == [3.0, -1.0, 0.5]


@pytest.mark.parametrize("n_slots", [1, 4, 12])
@pytest.mark.parametrize("n_laws", ["one", "each"])
def test_active_units_are_those_with_positive_margins(n_slots: int, n_laws: str) -> None:
    law = several(1 if n_laws == "one" else n_slots, n_slots, scale=3.0, batch=(2, 200))
    expected = (law.margins > 0).sum(-1)
    assert torch.equal(law.n_active, expected.double())
    assert len(expected.unique()) > 1
    assert not law.n_active.requires_grad


def test_units_that_are_alike_take_one_seat_each_and_a_unit_chosen_twice_is_one() -> None:
    alike = (SlotCounts(torch.tensor([rate]).logit(), torch.zeros(1, 7), 3) for rate in (0.2, 0.4, 0.6, 0.9))
    assert [int(law.n_active) for law in alike] == [0, 1, 2, 3]
    twice = SlotCounts(torch.full((5,), 2.0), 4 * torch.eye(3)[torch.tensor([1, 1, 1, 2, 2])], 5)
    assert twice.n_active == 2


def test_a_seat_that_two_units_may_have_goes_to_the_one_without_any() -> None:
    """The likelier unit is seven times as likely, and rounding makes it a little more: the seventh seat is a tie."""
    features = torch.tensor([[0.84, 0.12, 0.04]]).log()
    assert (features[0, 0] - features[0, 1]).exp() > 7
    seats = [SlotCounts(torch.tensor([(n + 0.5) / 11]).logit(), features, 10).n_active.item() for n in (6, 7)]
    assert seats == [1, 2]


@pytest.mark.parametrize("features", [(0.0, -110.0, -110.0, -110.0), (100.0, -100.0, -100.0, 0.0)])
def test_units_that_are_next_to_impossible_leave_the_seats_of_others_alone(features: tuple[float, ...]) -> None:
    law = SlotCounts(torch.tensor([2.0]), torch.tensor([features]), 3)
    assert law.margins[0] == 2.0 - torch.tensor(1 / 4).logit()
    assert torch.isneginf(law.margins[1:]).all()
    assert law.n_active == 1


@pytest.mark.parametrize("n_laws", [1, 3])
def test_the_gradient_of_being_absent_is_that_of_its_formula(n_laws: int) -> None:
    law, weights = several(n_laws, 3), torch.rand(5, 6, generator=torch.Generator().manual_seed(1)).double()
    plain = (3 // n_laws) * torch.log1p(-law.slot_probs).sum(-2)
    leaves = law.gate_logits, law.feature_logits
    by_plain = torch.autograd.grad((weights * plain).sum(), leaves, retain_graph=True)
    told = law.through_absence(torch.tensor(0.7), weights)
    assert told == torch.tensor(0.7)
    for absent, of_absent in ((law.log_absent, (weights * law.log_absent).sum()), (law.log_absent_value, told)):
        torch.testing.assert_close(absent, plain)
        by_absent = torch.autograd.grad(of_absent, leaves, retain_graph=True)
        for one, other in zip(by_absent, by_plain, strict=True):
            torch.testing.assert_close(one, other)
    assert not law.log_absent_value.requires_grad


def test_a_unit_that_is_always_chosen_is_absent_with_a_probability_above_zero() -> None:
    law = SlotCounts(torch.tensor([60.0]), torch.tensor([[60.0, -60.0]]), 2)
    for absent in (law.log_absent, law.log_absent_value):
        assert torch.isfinite(absent).all()
        assert absent[0] < -30


def test_second_derivatives_are_right_or_refused() -> None:
    """Three slots are on with rate s, and choose the unit with probability p: 1 - (1 - s p)³."""
    gate = torch.tensor([0.3], dtype=torch.float64, requires_grad=True)
    law = SlotCounts(gate, torch.tensor([[0.1, 0.2, -0.3]], dtype=torch.float64), 3)
    first, plain_first = (
        torch.autograd.grad(value, gate, create_graph=True)[0]
        for value in (law.probs[0], 1 - (1 - gate.sigmoid() * law.log_features[0, 0].exp()) ** 3)
    )
    torch.testing.assert_close(torch.autograd.grad(first, gate), torch.autograd.grad(plain_first, gate))
    quick = (law.through_absence(torch.tensor(1.0), torch.ones(3)), sum(quick_slot_kl(law, law.expand(()))))
    for value in quick:
        (slope,) = torch.autograd.grad(value**2, gate, create_graph=True)
        with pytest.raises(RuntimeError, match="once_differentiable"):
            slope.backward()


@pytest.mark.parametrize("off_slots_choose", [False, True])
@pytest.mark.parametrize(("of_q", "of_p", "batch"), [(1, 1, ()), (3, 3, ()), (3, 1, ()), (1, 3, ()), (3, 3, (5,))])
def test_the_gradient_of_the_divergence_is_that_of_its_formula(
    of_q: int, of_p: int, batch: tuple[int, ...], off_slots_choose: bool
) -> None:
    q, p = several(of_q, 3), several(of_p, 3, batch=batch, seed=1)
    on, rate = q.gate_logits.sigmoid(), p.gate_logits.sigmoid()
    gate = on * (on / rate).log() + (1 - on) * ((1 - on) / (1 - rate)).log()
    choice = (q.log_features.exp() * (q.log_features - p.log_features)).sum(-1)
    feature = choice if off_slots_choose else on * choice
    leaves = (q.gate_logits, q.feature_logits, p.gate_logits, p.feature_logits)
    weights = torch.arange(1.0, 6.0, dtype=torch.float64)
    found = [kl(q, p, off_slots_choose=off_slots_choose) for kl in (slot_kl, quick_slot_kl)]
    for quick, slow in zip([*found[0], *found[1]], [gate, feature] * 2, strict=True):
        slow = slow.sum(-1) * (3 // slow.shape[-1])
        torch.testing.assert_close(quick, slow)
        by_quick = torch.autograd.grad((weights * quick).sum(), leaves, retain_graph=True, allow_unused=True)
        by_slow = torch.autograd.grad((weights * slow).sum(), leaves, retain_graph=True, allow_unused=True)
        for leaf, *both in zip(leaves, by_quick, by_slow, strict=True):
            one, other = (torch.zeros_like(leaf) if slope is None else slope for slope in both)
            torch.testing.assert_close(one, other)


@pytest.mark.parametrize(("n_laws", "n_slots"), [(1, 5), (5, 5), (1, 1)])
@pytest.mark.parametrize("draws", [(), (3,)])
def test_counts_alone_have_the_gradient_of_single_choices(n_laws: int, n_slots: int, draws: tuple[int, ...]) -> None:
    random = torch.Generator().manual_seed(0)
    gates = torch.randn(4, n_laws, generator=random, dtype=torch.float64, requires_grad=True)
    features = torch.randn(4, n_laws, 6, generator=random, dtype=torch.float64, requires_grad=True)
    uniform = torch.rand(*draws, 4, n_slots, generator=random, dtype=torch.float64)
    weights = torch.randn(6, generator=random, dtype=torch.float64)
    found = []
    for seen in (True, False):
        z = SlotCounts(gates, features, n_slots, second_order, choices_seen=seen).draw(uniform).z
        value = (z @ weights).square().sum() + (z.sin() * weights).sum()
        found.append((z, *torch.autograd.grad(value, (gates, features))))
    assert found[0][0].sum() > 0
    for slow, quick in zip(*found, strict=True):
        torch.testing.assert_close(quick, slow)


def test_choices_that_nothing_sees_are_told_without_gradient() -> None:
    law = SlotCounts(torch.zeros(4, 3), torch.zeros(4, 3, 6), 3, second_order, choices_seen=False)
    draw = law.draw(torch.rand(4, 3, generator=torch.Generator().manual_seed(0)))
    counts = torch.zeros(4, 7).scatter_add(-1, draw.auxiliary["slots"], torch.ones(4, 3))
    torch.testing.assert_close(draw.z, counts[..., :-1])


@pytest.mark.parametrize("n_units", [3, 7])
def test_no_code_has_more_units_than_slots_even_where_all_are_alike(n_units: int) -> None:
    law = SlotCounts(torch.tensor([8.0]), torch.zeros(1, n_units), 3)
    assert (law.margins > 0).sum() == 3
    assert law.likeliest_counts.sum() == 3


def test_seats_are_given_out_where_units_tie_and_none_where_there_are_none() -> None:
    assert SlotCounts(torch.tensor([5.0]), torch.zeros(1, 2), 5).likeliest_counts.tolist() == [3.0, 2.0]
    assert SlotCounts(torch.tensor([-3.0]), torch.zeros(1, 1), 4).likeliest_counts.tolist() == [0.0]


@pytest.mark.parametrize("n_laws", [1, 3])
@pytest.mark.parametrize("n_noise_rows", [1, 7])
def test_an_exact_draw_inverts_the_distribution_of_each_slot(n_laws: int, n_noise_rows: int) -> None:
    generator = torch.Generator().manual_seed(n_laws)
    law = SlotCounts(torch.randn(7, n_laws, generator=generator), 3 * torch.randn(7, n_laws, 5, generator=generator), 3)
    noise = torch.rand(n_noise_rows, 3, generator=generator)
    reached = law.log_choices.exp().expand(7, 3, -1).cumsum(-1)  # slot by slot, every class looked at
    expected = (reached < (noise[..., None] * reached[..., -1:])).sum(-1)
    draw = law.draw(noise)
    assert torch.equal(draw.auxiliary["slots"], expected)
    assert torch.equal(draw.z, torch.nn.functional.one_hot(expected, 6).sum(1)[:, :-1].float())
