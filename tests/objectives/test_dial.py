"""The sparsity dial: prices that move the right way, and stop in time."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import Batch, Dense, Draw, Knobs, Pass, Terms
from fewhot.distributions import SlotCounts, SpikeSlab
from fewhot.objectives import Dial
from fewhot.objectives import dial as module

N_UNITS, N_ROWS = 10, 8
EXACT = Knobs()
STATE = ("price", "unit_prices", "doubt_price", "target")


def dial(l0: float = 2.0, cap: float = 0.4, freeze_at: int = 4000, begin: int = 0) -> Dial:
    return Dial(N_UNITS, l0, cap, freeze_at, begin)


def state(term: Dial) -> list[Tensor]:
    return [getattr(term, name).clone() for name in STATE]


def measure(term: Dial, probs: Tensor, knobs: Knobs = EXACT) -> Terms:
    logits = probs.logit()
    q = SpikeSlab(logits, torch.zeros_like(logits), torch.ones_like(logits))
    return term(Pass(Batch(Dense(probs)), {}, q, q, Draw(q.loc), None), {}, knobs)


def gates(*on: int, sure: float = 0.999) -> Tensor:
    """Return on-probabilities with given units on in every row."""
    probs = torch.full((N_ROWS, N_UNITS), 1 - sure)
    probs[:, list(on)] = sure
    return probs


def spread(n_on: int, sure: float = 0.999) -> Tensor:
    """Return on-probabilities with ``n_on`` units on a row, a different set each row."""
    probs = torch.full((N_ROWS, N_UNITS), 1 - sure)
    for row in range(N_ROWS):
        probs[row, [(row * n_on + i) % N_UNITS for i in range(n_on)]] = sure
    return probs


def after(term: Dial, probs: Tensor, n_steps: int = 1, start: int = 0) -> Dial:
    for step in range(start, start + n_steps):
        term.update(measure(term, probs).signals, torch.tensor(step))
    return term


def with_error_of_the_price(terms: Terms, error: float) -> dict[str, Tensor]:
    errors = terms.signals["dial_errors"].clone()
    errors[0] = error
    return {"dial_errors": errors}


def test_the_price_rises_while_too_many_units_are_on() -> None:
    assert after(dial(l0=2), spread(5), n_steps=10).price > 0


def test_the_price_adds_up_a_constant_error() -> None:
    term, prices = dial(l0=2), [0.0]
    signals = with_error_of_the_price(measure(term, spread(5)), 0.5)
    for step in range(5):
        term.update(signals, torch.tensor(step))
        prices.append(term.price.item())
    rises = torch.tensor(prices).diff()
    torch.testing.assert_close(rises, torch.full((5,), 0.5 * module._PRICE_RATE))
    assert (rises > 0).all()


def test_a_price_stays_where_it_is_once_the_error_is_gone() -> None:
    term = after(dial(l0=2), spread(5), n_steps=50)
    risen = term.price.item()
    signals = with_error_of_the_price(measure(term, spread(2)), 0.0)
    for step in range(50, 100):
        term.update(signals, torch.tensor(step))
    assert term.price.item() == risen > 0


def test_the_price_falls_while_too_few_units_are_on() -> None:
    assert after(dial(l0=5), spread(2), n_steps=10).price < 0


def test_a_code_on_target_leaves_every_price_and_the_target_alone() -> None:
    term = dial(l0=3, cap=0.5)
    before = state(term)
    after(term, spread(3, sure=1 - 1e-7), n_steps=20)
    for then, now in zip(before, state(term), strict=True):
        torch.testing.assert_close(then, now, rtol=0, atol=1e-5)


def test_a_unit_that_serves_too_many_rows_gets_a_price_of_its_own() -> None:
    prices = after(dial(l0=2, cap=0.4), gates(3, 7), n_steps=5).unit_prices
    assert (prices > 0).nonzero().flatten().tolist() == [3, 7]


def test_unit_prices_go_back_to_zero_and_no_further() -> None:
    term = after(dial(cap=0.4), gates(3), n_steps=5)
    after(term, gates(), n_steps=200)
    assert torch.equal(term.unit_prices, torch.zeros(N_UNITS))


def test_doubt_is_priced_while_many_units_are_a_little_on() -> None:
    undecided = torch.full((N_ROWS, N_UNITS), 0.2)  # two units expected, none counted
    assert after(dial(l0=2), undecided, n_steps=5).doubt_price > 0
    assert after(dial(l0=2), spread(2), n_steps=5).doubt_price == 0


def test_the_target_makes_up_for_units_that_are_missing_from_the_count() -> None:
    assert after(dial(l0=2), torch.full((N_ROWS, N_UNITS), 0.2), n_steps=5).target > 2
    assert after(dial(l0=2), torch.full((N_ROWS, N_UNITS), 0.51), n_steps=5).target < 2


@pytest.mark.parametrize(("probs", "end"), [(0.2, 1), (0.51, 0)])
def test_the_target_stays_near_what_was_asked(probs: float, end: int) -> None:
    term = after(dial(l0=2, freeze_at=400), torch.full((N_ROWS, N_UNITS), probs), n_steps=400)
    assert term.target.item() == pytest.approx(2 * module._TARGET_RANGE[end])


def test_everything_stops_exactly_at_freeze_at() -> None:
    term, probs = dial(l0=2, freeze_at=5), spread(5, sure=0.9)
    assert term.settled_at == 5
    for step in range(8):
        before = state(term)
        after(term, probs, start=step)
        moved = [not torch.equal(then, now) for then, now in zip(before, state(term), strict=True)]
        assert any(moved) == (step < 5)


def test_a_dial_frozen_from_the_start_never_moves() -> None:
    term = dial(freeze_at=0)
    before = state(term)
    after(term, spread(9), n_steps=3)
    assert all(torch.equal(then, now) for then, now in zip(before, state(term), strict=True))


def test_short_runs_move_their_prices_faster_in_proportion() -> None:
    slow, fast = (after(dial(freeze_at=steps), spread(5)).price.item() for steps in (4000, 400))
    assert fast == pytest.approx(10 * slow)


def test_everything_is_a_tensor_and_updates_stay_in_place() -> None:
    term = dial()
    places = [getattr(term, name).data_ptr() for name in STATE]
    terms = measure(term, spread(5))
    assert all(isinstance(value, Tensor) and not value.requires_grad for value in terms.signals.values())
    after(term, spread(5))
    assert [getattr(term, name).data_ptr() for name in STATE] == places
    assert set(term.state_dict()) == {"levels"}


def test_levels_that_were_saved_one_by_one_are_read() -> None:
    known = after(dial(l0=2), spread(5), n_steps=10)
    loaded = dial(l0=2)
    loaded.load_state_dict({name: getattr(known, name).clone() for name in STATE})
    assert torch.equal(loaded.levels, known.levels)
    assert not torch.equal(loaded.levels, dial(l0=2).levels)


def test_the_constraint_is_no_part_of_the_bound() -> None:
    assert measure(dial(), spread(5)).bound == 0


def test_the_cost_is_the_formula() -> None:
    term, on = dial(l0=2), spread(3, sure=0.9)
    term.price.fill_(0.7)
    term.unit_prices.copy_(torch.linspace(0, 1, N_UNITS))
    term.doubt_price.fill_(0.3)
    usage = on.mean(0)
    error = min(1.0, float(usage.sum() - 2) / 2)
    crowding = torch.nn.functional.softplus(on.logit()).mean(0)
    expected = (0.7 + module._FORCE * error) * usage.sum() + (term.unit_prices * crowding).sum()
    expected = expected + 0.3 * (on * (1 - on)).mean(0).sum()
    torch.testing.assert_close(measure(term, on).loss, expected)


@pytest.mark.parametrize(("n_on", "sign"), [(6, 1), (1, -1)])
def test_the_force_pushes_gates_towards_the_target(n_on: int, sign: int) -> None:
    logits = spread(n_on).logit().requires_grad_()
    q = SpikeSlab(logits, torch.zeros_like(logits), torch.ones_like(logits))
    dial(l0=3)(Pass(Batch(Dense(logits)), {}, q, q, Draw(q.loc), None), {}, Knobs()).loss.backward()
    assert (sign * logits.grad > 0).all()


def test_the_price_of_a_unit_presses_even_where_it_is_always_on() -> None:
    term = dial(l0=2, cap=1.0)
    term.unit_prices[3] = 1.0
    logits = torch.full((N_ROWS, N_UNITS), -5.0)
    logits[:, [3, 4]] = 14.0
    logits.requires_grad_()
    q = SpikeSlab(logits, torch.zeros_like(logits), torch.ones_like(logits))
    term(Pass(Batch(Dense(logits)), {}, q, q, Draw(q.loc), None), {}, Knobs()).loss.backward()
    torch.testing.assert_close(logits.grad[:, 3], torch.full((N_ROWS,), 1 / N_ROWS))
    assert logits.grad[:, 4].abs().max() < 1e-4


def test_the_dial_holds_a_planted_problem_at_its_target() -> None:
    """Each gate gains the same from being on: only the price decides how many are."""
    term = dial(l0=3, cap=0.9, freeze_at=600)
    logits = torch.zeros(N_ROWS, N_UNITS, requires_grad=True)
    value = torch.rand(N_ROWS, N_UNITS, generator=torch.Generator().manual_seed(0)) + 0.5
    optimiser = torch.optim.Adam([logits], lr=0.1)
    for step in range(600):
        probs = logits.sigmoid()
        q = SpikeSlab(logits, torch.zeros_like(logits), torch.ones_like(logits))
        terms = term(Pass(Batch(Dense(probs)), {}, q, q, Draw(q.loc), None), {}, Knobs())
        loss = terms.loss - (value * probs).sum(-1).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        term.update(terms.signals, torch.tensor(step))
    active = (logits > 0).float().sum(-1).mean().item()
    assert active == pytest.approx(3.0, abs=0.4)
    assert term.price > 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((10, 0, 0.4, 5), "l0 is 0"),
        ((10, 11, 0.4, 5), "l0 is 11"),
        ((10, 2, 0, 5), "cap is 0"),
        ((10, 2, 0.4, -1), "freeze_at"),
    ],
)
def test_wrong_arguments_are_named(arguments: tuple, sentence: str) -> None:
    with pytest.raises(InvalidParameterError, match=sentence):
        Dial(*arguments)


def test_a_unit_that_serves_too_many_rows_pays_at_once_even_after_the_freeze() -> None:
    term = dial(l0=2, cap=0.4, freeze_at=0)
    logits = gates(0, 1).logit().requires_grad_()
    measure(term, logits.sigmoid()).loss.backward()
    others = spread(2).logit().requires_grad_()
    measure(term, others.sigmoid()).loss.backward()
    assert logits.grad is not None
    assert others.grad is not None
    assert (logits.grad[:, :2] > 0.1 / N_ROWS).all()
    assert others.grad.abs().max() < 0.01 / N_ROWS


def test_nothing_moves_before_the_dial_begins() -> None:
    term = after(dial(begin=100), spread(5), n_steps=100)
    assert all(map(torch.equal, state(term), state(dial())))
    assert after(term, spread(5), start=100).price > 0


def test_a_dial_that_begins_late_has_as_much_time_as_it_needs() -> None:
    """4,000 steps are needed: with half of them, prices move twice as fast."""
    early, late = (after(dial(begin=begin), spread(5), start=2000) for begin in (0, 2000))
    torch.testing.assert_close(late.price, 2 * early.price)


def test_a_weight_scales_the_cost_and_its_gradient() -> None:
    probs = {weight: spread(5).requires_grad_() for weight in (1.0, 0.25, 0.0)}
    costs = {}
    for weight, on in probs.items():
        costs[weight] = measure(dial(), on, Knobs({"dial_weight": torch.tensor(weight)})).loss
        costs[weight].backward()
    assert costs[1.0] == measure(dial(), spread(5)).loss > 0
    for weight in (0.25, 0.0):
        torch.testing.assert_close(costs[weight], weight * costs[1.0])
        torch.testing.assert_close(probs[weight].grad, weight * probs[1.0].grad)


def slow_cost(term: Dial, log_off: Tensor) -> Tensor:
    """Return the cost as the docstring has it, differentiated as it is written."""
    on, pressure = -torch.expm1(log_off), -log_off
    usage = on.mean(0)
    error = ((usage.sum().detach() - term.target) / term.target).clamp(-1, 1)
    excess = ((usage.detach() - term.cap) / term.cap).clamp(0, module._MOST_EXCESS)
    doubt = (on * (1 - on)).sum(-1).mean()
    of_units = ((term.unit_prices + module._FORCE * excess) * pressure.mean(0)).sum()
    return (term.price + module._FORCE * error) * usage.sum() + of_units + term.doubt_price * doubt


def random_law(kind: str) -> tuple[SpikeSlab | SlotCounts, list[Tensor]]:
    """Return a law of several draws of every row in double precision, and the logits it hangs on."""
    generator = torch.Generator().manual_seed(0)
    n_laws = {"slab": 0, "shared": 1, "independent": 4}[kind]
    shapes = [(3, N_ROWS, n_laws), (3, N_ROWS, n_laws, N_UNITS)] if n_laws else [(3, N_ROWS, N_UNITS)]
    leaves = [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]
    if n_laws:
        return SlotCounts(*leaves, 4), leaves
    return SpikeSlab(*leaves, torch.zeros_like(leaves[0]), torch.ones_like(leaves[0])), leaves


@pytest.mark.parametrize(("weight", "cap"), [(None, 0.2), (0.25, 0.2), (None, 0.02)])
@pytest.mark.parametrize("kind", ["slab", "shared", "independent"])
def test_the_cost_and_its_gradient_are_those_of_the_formula(kind: str, weight: float | None, cap: float) -> None:
    term, (q, leaves) = dial(l0=2, cap=cap).double(), random_law(kind)
    term.price.fill_(0.7)
    term.unit_prices.copy_(torch.linspace(0, 1, N_UNITS))
    term.doubt_price.fill_(0.3)
    knobs = Knobs({} if weight is None else {"dial_weight": torch.tensor(weight)})
    quick = term(Pass(Batch(Dense(leaves[0])), {}, q, q, Draw(leaves[0]), None), {}, knobs)
    slow = (1.0 if weight is None else weight) * slow_cost(term, q.log_absent.flatten(0, -2))
    torch.testing.assert_close(quick.loss, slow)
    by_quick, by_slow = (torch.autograd.grad(cost, leaves, retain_graph=True) for cost in (quick.loss, slow))
    for one, other in zip(by_quick, by_slow, strict=True):
        torch.testing.assert_close(one, other)


LEVELS = torch.tensor([0.7, 0.3, 2.2, *torch.linspace(1, 2, N_UNITS)], dtype=torch.float64)
"""All away from their bounds."""


def slow_moves(term: Dial, q: SpikeSlab | SlotCounts, haste: float) -> Tensor:
    """Return where the levels go, in the slow and obvious form."""
    l0, on = term.l0, 1 - q.log_absent.detach().flatten(0, -2).exp()
    active = (q.margins > 0).double().sum(-1).mean()
    expected, usage = on.sum(-1).mean(), on.mean(0)
    doubtful = (expected - active - module._DOUBT_ALLOWED * l0).clamp(-l0, l0)
    moved = [
        term.price + haste * module._PRICE_RATE * (expected / term.target - 1).clamp(-1, 1),
        term.doubt_price + haste * module._PRICE_RATE / l0 * doubtful,
        term.target * (1 + haste * module._TARGET_RATE / l0 * (l0 - active).clamp(-l0, l0)),
        *(term.unit_prices + haste * module._UNIT_PRICE_RATE * (usage - term.cap)),
    ]
    return torch.stack(moved)


@pytest.mark.parametrize(("freeze_at", "haste"), [(4000, 1.0), (1000, 4.0)])
@pytest.mark.parametrize("kind", ["slab", "shared", "independent"])
def test_levels_move_by_what_is_measured_and_faster_in_short_runs(kind: str, freeze_at: int, haste: float) -> None:
    term, (q, leaves) = dial(l0=2, cap=0.2, freeze_at=freeze_at).double(), random_law(kind)
    term.levels.copy_(LEVELS)
    moved = slow_moves(term, q, haste)
    terms = term(Pass(Batch(Dense(leaves[0])), {}, q, q, Draw(leaves[0]), None), {}, EXACT)
    term.update(terms.signals, torch.tensor(0))
    torch.testing.assert_close(term.levels, moved, rtol=1e-6, atol=0)


@pytest.mark.parametrize("probs", [0.49, 0.51, 0.99], ids=["many-in-doubt", "all-counted", "far-too-many"])
def test_no_single_batch_moves_a_level_far(probs: float) -> None:
    """With l0 = 1 of 10 units, every error is beyond what a batch may say."""
    term = dial(l0=1, cap=0.2).double()
    term.levels.copy_(LEVELS)
    term.target.fill_(1.2)
    logits = torch.full((N_ROWS, N_UNITS), probs, dtype=torch.float64).logit()
    q = SpikeSlab(logits, torch.zeros_like(logits), torch.ones_like(logits))
    moved = slow_moves(term, q, 1.0)
    terms = term(Pass(Batch(Dense(logits)), {}, q, q, Draw(q.loc), None), {}, EXACT)
    term.update(terms.signals, torch.tensor(0))
    torch.testing.assert_close(term.levels, moved, rtol=1e-6, atol=0)
