"""Rows inside each family's support, and likelihoods fitted on them, their learned parameters moved from the start."""

from __future__ import annotations

import torch
from torch import Tensor

from fewhot.core.records import ColumnMoments, DataSpec, Ragged
from fewhot.core.registry import LIKELIHOODS
from fewhot.likelihoods import Likelihood

N_ROWS, N_COLUMNS = 7, 5

VARIANTS: dict[str, list[dict]] = {
    "gaussian": [
        {},
        {"variance": "per-row"},
        {"standardise": False, "floor": 0.01},
        {"standardise": False, "variance": "per-row"},
        {"standardise": False, "sigmoid_mean": True},
    ],
    "laplace": [{}, {"standardise": False, "noise_scale": 0.3}],
}
EVERY = [(name, options) for name in LIKELIHOODS for options in VARIANTS.get(name, [{}])]


def identify(value: object) -> str:
    """Name a test case after the family and its options."""
    return "-".join(f"{k}={v}" for k, v in value.items()) or "default" if isinstance(value, dict) else str(value)


def rows_for(name: str, n_rows: int = N_ROWS, n_columns: int = N_COLUMNS) -> Tensor:
    """Return sparse rows in the support of a family, one of them empty; a family unknown here gets binary rows."""
    generator = torch.Generator().manual_seed(3)
    present = torch.rand(n_rows, n_columns, generator=generator) < 0.6
    present[0] = False
    match name:
        case "gaussian" | "laplace":
            values = torch.randn(n_rows, n_columns, generator=generator)
        case "poisson" | "negative-binomial" | "multinomial":
            values = torch.randint(1, 9, (n_rows, n_columns), generator=generator).float()
        case _:
            values = torch.ones(n_rows, n_columns)
    return values * present


def moments_of(x: Tensor) -> ColumnMoments:
    """Return the column moments of dense rows."""
    std = x.std(0, correction=0)
    return ColumnMoments(
        x.mean(0),
        torch.where(std > 0, std, 1.0),
        float(x.sum(1).mean()),
        (x != 0).float().mean(0),
        len(x),
        varies=std > 0,
    )


def spec_of(x: Tensor) -> DataSpec:
    """Return the description of dense rows."""
    return DataSpec(
        n_columns=x.shape[1],
        n_rows=x.shape[0],
        minimum=float(x.min()),
        maximum=float(x.max()),
        integral=bool((x == x.round()).all()),
        binary=bool(((x == 0) | (x == 1)).all()),
    )


def ragged_of(x: Tensor, n_padding: int = 0) -> Ragged:
    """Return dense rows as ragged ones, with ``n_padding`` columns of padding beyond the longest row."""
    width = max(int((x != 0).sum(1).max()), 1) + n_padding
    indices, values = torch.zeros(len(x), width, dtype=torch.int64), torch.zeros(len(x), width)
    for row, (i, v) in enumerate(zip(indices, values, strict=True)):
        (stored,) = x[row].nonzero(as_tuple=True)
        i[: len(stored)], v[: len(stored)] = stored, x[row, stored]
    return Ragged(indices, values, x.shape[1])


def fitted(name: str, n_columns: int = N_COLUMNS, **options: object) -> Likelihood:
    """Return a likelihood fitted on its own rows, its learned parameters moved at random."""
    likelihood = LIKELIHOODS[name](n_columns, **options)
    likelihood.fit(moments_of(rows_for(name, n_columns=n_columns)))
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in likelihood.parameters():
            parameter.add_(0.5 * torch.randn(parameter.shape, generator=generator))
    return likelihood


def outputs_for(likelihood: Likelihood, *lead: int, seed: int = 5) -> Tensor:
    """Return decoder outputs of moderate size, (*lead, n_outputs)."""
    return torch.randn(*lead, likelihood.n_outputs, generator=torch.Generator().manual_seed(seed))
