"""What reading gives back: rows, labels if there are any, and where they come from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewhot.core.errors import DataError
from fewhot.core.sparse import check_entries
from fewhot.data.dataset import CHUNK_ELEMENTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Rows that were read, and what is known about them.

    Attributes
    ----------
    X
        The rows, (n, p): float32, dense or CSR. A large ``.npy`` of another type stays mapped, in its own type. Rows
        that are texts: strings, (n,).
    y
        Whole-number labels, one a row; None without labels.
    name
        The dataset's name, or the file's.
    split
        The named split these rows are; None for all rows of a file.
    image_shape
        How a row folds into an image; None for rows that are no images.
    feature_names
        The columns' names; None where the source has none. Of texts, the words of a published vocabulary.
    licence
        The terms of the dataset; empty for a file.
    digest
        SHA-256 of the rows and labels, as `content_digest` computes it.
    label_names
        What label 0, 1, ... was called, where labels were words or other numbers.
    texts
        The texts that ``X`` counts the words of, with spaces between words; None where there are none, or where ``X``
        holds them.
    tokeniser
        How rows that are texts were cut before, by a name that `tokenise` knows; None where that is left to the reader.
    users
        What the users are called whose items the rows are; None for rows that are no users.
    """

    X: np.ndarray | sp.csr_array
    y: np.ndarray | None
    name: str
    split: str | None
    image_shape: tuple[int, ...] | None
    feature_names: list[str] | None
    licence: str
    digest: str
    label_names: list[str] | None = None
    texts: list[str] | None = None
    tokeniser: str | None = None
    users: list[str] | None = None

    @property
    def holds_texts(self) -> bool:
        """Whether the rows are texts, and not numbers."""
        X: Any = self.X
        return len(X.shape) == 1

    def as_texts(self) -> Loaded:
        """Return the texts behind word counts as rows; they are cut already, with spaces between words."""
        if self.holds_texts:
            return self
        if self.texts is None:
            raise DataError(f"{self.name} has no texts; leave out texts=True, or name a dataset of texts.")
        X = as_strings(self.texts)
        digest = content_digest(X, self.y)
        return replace(self, X=X, texts=None, tokeniser="spaces", digest=digest)

    def __len__(self) -> int:
        X: Any = self.X  # scipy does not say that a CSR array has a shape
        return int(X.shape[0])

    def take(self, rows: np.ndarray, split: str | None = None) -> Loaded:
        """Return some of the rows, with a digest of their own."""
        X: Any = self.X[rows]
        y = None if self.y is None else self.y[rows]
        texts = None if self.texts is None else [self.texts[row] for row in np.arange(len(self))[rows]]
        users = None if self.users is None else [self.users[row] for row in np.arange(len(self))[rows]]
        named = texts if users is None else users + (self.feature_names or [])
        return replace(self, X=X, y=y, texts=texts, users=users, split=split, digest=content_digest(X, y, named))


def as_strings(texts: Sequence[str]) -> np.ndarray:
    """Return texts as rows, (n,).

    >>> as_strings(["few", "hot"]).shape
    (2,)
    """
    rows = np.empty(len(texts), dtype=object)
    rows[:] = list(texts)
    return rows


def content_digest(X: Any, y: np.ndarray | None = None, texts: Sequence[str] | None = None) -> str:
    """Return the SHA-256 of rows, labels and texts: the same ones give the same digest, whatever file they came from.

    Hashed are the shape, the values as little-endian float32 (for CSR rows: row starts and columns as int64 first), the
    labels as int64 and the texts in UTF-8. A dense matrix and a sparse one with the same numbers differ. Of rows that
    are texts, the length of every text goes before it.

    Examples
    --------
    >>> content_digest(np.eye(2))[:12] == content_digest(np.eye(2, dtype=np.float32))[:12]
    True
    """
    kind = "csr" if sp.issparse(X) else "texts" if X.dtype.kind == "O" else "dense"
    hashed = hashlib.sha256(f"{kind} {tuple(map(int, X.shape))}".encode())
    if kind == "texts":
        for text in X:
            encoded = text.encode("utf-8", "surrogatepass")  # JSON can spell half of a pair
            hashed.update(f"{len(encoded)} ".encode() + encoded)
    elif sp.issparse(X):
        check_entries(X)
        csr = sp.csr_array(X)
        for part, dtype in ((csr.indptr, "<i8"), (csr.indices, "<i8"), (csr.data, "<f4")):
            _feed(hashed, part, dtype)
    else:
        _feed(hashed, X, "<f4")
    if y is not None:
        hashed.update(f"labels {tuple(y.shape)}".encode())
        _feed(hashed, y, "<i8")
    if texts is not None:
        hashed.update(f"texts {len(texts)}".encode())
        hashed.update("\n".join(texts).encode())
    return hashed.hexdigest()


def chunks(array: Any) -> Iterator[slice]:
    """Cut the first axis into slices of a few million elements."""
    size = max(1, CHUNK_ELEMENTS // max(1, int(np.prod(array.shape[1:]))))
    for start in range(0, int(array.shape[0]), size):
        yield slice(start, start + size)


def _feed(hashed: Any, array: Any, dtype: str) -> None:
    for cut in chunks(array):
        hashed.update(np.ascontiguousarray(array[cut], dtype=dtype).data)
