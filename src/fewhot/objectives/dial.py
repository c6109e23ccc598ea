"""The sparsity dial: constraints on how many units are on, held by dual ascent."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from fewhot.core.checks import real_number, whole_number
from fewhot.core.records import Knobs, Params, Pass, Terms
from fewhot.core.registry import TERMS
from fewhot.distributions import SlotCounts, SpikeSlab
from fewhot.objectives.objective import Term

_FORCE = 2.0  # nats a unit at 100 % error
_MOST_EXCESS = 2.0
_PRICE_RATE = 3e-3
_UNIT_PRICE_RATE = 2e-2
_TARGET_RATE = 2e-3
_TARGET_RANGE = (0.8, 1.5)  # times l0
_DOUBT_ALLOWED = 0.05
_SHORT_RUN = 4000  # shorter runs move their prices faster in proportion


@TERMS.register("dial")
class Dial(Term):
    r"""Hold the mean number of active units at ``l0``, and the share of rows that any one unit serves below ``cap``.

    .. math:: (\lambda + \rho\,e) \sum_j \bar\gamma_j + \sum_j (\nu_j + \rho\,e_j)\,\overline{\zeta(\ell_j)}
        + \kappa \sum_j \overline{\gamma_j(1-\gamma_j)},\qquad e = \Big(\sum_j \bar\gamma_j - t\Big) / t

    with bars for batch means of unit j's on-probability: an augmented Lagrangian whose prices move every step.

    - :math:`\lambda` integrates the relative error :math:`e` of the expected number of units; :math:`\rho e` acts at
      once.
    - :math:`\nu_j \ge 0` rises while unit j serves more than ``cap``, and :math:`e_j`, by what share it does, acts at
      once, after the freeze too. Both press on the softplus :math:`\zeta` of the logit, not on the probability, whose
      gradient is gone where a unit is always on.
    - :math:`\kappa \ge 0`, the price of doubt, rises while the expected number exceeds the *count* of units with
      on-probability above one half, which is what `transform` returns: many units that are each on with a small
      probability cost the bound nothing and would make the two differ several-fold.
    - The target :math:`t` takes up the small difference that remains.

    Prices and target stop at ``freeze_at``, so that the last steps train one fixed objective. Before ``begin`` they
    stay, too; the knob ``dial_weight``, 1 where no schedule moves it, scales the whole. The constraints are no part of
    the bound.

    Parameters
    ----------
    n_latent
        Number of units.
    l0
        Mean number of active units asked for.
    cap
        Largest share of rows one unit may serve.
    freeze_at
        The step from which prices and target stay.
    begin
        The step before which they have not moved.
    """

    constraint = True
    weighted = False  # the number of units is held by prices, and at the end by a shift: weights are chosen by the rest

    price: Tensor
    unit_prices: Tensor
    doubt_price: Tensor
    target: Tensor

    def __init__(self, n_latent: int, l0: float, cap: float, freeze_at: int, begin: int = 0) -> None:
        super().__init__()
        self.n_latent = n_latent
        self.l0 = real_number("l0", l0, low=0, high=n_latent, open_low=True)
        self.cap = real_number("cap", cap, low=0, high=1, open_low=True)
        self.freeze_at = whole_number("freeze_at", freeze_at, least=0)
        self.begin = whole_number("begin", begin, least=0)
        self.settled_at = self.freeze_at
        self._haste = max(1.0, _SHORT_RUN / max(freeze_at - begin, 1))
        self.register_buffer("price", torch.zeros(()))
        self.register_buffer("unit_prices", torch.zeros(n_latent))
        self.register_buffer("doubt_price", torch.zeros(()))
        self.register_buffer("target", torch.full((), float(l0)))

    def forward(self, result: Pass, divergence: Params, knobs: Knobs) -> Terms:
        """Return the price of the gates that are on."""
        assert isinstance(result.q, SpikeSlab | SlotCounts)
        on, pressure = _on_and_pressure(result.q)  # (B, K)
        usage = on.mean(0)  # (K,)
        total = usage.sum()
        expected = total.detach()
        error = ((expected - self.target) / self.target).clamp(-1.0, 1.0)
        crowding = pressure.mean(0)  # (K,)
        doubt = (on * (1 - on)).sum(-1).mean()
        price = self.price + _FORCE * error
        excess = ((usage.detach() - self.cap) / self.cap).clamp(0.0, _MOST_EXCESS)  # (K,)
        unit_prices = self.unit_prices + _FORCE * excess
        cost = price * total + torch.dot(unit_prices, crowding) + self.doubt_price * doubt
        cost = knobs.get("dial_weight", 1.0) * cost
        signals = {
            "dial_error": error,
            "dial_expected": expected,
            "dial_active": (result.q.margins.detach() > 0).float().sum(-1).mean(),
            "dial_usage": usage.detach(),
        }
        return Terms(usage.new_zeros(()), cost, per_batch={"dial_cost": cost.detach()}, signals=signals)

    @torch.no_grad()
    def update(self, signals: Params, step: Tensor) -> None:
        """Move prices and target by what this batch measured, until they freeze."""
        rate = self._haste * ((step >= self.begin) & (step < self.freeze_at))  # 0 before, and once frozen
        active = signals["dial_active"]
        doubtful = ((signals["dial_expected"] - active) / self.l0 - _DOUBT_ALLOWED).clamp(-1.0, 1.0)
        missing = ((self.l0 - active) / self.l0).clamp(-1.0, 1.0)
        of_prices = rate * _PRICE_RATE
        self.price.addcmul_(of_prices, signals["dial_error"])
        self.doubt_price.addcmul_(of_prices, doubtful).clamp_(min=0)
        self.unit_prices.addcmul_(rate * _UNIT_PRICE_RATE, signals["dial_usage"] - self.cap).clamp_(min=0)
        low, high = _TARGET_RANGE
        self.target.mul_(1 + rate * _TARGET_RATE * missing).clamp_(low * self.l0, high * self.l0)


def _on_and_pressure(q: SpikeSlab | SlotCounts) -> tuple[Tensor, Tensor]:
    """Return the on-probability of every unit of every row, and the softplus of its logit: minus log P(off)."""
    if isinstance(q, SlotCounts):
        log_absent = q.log_absent.flatten(0, -2)
        return -torch.expm1(log_absent), -log_absent
    return q.probs.flatten(0, -2), F.softplus(q.logits).flatten(0, -2)
