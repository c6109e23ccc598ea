"""Phases: a training step is an ordered list of (parameters, loss evaluated when reached, optimiser)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from fewhot.core.records import Batch, Draw, Knobs, Noise, ObservedRows, Params, Pass, Terms


class Refinable(Protocol):
    """What inference procedures need of a latent family."""

    @property
    def refinable(self) -> Sequence[str]:
        """The entries of psi that refinement may move."""
        ...

    def noise(self, n_rows: int, generator: torch.Generator) -> Noise:
        """Return the random numbers of one draw a row."""
        ...

    def parameters(self) -> Iterator[nn.Parameter]:
        """Return what maps features to psi."""
        ...

    def log_prob(self, q: Distribution, draw: Draw) -> Tensor:
        """Return log q of what was drawn, with its gradient."""
        ...


class Trainable(Protocol):
    """A part with parameters."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """Return everything that can be trained."""
        ...


class Decodes(Protocol):
    """A part that says how likely rows are given codes."""

    def likelihood(
        self, z: Tensor, batch: Batch, gate: Tensor | None = None, keys: Tensor | None = None
    ) -> ObservedRows:
        """Return p(x | z)."""
        ...


class Model(Protocol):
    """What inference procedures need of a model."""

    @property
    def latent(self) -> Refinable:
        """The latent family."""
        ...

    @property
    def encoder(self) -> Trainable:
        """What maps rows to features."""
        ...

    @property
    def decoder(self) -> Decodes:
        """What maps codes to rows."""
        ...

    def parameters(self) -> Iterator[nn.Parameter]:
        """Return everything that can be trained."""
        ...

    def noise(self, n_rows: int, generator: torch.Generator) -> Noise:
        """Return the random numbers of one pass."""
        ...

    def observe(self, batch: Batch, noise: Noise) -> Batch:
        """Return the rows that the bound is about."""
        ...

    def psi(self, batch: Batch, noise: Noise | None = None) -> Params:
        """Return the amortised local parameters; with noise, as in training."""
        ...

    def run(self, psi: Params, batch: Batch, knobs: Knobs, noise: Noise) -> Pass:
        """Return the pass from local parameters to the likelihood."""
        ...

    def bound(self, result: Pass) -> Tensor:
        """Return the unweighted bound of each row."""
        ...

    def log_weight(self, result: Pass) -> Tensor:
        """Return log p(x, z) - log q(z | x) of each row."""
        ...

    def objective_of_rows(self, result: Pass, knobs: Knobs) -> Tensor:
        """Return what training is after in each row, without constraints and what is about whole batches."""
        ...

    def terms(self, result: Pass, knobs: Knobs) -> Terms:
        """Return the training objective, taken apart."""
        ...

    def posterior(self, psi: Params, knobs: Knobs) -> Distribution:
        """Return q(z | psi)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimiserSpec:
    """Adam, or its AMSGrad variant, with a rate of its own relative to the run's learning rate.

    ``weight_decay`` adds its multiple of the weights to the gradients; ``decoupled_weight_decay`` takes it, times the
    rate, from the weights themselves, beside what Adam makes of the gradients (Loshchilov and Hutter, 2019).
    """

    relative_rate: float = 1.0
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.0
    decoupled_weight_decay: bool = False
    amsgrad: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One part of a step. ``loss(batch, knobs, noise, memo)`` may leave tensors in ``memo`` for later phases.

    Controllers read the signals of the phases that say ``controls``.
    """

    name: str
    parameters: Sequence[nn.Parameter]
    loss: Callable[[Batch, Knobs, Noise, Params], Terms]
    noise: Callable[[int, torch.Generator], Noise]
    optimiser: OptimiserSpec = field(default_factory=OptimiserSpec)
    controls: bool = True


def with_draws(model: Model, n_draws: int, n_rows: int, generator: torch.Generator) -> Noise:
    """Return the noise of a pass with several draws of each row's code, (S, B, ...); one draw has no S."""
    noise = model.noise(n_rows, generator)
    if n_draws == 1:
        return noise
    drawn = model.latent.noise(n_draws * n_rows, generator)
    return {**noise, **{name: value.unflatten(0, (n_draws, n_rows)) for name, value in drawn.items()}}
