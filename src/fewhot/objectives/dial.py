"""The sparsity dial: constraints on how many units are on, held by dual ascent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from fewhot.core.checks import real_number, whole_number
from fewhot.core.records import Knobs, Params, Pass, Terms
from fewhot.core.registry import TERMS
from fewhot.distributions import SlotCounts, SpikeSlab
from fewhot.objectives.objective import Term

ALLOWED_MISS = 0.1
"""A relative miss of the number of active units up to which the target counts as reached."""
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
    l0: float  # pyright: ignore[reportIncompatibleVariableOverride]
    weighted = False  # the number of units is held by prices, and at the end by a shift: weights are chosen by the rest

    # Price, doubt price, target, then the prices of units, (3 + K,); the others say how each of them moves.
    levels: Tensor
    lowest: Tensor
    highest: Tensor
    rates: Tensor
    relative_rates: Tensor  # of the target, which moves in proportion to itself
    wanted: Tensor  # what is measured where a level is to stay
    least_measured: Tensor
    most_measured: Tensor
    forces: Tensor  # of an error, which acts at once on the prices
    least_forced: Tensor
    most_forced: Tensor
    nothing: Tensor  # what a constraint is worth to the bound

    def __init__(self, n_latent: int, l0: float, cap: float, freeze_at: int, begin: int = 0) -> None:
        super().__init__()
        self.n_latent = n_latent
        self.l0 = l0 = real_number("l0", l0, low=0, high=n_latent, open_low=True)  # pyright: ignore[reportIncompatibleVariableOverride]
        self.cap = cap = real_number("cap", cap, low=0, high=1, open_low=True)
        self.freeze_at = whole_number("freeze_at", freeze_at, least=0)
        self.begin = whole_number("begin", begin, least=0)
        self.settled_at = self.freeze_at
        self._parts = [1, 1, 1, n_latent]
        haste = max(1.0, _SHORT_RUN / max(freeze_at - begin, 1))
        least, most = (bound * l0 for bound in _TARGET_RANGE)
        doubt = _DOUBT_ALLOWED * l0
        by_level = {
            "levels": (0.0, 0.0, l0, 0.0),
            "lowest": (-math.inf, 0.0, least, 0.0),
            "highest": (math.inf, math.inf, most, math.inf),
            "rates": (haste * _PRICE_RATE, haste * _PRICE_RATE / l0, 0.0, haste * _UNIT_PRICE_RATE),
            "relative_rates": (0.0, 0.0, -haste * _TARGET_RATE / l0, 0.0),
            "wanted": (1.0, doubt, l0, cap),
            "least_measured": (0.0, doubt - l0, 0.0, -math.inf),
            "most_measured": (2.0, doubt + l0, 2 * l0, math.inf),
            "forces": (_FORCE, 0.0, 0.0, _FORCE / cap),
            "least_forced": (-1.0, 0.0, 0.0, 0.0),
            "most_forced": (1.0, 0.0, 0.0, _MOST_EXCESS * cap),
        }
        self.register_buffer("nothing", torch.zeros(()), persistent=False)
        for name, (price, doubt_price, target, unit_price) in by_level.items():
            values = torch.tensor([price, doubt_price, target, *[unit_price] * n_latent])
            self.register_buffer(name, values, persistent=name == "levels")

    @property
    def price(self) -> Tensor:
        r"""The price :math:`\lambda` of every unit that is on."""
        return self.levels[0]

    @property
    def doubt_price(self) -> Tensor:
        r"""The price :math:`\kappa` of doubt."""
        return self.levels[1]

    @property
    def target(self) -> Tensor:
        """The expected number t of units that is aimed at."""
        return self.levels[2]

    @property
    def unit_prices(self) -> Tensor:
        r"""The prices :math:`\nu_j` of single units, (K,)."""
        return self.levels[3:]

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        """Read levels that an older version saved one by one, too."""
        names = [f"{prefix}{name}" for name in ("price", "doubt_price", "target", "unit_prices")]
        if all(name in state_dict for name in names):
            state_dict[f"{prefix}levels"] = torch.cat([state_dict.pop(name).reshape(-1) for name in names])
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)  # pyright: ignore[reportUnknownMemberType]

    def forward(self, result: Pass, divergence: Params, knobs: Knobs) -> Terms:
        """Return the price of the gates that are on."""
        q = result.q
        assert isinstance(q, SpikeSlab | SlotCounts)
        log_off = q.log_absent_value.flatten(0, -2)  # (B, K)
        off = log_off.exp()
        on = 1 - off
        errors = self._errors(on.mean(0), q.n_active.mean())
        prices = torch.addcmul(self.levels, self.forces, errors.clamp(self.least_forced, self.most_forced))
        price, doubt_price, _, unit_prices = torch.split(prices / -len(log_off), self._parts)
        value, slope = _cost(log_off, off, on, price, doubt_price, unit_prices)
        cost = q.through_absence(value, slope)
        if "dial_weight" in knobs.values:
            cost = knobs.values["dial_weight"] * cost
        return Terms(self.nothing, cost, per_batch={"dial_cost": cost}, signals={"dial_errors": errors})

    def _errors(self, usage: Tensor, active: Tensor) -> Tensor:
        """Return by how much each level is off, from the share of rows that units serve, (K,), and the count of them.

        Measured are the expected number of units in parts of the target, by how much it exceeds the count, the count,
        and the shares.
        """
        expected, active = usage.sum(0, keepdim=True), active.unsqueeze(0)
        measured = torch.cat([expected / self.levels[2:3], expected - active, active, usage])
        return measured.clamp_(self.least_measured, self.most_measured).sub_(self.wanted)

    def admits(self, evaluation: Mapping[str, float]) -> bool:
        """Return whether the shift of all gates at the end of a fit brings them to within a tenth of the target.

        Weights already there would be too few: on small tables the ELBO peaks before the controller has brought the
        units on, and that of HSVAE on the birds table was 149 nats below its best. Weights that are shifted to the very
        target would be too few of `SDLGM`, whose gates are sure: on the same table 101 nats.
        """
        least, most = ((1 + sign * ALLOWED_MISS) * self.l0 for sign in (-1, 1))
        return evaluation["least_active"] <= most and evaluation["most_active"] >= least

    @torch.no_grad()
    def update(self, signals: Params, step: Tensor) -> None:
        """Move prices and target by what this batch measured, until they freeze."""
        moves = step < self.freeze_at
        if self.begin:
            moves = moves & (step >= self.begin)
        rates = torch.addcmul(self.rates, self.relative_rates, self.levels)
        self.levels.addcmul_(signals["dial_errors"], moves * rates).clamp_(self.lowest, self.highest)


def _cost(
    log_off: Tensor, off: Tensor, on: Tensor, price: Tensor, doubt_price: Tensor, unit_prices: Tensor
) -> tuple[Tensor, Tensor]:
    r"""Return what B rows pay for units that are on, and its derivative by their log-probabilities to be off.

    .. math:: \frac1B\sum_{ij} \big[(\lambda + \kappa(1-\gamma_{ij}))\,\gamma_{ij} - \nu_j \ell_{ij}\big],
        \qquad \ell_{ij} = \log(1 - \gamma_{ij})

    .. math:: \frac{\partial}{\partial \ell_{ij}}
        = -\frac1B\big[(\lambda + \kappa(1 - 2\gamma_{ij}))(1 - \gamma_{ij}) + \nu_j\big]

    for prices that stand still and are given divided by -B.
    """
    of_on = torch.addcmul(price, doubt_price, off)
    slope = torch.addcmul(unit_prices, torch.addcmul(of_on, doubt_price, on, value=-1), off)
    return torch.addcmul(unit_prices * log_off, of_on, on, value=-1).sum(), slope
