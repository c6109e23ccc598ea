"""What makes two fits the same run: the estimator's arguments and the rows."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator

from fewhot.data import Dataset, DenseDataset, RaggedDataset

_PASSIVE = ("callbacks", "verbose", "device", "compile", "random_state")
_SAMPLED_ROWS = 4096


def fingerprint(estimator: BaseEstimator, train: Dataset, start: int) -> dict[str, Any]:
    """Return what a run folder compares before it resumes."""
    parameters = {name: _plain(v) for name, v in estimator.get_params(deep=False).items() if name not in _PASSIVE}
    seed = estimator.random_state if isinstance(estimator.random_state, int) else None
    return {
        "estimator": type(estimator).__name__,
        "parameters": {**parameters, "random_state": seed},
        "data": _digest(train),
        "start": start,
    }


def _plain(value: Any) -> Any:
    try:
        return json.loads(json.dumps(value))
    except TypeError:
        return type(value).__qualname__


def _digest(data: Dataset) -> str:
    digest = hashlib.sha256(json.dumps(data.spec.to_dict()).encode())
    if isinstance(data, RaggedDataset):
        arrays = [data.values, data.columns, data.offsets]
    else:
        assert isinstance(data, DenseDataset)
        step = 1 if data.resident else max(1, data.n_rows // _SAMPLED_ROWS)
        arrays = [data.array[::step]]
    for array in arrays:
        plain = array.cpu().numpy() if isinstance(array, torch.Tensor) else array
        digest.update(np.ascontiguousarray(plain).data)
    return digest.hexdigest()
