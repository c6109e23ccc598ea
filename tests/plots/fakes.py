"""A model that can be checked by hand: columns are read off by a fixed dictionary."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from fewhot.priors import StandardPrior


class Linear:
    """Codes are the rows times the dictionary's transpose, cut below ``cut``; the decoder adds up dictionary rows."""

    def __init__(self, dictionary: Any, cut: float | None = 0.5, sparse: bool = True) -> None:
        self.dictionary = np.asarray(dictionary, dtype=float)
        self.cut = cut
        self.sparse = sparse
        self.n_components = len(self.dictionary)
        self.module_ = types.SimpleNamespace(
            latent=types.SimpleNamespace(gated=cut is not None, n_latent=self.n_components),
            prior=StandardPrior(self.n_components),
            posterior_of=None,
            parameters=lambda: iter([torch.zeros(1)]),
        )

    def transform(self, X: Any) -> Any:
        X = X.toarray() if sp.issparse(X) else np.asarray(X)
        Z = X @ self.dictionary.T
        if self.cut is None:
            return Z
        Z = np.where(np.abs(Z) >= self.cut, Z, 0.0)
        return sp.csr_array(Z) if self.sparse else Z

    def inverse_transform(self, Z: Any) -> np.ndarray:
        Z = Z.toarray() if sp.issparse(Z) else np.asarray(Z)
        return Z @ self.dictionary

    def sample(self, n_samples: int, random_state: Any = None, kind: str = "draw") -> np.ndarray:
        return self.inverse_transform(np.random.default_rng(random_state).normal(size=(n_samples, self.n_components)))

    def sample_like(self, X: Any, random_state: Any = None, kind: str = "draw") -> np.ndarray:
        codes = self.transform(X)
        on = (codes.toarray() if sp.issparse(codes) else codes) != 0
        return self.inverse_transform(on * np.random.default_rng(random_state).normal(size=on.shape))
