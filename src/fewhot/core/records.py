"""The records that travel between parts: rows, Batch, Draw, Pass, Terms, Knobs, DataSpec.

Everything a step touches is made of tensors, so the same code runs eagerly, compiled and captured as a graph.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.distributions import Distribution

Params = dict[str, Tensor]
"""Local parameters psi of a batch: name -> (B, K) or (B, H)."""

Noise = dict[str, Tensor]
"""Explicit random numbers, by source; broadcastable over rows."""

LARGEST_WHOLE = 2**24
"""Above this, float32 does not tell neighbouring whole numbers apart."""


class Dense(NamedTuple):
    """Rows as a matrix."""

    x: Tensor  # (B, D)

    @property
    def n_columns(self) -> int:
        """How many columns."""
        return self.x.shape[1]

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return self.x.shape[0]

    def dense(self) -> Tensor:
        """Return the rows as a (B, D) matrix."""
        return self.x


class Ragged(NamedTuple):
    """Sparse rows, padded to a common width M: padding has index 0 and value 0, so it adds nothing to any sum."""

    indices: Tensor  # (B, M) int64
    values: Tensor  # (B, M) float32
    n_columns: int

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return self.values.shape[0]

    def dense(self) -> Tensor:
        """Return the rows as a (B, D) matrix: a batch may be dense, the data never is."""
        out = self.values.new_zeros(self.n_rows, self.n_columns)
        return out.scatter_add(1, self.indices, self.values)


PADDING, END = 0, 1
UNLABELED = -(2**63)
"""The label of a row that has none."""
"""The ids of padding and of the end of a text."""


class Tokens(NamedTuple):
    """Texts as the ids of their words, padded to a common length T: 0 is padding, and every text ends with id 1.

    A pretrained encoder cuts texts in its own way: ``pieces`` are its ids, plus 1, so that 0 is padding there, too.
    """

    ids: Tensor  # (B, T) int64
    n_columns: int  # size of the vocabulary, padding, end and unknown words included
    pieces: Tensor | None = None  # (B, T) int64

    @property
    def n_rows(self) -> int:
        """How many texts."""
        return self.ids.shape[0]

    @property
    def lengths(self) -> Tensor:
        """How many ids each text has, its end included and padding not: (B,), on the device."""
        return (self.ids != PADDING).sum(-1)

    def counts(self) -> Ragged:
        """Return how often each text has each of its words, every word once a row; padding and ends do not count.

        >>> counts = Tokens(torch.tensor([[5, 3, 5, 1, 0]]), 6).counts()
        >>> counts.indices.tolist(), counts.values.tolist()
        ([[0, 1, 3, 5, 0]], [[0.0, 0.0, 1.0, 2.0, 0.0]])
        """
        ids = self.ids.sort(-1).values
        is_new = torch.nn.functional.pad((ids[:, 1:] != ids[:, :-1]).long(), (1, 0))
        place = is_new.cumsum(-1)  # equal ids stand together and share a place
        indices = torch.zeros_like(ids).scatter(1, place, ids)
        values = torch.zeros(ids.shape, device=ids.device).scatter_add(1, place, (ids > END).float())
        return Ragged(indices, values, self.n_columns)

    def dense(self) -> Tensor:
        """Return the counts of words as a (B, D) matrix; padding and ends do not count."""
        return self.counts().dense()


Rows = Dense | Ragged | Tokens


def as_numbers(x: Rows) -> Dense | Ragged:
    """Return rows of numbers as they are, and texts as the counts of their words."""
    return x.counts() if isinstance(x, Tokens) else x


class Batch(NamedTuple):
    """What one step sees: the rows, where they are in the data set, and their labels where there are any."""

    x: Rows
    index: Tensor | None = None  # (B,) int64  # pyright: ignore[reportIncompatibleMethodOverride]
    y: Tensor | None = None  # (B, K)


class Draw(NamedTuple):
    """One draw from a posterior: the code, its gate (gated families), and auxiliary variables by name."""

    z: Tensor  # (..., B, K)
    gate: Tensor | None = None  # (..., B, K)
    auxiliary: Params = {}  # noqa: RUF012  (never mutated)

    @property
    def one_a_row(self) -> Tensor:
        """The first draw of every row, (B, K): what looks at a batch as a sample takes no row twice."""
        return self.z.flatten(0, -3)[0] if self.z.dim() > 2 else self.z


class ObservedRows(Protocol):
    """p(x | z) over whole rows, dense or ragged."""

    def log_prob(self, x: Rows) -> Tensor:
        """Log density of each row, summed over its columns: (..., B)."""
        ...

    @property
    def mean(self) -> Tensor:
        """Expected rows, (..., B, D)."""
        ...

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """Drawn rows, (..., B, D)."""
        ...


class Pass(NamedTuple):
    """Everything one forward pass produced."""

    batch: Batch
    psi: Params
    q: Distribution
    p: Distribution
    draw: Draw
    px: ObservedRows
    noise: Noise = {}  # noqa: RUF012  (never mutated)


class Knobs(NamedTuple):
    """Scalars that move with the step, as device tensors, and which gates a pass draws from.

    ``gates`` is ``"exact"`` at evaluation, ``"relaxed"`` in training (whatever relaxation the latent trains with) and
    ``"straight-through"`` in refinement: exact values with a gradient.
    """

    values: Params = {}  # noqa: RUF012  (never mutated)
    gates: str = "exact"

    def get(self, name: str, default: float) -> Tensor | float:
        """Return the scheduled value of ``name``, or a fixed default."""
        return self.values.get(name, default)


class Terms(NamedTuple):
    """An objective, taken apart: what is reported is kept away from what is differentiated.

    ``bound`` is the unweighted evidence lower bound of every example under the gates used in this pass;
    ``loss`` is the scalar to differentiate; ``signals`` are measurements that controllers read.
    """

    bound: Tensor  # (..., B)
    loss: Tensor  # ()
    per_example: Params = {}  # noqa: RUF012  name -> (..., B)
    per_batch: Params = {}  # noqa: RUF012  name -> ()
    signals: Params = {}  # noqa: RUF012

    def __add__(self, other: Terms) -> Terms:  # type: ignore[override]
        """Return the sum of two objectives, keeping every name."""
        return self._joined(other, self.bound + other.bound)

    def under(self, constraint: Terms) -> Terms:
        """Return this objective under a constraint, whose own bound is 0 and is not added."""
        return self._joined(constraint, self.bound)

    def _joined(self, other: Terms, bound: Tensor) -> Terms:
        return Terms(
            bound,
            self.loss + other.loss,
            {**self.per_example, **other.per_example},
            {**self.per_batch, **other.per_batch},
            {**self.signals, **other.signals},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSpec:
    """All a model learns about its data before training."""

    n_columns: int
    n_rows: int
    sparse: bool = False
    minimum: float = 0.0
    maximum: float = 1.0
    integral: bool = False
    binary: bool = False
    measured: bool = False
    """Whether whole numbers from 0 up are better described as measured values, such as ages, than as counts."""
    kind: str = field(default="rows")
    image_shape: tuple[int, ...] | None = None
    """How a row folds into an image, (height, width) or (height, width, channels); None for rows that are no images."""
    pixels: bool = False
    """Whether the columns are pixels, which have one unit."""

    @property
    def unit_interval(self) -> bool:
        """Whether every value lies in [0, 1]."""
        return self.minimum >= 0 and self.maximum <= 1

    @property
    def counts(self) -> bool:
        """Whether every value is a non-negative whole number."""
        return self.integral and self.minimum >= 0

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping; `from_dict` inverts it."""
        mapping = asdict(self)
        shape, pixels = mapping.pop("image_shape"), mapping.pop("pixels")
        more = {} if shape is None else {"image_shape": list(shape)}
        return {**mapping, **more, **({"pixels": True} if pixels else {})}

    @classmethod
    def from_dict(cls, mapping: dict[str, Any]) -> DataSpec:
        """Return the description that `to_dict` made a mapping of."""
        shape = mapping.get("image_shape")
        known: dict[str, Any] = {"pixels": shape is not None, **mapping}
        known["image_shape"] = None if shape is None else tuple(map(int, shape))
        return cls(**known)


class ColumnMoments(NamedTuple):
    """Statistics of the training rows that parts may keep as fitted state."""

    mean: Tensor  # (D,)
    std: Tensor  # (D,), 1 where a column is constant or nearly so
    row_total: float  # mean of the row sums
    present: Tensor  # (D,), share of the rows in which a column is not 0
    n_rows: int
    nearly_constant: tuple[int, ...] = ()  # columns that vary, but by no more than rounding errors
    typical_std: float = 1.0  # root mean square of the columns' deviations; 1 where all are constant
    varies: Tensor = torch.ones((), dtype=torch.bool)  # (D,), False where a column is constant or nearly so
