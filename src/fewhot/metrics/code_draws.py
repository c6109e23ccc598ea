"""Codes of chosen rows, made as often as they are asked for: fresh draws of a posterior, or codes that stay."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from fewhot.metrics.code_kinds import check_unrefined, drawn, encoded
from fewhot.metrics.matrices import as_matrix, dense


class CodeDraws(Protocol):
    """What gives codes of rows, a few rows at a time."""

    n_draws: int

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        ...

    @property
    def n_units(self) -> int:
        """How wide a code is."""
        ...

    @property
    def device(self) -> torch.device:
        """Where the codes are."""
        ...

    def draw(self, rows: np.ndarray, generator: torch.Generator) -> Tensor:
        """Return codes of these rows, (n_draws, rows, K), float32."""
        ...


class FixedCodes:
    """Codes that are what they are, one a row; a sparse matrix is made dense a few rows at a time.

    Parameters
    ----------
    codes
        The codes, (n, K): an array or a sparse matrix.
    name
        What a complaint calls them.
    """

    n_draws = 1
    device = torch.device("cpu")

    def __init__(self, codes: Any, name: str) -> None:
        self.codes = as_matrix(codes, name).astype(np.float32)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.codes.shape[0]

    @property
    def n_units(self) -> int:
        """How wide a code is."""
        return self.codes.shape[1]

    def draw(self, rows: np.ndarray, generator: torch.Generator) -> Tensor:
        """Return the code of these rows, (1, rows, K)."""
        return torch.as_tensor(dense(self.codes[rows]))[None]


class PosteriorDraws:
    r"""Fresh draws :math:`z_1, \dots, z_K \sim q(z \mid x)` of rows that were encoded once.

    Kept are the local parameters of all rows, on the model's device.

    Parameters
    ----------
    estimator
        A fitted estimator.
    X
        Rows, (n, p), or texts.
    n_draws
        How many draws a row.
    """

    def __init__(self, estimator: Any, X: Any, n_draws: int) -> None:
        check_unrefined(estimator, "sample")
        parts = [psi for _, psi in encoded(estimator, X)]
        self.module = estimator.module_
        self.psi: dict[str, Tensor] = {name: torch.cat([psi[name] for psi in parts]) for name in parts[0]}
        self.n_draws = n_draws
        self.n_units = int(self.module.latent.n_latent)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return next(iter(self.psi.values())).shape[0]

    @property
    def device(self) -> torch.device:
        """Where the codes are."""
        return next(iter(self.psi.values())).device

    @torch.no_grad()
    def draw(self, rows: np.ndarray, generator: torch.Generator) -> Tensor:
        """Return fresh draws of the code of these rows, (n_draws, rows, K)."""
        index = torch.as_tensor(rows).to(self.device).repeat(self.n_draws)  # a whole round of rows, n_draws times
        z = drawn(self.module, {name: values[index] for name, values in self.psi.items()}, generator)
        return z.float().reshape(self.n_draws, len(rows), -1)
