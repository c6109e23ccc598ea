"""Observation transforms: they define which x the bound is a bound for; encoder and likelihood both see the result."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from fewhot.core.errors import InvalidInputError
from fewhot.core.parts import Part
from fewhot.core.records import DataSpec, Dense, Ragged, Rows, as_numbers
from fewhot.core.registry import OBSERVATIONS


class Observation(Part):
    """Rows in, rows of the same kind out; may ask for noise. Observed rows observed again stay as they are."""

    def noise(self, n_rows: int, n_columns: int, generator: torch.Generator) -> Tensor | None:
        """Return the random numbers one application needs, or None."""
        return None

    def check(self, spec: DataSpec) -> None:
        """Refuse data this transform is not made for."""

    def spec(self, spec: DataSpec) -> DataSpec:
        """Describe the rows after the transform."""
        return spec

    def forward(self, x: Rows, noise: Tensor | None = None) -> Rows:
        """Return the transformed rows."""
        return x


@OBSERVATIONS.register("as-is")
class AsIs(Observation):
    """The rows as they were given."""


@OBSERVATIONS.register("unit-norm")
class UnitNorm(Observation):
    """Every row divided by its Euclidean norm; a row of zeros stays as it is."""

    def check(self, spec: DataSpec) -> None:
        """Refuse texts."""
        _refuse_text(spec, "division by the norm")

    def spec(self, spec: DataSpec) -> DataSpec:
        """Describe unit-norm rows: within [-1, 1], no longer whole numbers."""
        low, high = -1.0 if spec.minimum < 0 else 0.0, 1.0 if spec.maximum > 0 else 0.0
        return replace(spec, minimum=low, maximum=high, integral=False, binary=False)

    def forward(self, x: Rows, noise: Tensor | None = None) -> Rows:
        """Return the scaled rows."""
        x = as_numbers(x)
        values = x.values if isinstance(x, Ragged) else x.x
        norm = values.square().sum(-1, keepdim=True).sqrt()
        scaled = values / torch.where(norm > 0, norm, 1.0)
        return x._replace(values=scaled) if isinstance(x, Ragged) else Dense(scaled)


@OBSERVATIONS.register("stochastic-binarise")
class StochasticBinarise(Observation):
    """Grey levels in [0, 1] become fresh coin flips each time they are seen; whole zeros and ones stay."""

    def noise(self, n_rows: int, n_columns: int, generator: torch.Generator) -> Tensor:
        """Return one uniform threshold a pixel, in [0, 1)."""
        return torch.rand(n_rows, n_columns, generator=generator, device=generator.device)

    def check(self, spec: DataSpec) -> None:
        """Refuse anything but grey levels."""
        _refuse_text(spec, "stochastic binarisation")
        if not spec.unit_interval:
            raise InvalidInputError(
                f"The data range from {spec.minimum:g} to {spec.maximum:g} but stochastic binarisation needs values in "
                f"[0, 1]; divide by the largest value first."
            )

    def spec(self, spec: DataSpec) -> DataSpec:
        """Describe the rows after the flips: zeros and ones."""
        return replace(spec, minimum=0.0, maximum=1.0, integral=True, binary=True)

    def forward(self, x: Rows, noise: Tensor | None = None) -> Rows:
        """Return 1 where the threshold lies below the grey level."""
        if noise is None:
            return x
        x = as_numbers(x)
        if isinstance(x, Ragged):
            thresholds = noise.expand(x.n_rows, -1).gather(1, x.indices)
            return x._replace(values=(thresholds < x.values).to(x.values.dtype))
        return Dense((noise < x.x).to(x.x.dtype))


def _refuse_text(spec: DataSpec, transform: str) -> None:
    if spec.kind == "text":
        raise InvalidInputError(f"The data are texts, and {transform} is for rows of numbers; leave it out.")
