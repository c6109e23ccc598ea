"""Walks from one example's code to another's: along a straight line, or one unit at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from fewhot.core.checks import one_of, whole_number
from fewhot.core.errors import InvalidParameterError
from fewhot.metrics.code_kinds import encoded
from fewhot.metrics.examples import decode, has_gates, map_code, says_texts, single
from fewhot.metrics.matrices import as_numbers

How = Literal["continuous", "discrete"]
HOW: tuple[How, ...] = ("continuous", "discrete")
_STEPS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """One unit switched on the way.

    Attributes
    ----------
    step
        The step that switches it, from 1; ``codes[step]`` is the first code after it.
    unit
        Its number.
    on
        Whether it is switched on; otherwise off.
    effect
        How far the decoder's mean moves when the unit alone is taken out of the example that has it; of a text, by how
        many nats it then becomes less likely.
    """

    step: int
    unit: int
    on: bool
    effect: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpolation:
    """A walk between two codes.

    Attributes
    ----------
    codes
        The codes on the way, (n_steps + 1, K); the first and the last are those of the two examples.
    decoded
        The decoder's mean of each, (n_steps + 1, p); of a model that says texts, the texts, (n_steps + 1,).
    switches
        Which unit was switched at which step, in order; empty along a straight line, where all change together.
    how
        "continuous" or "discrete".
    """

    codes: np.ndarray
    decoded: np.ndarray
    switches: tuple[Switch, ...]
    how: How

    @property
    def n_active(self) -> np.ndarray:
        """Number of units that are on in each code, (n_steps + 1,)."""
        return np.count_nonzero(self.codes, axis=1)


def interpolate(
    estimator: Any,
    x_from: Any,
    x_to: Any,
    n_steps: int | None = None,
    how: How = "continuous",
    *,
    scale: np.ndarray | float = 1.0,
) -> Interpolation:
    r"""Walk from the code of one example to that of another.

    With map codes a and b, and :math:`t = s / n` after s of n steps, ``"continuous"`` takes the straight line
    :math:`(1-t)\,a + t\,b`: every unit that either example uses is on between the two.

    ``"discrete"`` stays with sparse codes. Units on in both examples blend along the same line. Each of the others is
    switched once, in a step of its own: off from its value in a, or on to its value in b. Units to be switched off,
    and units to be switched on, are each ordered by their effect, largest first,

    .. math:: \Big\| \frac{f(z) - f(z_{j \to 0})}{\text{scale}} \Big\|_2, \qquad
        z \text{ the code of the example that has unit } j

    with f the decoder's mean; for texts it is how much less likely the example's own text is without the unit,
    :math:`\log p(x|z) - \log p(x|z_{j \to 0})`. The two lists are then merged evenly, with on first
    where both are due, so that the number of active units stays within one of the straight line between the two
    examples' numbers.

    Parameters
    ----------
    estimator
        A fitted estimator; a discrete walk needs one with gates.
    x_from, x_to
        Two examples, (p,) or (1, p), or two texts.
    n_steps
        Number of steps. None takes 8 along a straight line, and one a unit that differs in a discrete walk; more
        than that are spread evenly.
    how
        "continuous" or "discrete".
    scale
        Spread of each column, (p,) or a number, by which effects are compared.

    Examples
    --------
    >>> import fewhot as fh
    >>> X = np.random.default_rng(0).random((50, 4))
    >>> vae = fh.VAE(n_components=2, max_steps=5, random_state=0).fit(X)
    >>> walk = interpolate(vae, X[0], X[1], 3)
    >>> walk.codes.shape, walk.decoded.shape
    ((4, 2), (4, 4))
    """
    one_of("how", how, HOW)
    steps = None if n_steps is None else whole_number("n_steps", n_steps)
    spread = as_numbers(scale, "scale", "a column")
    a, b = map_code(estimator, x_from, "x_from"), map_code(estimator, x_to, "x_to")
    if how == "continuous":
        codes, switches = _blend(a, b, steps or _STEPS), ()
    else:
        if not has_gates(estimator):
            raise InvalidParameterError(
                f"how is 'discrete' and {type(estimator).__name__} has no gates, so no unit can be switched; "
                f"ask for 'continuous' or use a gated model."
            )
        of_a, of_b = (_Effects(estimator, code, x, spread) for code, x in ((a, x_from), (b, x_to)))
        codes, switches = _discrete(a, b, steps, of_a, of_b)
    return Interpolation(codes=codes, decoded=decode(estimator, codes), switches=switches, how=how)


def _blend(a: np.ndarray, b: np.ndarray, n_steps: int) -> np.ndarray:
    """Return the straight line from a to b; both ends are exact."""
    t = np.arange(n_steps + 1)[:, None] / n_steps
    return (1 - t) * a + t * b


def _discrete(
    a: np.ndarray, b: np.ndarray, n_steps: int | None, of_a: _Effects, of_b: _Effects
) -> tuple[np.ndarray, tuple[Switch, ...]]:
    off, on = np.flatnonzero((a != 0) & (b == 0)), np.flatnonzero((a == 0) & (b != 0))
    n_switched = len(off) + len(on)
    if n_steps is None:
        n_steps = max(n_switched, 1)
    if n_steps < n_switched:
        raise InvalidParameterError(
            f"n_steps is {n_steps} and {n_switched} units differ, of which a discrete walk switches one a step; "
            f"give at least {n_switched}, or None."
        )
    effects = {False: of_a(off), True: of_b(on)}
    switches = tuple(
        Switch(step=(place + 1) * n_steps // n_switched, unit=unit, on=is_on, effect=effects[is_on][unit])
        for place, (unit, is_on) in enumerate(_merged(effects[False], effects[True]))
    )
    codes = _blend(a, b, n_steps)
    for switch in switches:
        codes[: switch.step, switch.unit] = a[switch.unit]
        codes[switch.step :, switch.unit] = b[switch.unit]
    return codes, switches


class _Effects(NamedTuple):
    """How much units matter to one example, (K,) its code."""

    estimator: Any
    code: np.ndarray
    x: Any
    scale: np.ndarray

    def __call__(self, units: np.ndarray) -> dict[int, float]:
        """Return how far the decoder's mean moves without each of the units, or how much less likely its text gets."""
        if not len(units):
            return {}
        without = np.tile(self.code, (len(units), 1))
        without[np.arange(len(units)), units] = 0.0
        sizes = self._of_text(without) if says_texts(self.estimator) else self._of_mean(without)
        return dict(zip(units.tolist(), sizes.tolist(), strict=True))

    def _of_mean(self, without: np.ndarray) -> np.ndarray:
        moved = decode(self.estimator, without) - decode(self.estimator, self.code[None])
        if self.scale.shape not in ((), moved.shape[1:]):
            raise InvalidParameterError(
                f"scale has shape {self.scale.shape}; give a number, or one a column, {moved.shape[1:]}."
            )
        return np.linalg.norm(moved / self.scale, axis=1)

    def _of_text(self, without: np.ndarray) -> np.ndarray:
        ((batch, psi),) = encoded(self.estimator, single(self.estimator, self.x, "x"))
        codes = np.concatenate([self.code[None], without])
        z = torch.as_tensor(codes, dtype=torch.float32, device=next(iter(psi.values())).device)[:, None]  # (n, 1, K)
        with torch.no_grad():
            whole, *fewer = self.estimator.module_.decoder.generate(z).log_prob(batch.x)[:, 0].tolist()
        return whole - np.array(fewer)


def _merged(off: dict[int, float], on: dict[int, float]) -> list[tuple[int, bool]]:
    """Return (unit, switched on) of two lists merged evenly, each by its effects, largest first."""
    places: list[tuple[float, bool, int]] = []
    for is_on, effects in ((True, on), (False, off)):
        ordered = sorted(effects, key=lambda unit: -effects[unit])
        places += [((rank + 0.5) / len(ordered), not is_on, unit) for rank, unit in enumerate(ordered)]
    return [(unit, not is_off) for _, is_off, unit in sorted(places)]
