"""Running means of the terms, and the first value that was not finite, kept on the device."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from fewhot.core.records import Params, Terms

GRADIENT = "gradient"


def scalars(terms: Terms) -> Params:
    """Reduce terms to one scalar a name: the bound, the loss, and each term's batch mean."""
    per_example = {"bound": terms.bound, **terms.per_example}
    rows = torch.stack(torch.broadcast_tensors(*(value.detach() for value in per_example.values())))
    means = dict(zip(per_example, rows.reshape(len(rows), -1).mean(-1), strict=True))
    per_batch = {name: value.detach() for name, value in terms.per_batch.items()}
    return {"bound": means.pop("bound"), "loss": terms.loss.detach(), **means, **per_batch}


class Halt:
    """A flag on the device, raised at the first value that is not finite and never lowered."""

    def __init__(self, device: torch.device) -> None:
        self.raised = torch.zeros((), device=device)
        self.at = torch.full((), -1, dtype=torch.int64, device=device)

    def update(self, values: Tensor, step: Tensor) -> None:
        """Raise the flag unless every value is finite; keep the first step at which it went up."""
        finite = values.sum() * 0 == 0  # anything infinite or NaN makes this NaN
        self.at.copy_(torch.where(finite | (self.raised > 0), self.at, step))
        self.raised.masked_fill_(~finite, 1.0)


class Meter:
    """Sums of one phase's terms since the last reading. Updates are in place and never read on the host."""

    def __init__(self, halt: Halt, prefix: str = "") -> None:
        self.halt = halt
        self.prefix = prefix
        self.names: list[str] = []
        self._allocate([])

    def name_terms(self, values: Params) -> None:
        """Learn the names at the first step."""
        if not self.names:
            self._allocate([*values, GRADIENT])

    def add(self, values: Params, gradient_norm: Tensor, step: Tensor) -> None:
        """Take in one step. After the first value that is not finite nothing is recorded any more."""
        row = torch.stack([*values.values(), gradient_norm])
        self.last.copy_(torch.where(self.halt.raised > 0, self.last, row))
        self.halt.update(row, step)
        self.total += row.masked_fill(self.halt.raised > 0, 0.0)
        self.count += 1 - self.halt.raised

    def read(self) -> dict[str, float]:
        """Return the mean of each term since the last `reset`."""
        count = float(self.count)
        if not count:
            return {}
        return {self.prefix + name: total / count for name, total in zip(self.names, self.total.tolist(), strict=True)}

    def reset(self) -> None:
        """Begin a new window."""
        self.total.zero_()
        self.count.zero_()

    def first_bad(self) -> str | None:
        """Return the name of a term that was not finite: a cause rather than the loss it ended up in."""
        bad = [name for name, value in zip(self.names, self.last.tolist(), strict=True) if not math.isfinite(value)]
        causes = [name for name in bad if name not in ("bound", "loss")]
        return next(iter(causes or bad), None)

    def load(self, total: Tensor, count: Tensor, names: list[str]) -> None:
        """Take a checkpoint's sums back."""
        self._allocate(names)
        self.total.copy_(total)
        self.count.copy_(count)

    def _allocate(self, names: list[str]) -> None:
        device = self.halt.raised.device
        self.names = list(names)
        self.total = torch.zeros(len(names), device=device)
        self.count = torch.zeros((), device=device)
        self.last = torch.zeros(len(names), device=device)  # the newest row, or the first that was not finite
