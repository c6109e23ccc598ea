"""The training step: phases in order, on tensors alone, so that it can be compiled and captured."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from fewhot.core.devices import matrix_precision
from fewhot.core.records import Batch, Knobs, Noise, Params
from fewhot.inference.phases import Phase
from fewhot.models.latent_model import LatentModel
from fewhot.training.meter import Halt, Meter, scalars
from fewhot.training.settings import Settings

PhaseLoss = Callable[[Batch, Knobs, Noise, Params], tuple[Tensor, Params, Params]]
Reduce = Callable[[list[Tensor]], None]

_NORM_MEMORY = 0.98
_NORM_BURN_IN = 50


class TrainStep:
    """Everything a step reads or changes is here, registered and saved: model, optimisers, knobs, noise, meter.

    A step reads nothing on the host and branches on no tensor's value. A value that is not finite stops all later
    updates (Adam skips them on the device) until the host looks.
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
        self.phases = model.inference.phases(model)
        self.losses: list[PhaseLoss] = [_reduced(phase) for phase in self.phases]
        self.step = torch.zeros((), dtype=torch.int64, device=device)
        self.halt = Halt(device)
        self.meters = [Meter(self.halt, f"{p.name}/" if len(self.phases) > 1 else "") for p in self.phases]
        self.rates = [torch.zeros((), device=device) for _ in self.phases]
        self.norms = [torch.zeros((), device=device) for _ in self.phases]
        self.optimisers = [self._optimiser(i) for i in range(len(self.phases))]
        self._reduce = reduce_gradients

    def __call__(self, batch: Batch) -> None:
        """Take one step on a batch."""
        knobs = self.model.knobs(self.step)
        memo: Params = {}
        for i, phase in enumerate(self.phases):
            with matrix_precision(self.settings.precision, self.device):
                noise = phase.noise(batch.x.n_rows, self.noise)
                loss, measured, signals = self.losses[i](batch, knobs, noise, memo)
            self.optimisers[i].zero_grad(set_to_none=True)
            loss.backward(inputs=list(phase.parameters))
            gradients = [p.grad for p in phase.parameters if p.grad is not None]
            if self._reduce is not None:
                self._reduce(gradients)
            norm = torch.nn.utils.get_total_norm(gradients)
            self.meters[i].add(measured, norm, self.step)
            self._update(i, norm, knobs)
            self.model.objective.update(signals, self.step)
        self.step += 1

    def forget_compiled(self) -> None:
        """Go back to the losses as they are written."""
        self.losses = [_reduced(phase) for phase in self.phases]

    @torch.no_grad()
    def _update(self, i: int, norm: Tensor, knobs: Knobs) -> None:
        limit = torch.where(self.step < _NORM_BURN_IN, torch.inf, self.settings.clip_factor * self.norms[i])
        scale = (norm / limit).clamp(min=1.0)
        self.norms[i].lerp_(torch.minimum(norm, limit).nan_to_num(0.0, 0.0, 0.0), 1 - _NORM_MEMORY)
        rate = self.settings.learning_rate * self.phases[i].optimiser.relative_rate
        self.rates[i].fill_(rate).mul_(knobs.get("learning_rate", 1.0))
        optimiser = self.optimisers[i]
        optimiser.grad_scale = scale  # fused Adam divides by it: clipping without another pass over the gradients
        optimiser.found_inf = self.halt.raised
        optimiser.step()

    def _optimiser(self, i: int) -> torch.optim.Adam:
        spec = self.phases[i].optimiser
        return torch.optim.Adam(
            self.phases[i].parameters,
            lr=self.rates[i],
            betas=spec.betas,
            weight_decay=spec.weight_decay,
            fused=True,
            capturable=self.device.type == "cuda",
        )

    def state(self) -> dict[str, Tensor]:
        """Return every tensor a resumed run needs, by name."""
        tensors = {"step": self.step, "noise": self.noise.get_state()}
        for i, meter in enumerate(self.meters):
            tensors |= {f"meter/{i}/total": meter.total, f"meter/{i}/count": meter.count}
        tensors |= {f"norm/{i}": norm for i, norm in enumerate(self.norms)}
        for i, (phase, optimiser) in enumerate(zip(self.phases, self.optimisers, strict=True)):
            for j, parameter in enumerate(phase.parameters):
                for name, value in optimiser.state[parameter].items():
                    tensors[f"optimiser/{i}/{j}/{name}"] = value
        return tensors

    def load(self, tensors: dict[str, Tensor], meter_names: list[list[str]]) -> None:
        """Take a checkpoint's tensors back, exactly."""
        self.step.copy_(tensors["step"])
        self.noise.set_state(tensors["noise"].cpu())
        for i, (meter, names) in enumerate(zip(self.meters, meter_names, strict=True)):
            meter.load(tensors[f"meter/{i}/total"], tensors[f"meter/{i}/count"], names)
        for i, norm in enumerate(self.norms):
            norm.copy_(tensors[f"norm/{i}"])
        for i, (phase, optimiser) in enumerate(zip(self.phases, self.optimisers, strict=True)):
            for j, parameter in enumerate(phase.parameters):
                start = f"optimiser/{i}/{j}/"
                kept = {name.removeprefix(start): v for name, v in tensors.items() if name.startswith(start)}
                optimiser.state[parameter] = {name: value.to(self.device).clone() for name, value in kept.items()}


def _reduced(phase: Phase) -> PhaseLoss:
    def loss(batch: Batch, knobs: Knobs, noise: Noise, memo: Params) -> tuple[Tensor, Params, Params]:
        terms = phase.loss(batch, knobs, noise, memo)
        return terms.loss, scalars(terms), terms.signals

    return loss
