"""The training step: phases in order, on tensors alone, so that it can be compiled and captured."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from fewhot.core.devices import matrix_precision
from fewhot.core.records import Batch, Knobs, Noise, Params
from fewhot.inference.phases import Phase
from fewhot.models.latent_model import LatentModel
from fewhot.training.adam import adam
from fewhot.training.branches import side_by_side
from fewhot.training.compiling import compiled
from fewhot.training.meter import Halt, Meter, scalars
from fewhot.training.settings import Settings

PhaseLoss = Callable[[Batch, Tensor, Noise, Params], tuple[Tensor, Params, Params]]
Bookkeeping = Callable[[int, Params, Tensor, Params], None]
Control = Callable[[Params], None]
Reduce = Callable[[list[Tensor]], None]

_NORM_MEMORY = 0.98
_SMALLEST_NORM = 1e-30
_FLUSH_EVERY = 256


class TrainStep:
    """Everything a step reads or changes is here, registered and saved: model, optimisers, knobs, noise, meters.

    A step reads nothing on the host and branches on no tensor's value. A value that is not finite stops all later
    updates (Adam skips them on the device) until the host looks. Losses, bookkeeping and control are functions of
    tensors, so that `compile` can fuse each of them.
    """

    def __init__(
        self,
        model: LatentModel,
        settings: Settings,
        noise: torch.Generator,
        *,
        reduce_gradients: Reduce | None = None,
    ) -> None:
        device = noise.device
        self.model = model
        self.settings = settings
        self.device = device
        self.noise = noise
        self.stages = [model.inference.phases(model, stage) for stage in range(model.inference.n_stages)]
        self.phases = self.stages[0]  # names, parameters and optimisers are those of every stage
        self.step = torch.zeros((), dtype=torch.int64, device=device)
        self.halt = Halt(device)
        self.meters = [Meter(self.halt, f"{p.name}/" if len(self.phases) > 1 else "") for p in self.phases]
        self.rates = [torch.zeros((), device=device) for _ in self.phases]
        self.norms = [torch.zeros((), device=device) for _ in self.phases]  # running means; 0 before the first
        self.scales = [torch.ones((), device=device) for _ in self.phases]
        own = own_rates(model, settings.learning_rate)
        self.optimisers = [
            adam(phase.parameters, own, phase.optimiser, rate=rate, scale=scale, halted=self.halt.raised)
            for phase, rate, scale in zip(self.phases, self.rates, self.scales, strict=True)
        ]
        self._reduce = reduce_gradients
        self._aside = torch.cuda.Stream(device) if device.type == "cuda" else None
        self._controlled = model.objective.controlled
        saved = model.objective.state_dict(keep_vars=True).values()
        self._levels = [state for state in saved if not isinstance(state, nn.Parameter)]  # that controllers move
        self.losses: list[list[PhaseLoss]] = []
        self.bookkeeping = self._bookkeeping()
        self.control = self._control()
        self.forget_compiled()

    def __call__(self, batch: Batch, stage: int = 0) -> None:
        """Take one step on a batch, with the losses of this stage."""
        memo: Params = {}
        for i, phase in enumerate(self.stages[stage]):
            with matrix_precision(self.settings.precision, self.device):
                noise = phase.noise(batch.x.n_rows, self.noise)
                loss, measured, signals = self.losses[stage][i](batch, self.step, noise, memo)
                self.optimisers[i].zero_grad()
                loss.backward(inputs=list(phase.parameters))
            gradients = [p.grad for p in phase.parameters if p.grad is not None]
            if self._reduce is not None:
                self._reduce(gradients)
            self.meters[i].name_terms(measured)
            self.bookkeeping(i, measured, torch.nn.utils.get_total_norm(gradients), signals)
            if phase.controls and self._controlled:
                side_by_side(partial(self.control, signals), self.optimisers[i].step, self._aside)
            else:
                self.optimisers[i].step()
        self.step += 1

    def keep_quick(self, done: int) -> None:
        """Do what a CPU needs now and then, at steps that depend on the count alone."""
        if self.device.type == "cpu" and done % _FLUSH_EVERY == 0:
            for optimiser in self.optimisers:
                optimiser.flush_tiny()

    def compile(self, **options: Any) -> None:
        """Compile the losses, the bookkeeping, the control and the updates; ``options`` are those of `compiled`."""
        self.losses = [[compiled(loss, **options) for loss in losses] for losses in self.losses]
        self.bookkeeping = compiled(self.bookkeeping, **options)
        self.control = compiled(self.control, **options)
        for optimiser in self.optimisers:
            optimiser.compile(**options)

    def forget_compiled(self) -> None:
        """Go back to the functions as they are written."""
        self.losses = [[self._loss(phase) for phase in phases] for phases in self.stages]
        self.bookkeeping = self._bookkeeping()
        self.control = self._control()
        for optimiser in self.optimisers:
            optimiser.forget_compiled()

    def _loss(self, phase: Phase) -> PhaseLoss:
        def loss(batch: Batch, step: Tensor, noise: Noise, memo: Params) -> tuple[Tensor, Params, Params]:
            knobs = self.model.knobs(step)
            terms = phase.loss(batch, knobs, noise, memo)
            return terms.loss, scalars(terms), {**terms.signals, **_rate_of(knobs)}

        return loss

    def _bookkeeping(self) -> Bookkeeping:
        def bookkeep(i: int, measured: Params, norm: Tensor, signals: Params) -> None:
            with torch.no_grad():
                self._bookkeep(i, measured, norm, signals)

        return bookkeep

    def _bookkeep(self, i: int, measured: Params, norm: Tensor, signals: Params) -> None:
        """Meter the terms, bound the gradient by a multiple of its running norm, set the rate."""
        self.meters[i].add(measured, norm, self.step)
        mean = torch.where(self.norms[i] > 0, self.norms[i], norm)
        limit = (self.settings.clip_factor * mean).clamp(min=_SMALLEST_NORM)
        self.scales[i].copy_((norm / limit).clamp(min=1.0))
        self.norms[i].copy_(torch.lerp(mean, torch.minimum(norm, limit), 1 - _NORM_MEMORY))
        rate = self.settings.learning_rate * self.phases[i].optimiser.relative_rate
        self.rates[i].fill_(rate).mul_(signals.get("learning_rate", 1.0))

    def _control(self) -> Control:
        def control(signals: Params) -> None:
            """Let controllers see what this step measured; after a non-finite value they stand still like weights."""
            with torch.no_grad():
                before = [level.clone() for level in self._levels]
                self.model.objective.update(signals, self.step)
                alive = self.halt.raised == 0
                for level, last in zip(self._levels, before, strict=True):
                    torch.where(alive, level, last, out=level)

        return control

    def state(self) -> dict[str, Tensor]:
        """Return every tensor a resumed run needs, by name."""
        tensors = {"step": self.step, "noise": self.noise.get_state()}
        for i, meter in enumerate(self.meters):
            tensors |= {f"meter/{i}/total": meter.total, f"meter/{i}/count": meter.count}
        tensors |= {f"norm/{i}": norm for i, norm in enumerate(self.norms)}
        for i, optimiser in enumerate(self.optimisers):
            tensors |= {f"optimiser/{i}/{name}": value for name, value in optimiser.state().items()}
        return tensors

    def load(self, tensors: dict[str, Tensor], meter_names: list[list[str]]) -> None:
        """Take a checkpoint's tensors back, exactly."""
        self.step.copy_(tensors["step"])
        self.noise.set_state(tensors["noise"].cpu())
        for i, (meter, names) in enumerate(zip(self.meters, meter_names, strict=True)):
            meter.load(tensors[f"meter/{i}/total"], tensors[f"meter/{i}/count"], names)
        for i, norm in enumerate(self.norms):
            norm.copy_(tensors[f"norm/{i}"])
        for i, optimiser in enumerate(self.optimisers):
            prefix = f"optimiser/{i}/"
            optimiser.load({k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)})


def own_rates(model: nn.Module, learning_rate: float) -> dict[int, float]:
    """Return the rates of parts that have their own, relative to the run's, by the ids of their parameters."""
    rates = ((part, getattr(part, "learning_rate", None)) for part in model.modules())
    return {id(p): rate / learning_rate for part, rate in rates if rate is not None for p in part.parameters()}


def _rate_of(knobs: Knobs) -> Params:
    return {name: value for name, value in knobs.values.items() if name == "learning_rate"}
