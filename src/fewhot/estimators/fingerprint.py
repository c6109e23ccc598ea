"""What makes two fits the same run: the estimator's arguments and the rows."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from torch import nn

from fewhot.core.errors import NotSavableError
from fewhot.core.parts import encode
from fewhot.core.records import Ragged
from fewhot.data import Dataset, DenseDataset, LabelledDataset, RaggedDataset, StoredDataset, TextDataset

_PASSIVE = ("callbacks", "verbose", "device", "compile", "random_state")
_SAMPLED_ROWS = 4096


Rows = tuple[Dataset, Dataset | None]
"""Rows to train on, and rows held out where there are any."""


def fingerprint(estimator: BaseEstimator, given: Rows, split: Rows, *, seed: int, start: int) -> dict[str, Any]:
    """Return what a run folder compares before it resumes, the rows as they were given and as they were split."""
    data = _digests(split)
    return {
        "estimator": type(estimator).__name__,
        "parameters": _parameters(estimator),
        "seed": seed,
        "data": data,
        "given": data if split[0] is given[0] else _digests(given),
        "start": start,
    }


def is_run_of(estimator: Any, known: dict[str, Any]) -> bool:
    """Say whether a fitted estimator may have come from the run with this fingerprint."""
    ours = {"estimator": type(estimator).__name__, "parameters": _parameters(estimator), "seed": estimator.seed_}
    return all(known.get(name) == json.loads(json.dumps(value)) for name, value in ours.items())


def _parameters(estimator: BaseEstimator) -> dict[str, Any]:
    given = estimator.get_params(deep=False)
    return {name: _plain(value) for name, value in given.items() if name not in _PASSIVE}


def _plain(value: Any) -> Any:
    """Return an argument as JSON; a module that is not registered counts by its architecture."""
    try:
        return encode(value)
    except NotSavableError:
        return repr(value) if isinstance(value, nn.Module) else type(value).__qualname__


def _digests(rows: Rows) -> list[str]:
    return [_digest(some) for some in rows if some is not None]


def _digest(data: Dataset) -> str:
    digest = hashlib.sha256(json.dumps(data.spec.to_dict()).encode())
    if isinstance(data, LabelledDataset):
        digest.update(data.labels.cpu().numpy().data)
        data = data.rows
    if isinstance(data, StoredDataset):
        step = max(1, data.n_rows // _SAMPLED_ROWS)
        x = data.batch(torch.arange(0, data.n_rows, step)).x
        assert isinstance(x, Ragged)
        arrays = [x.values, x.indices]
    elif isinstance(data, RaggedDataset):
        arrays = [data.values, data.columns, data.offsets]
    elif isinstance(data, TextDataset):
        digest.update(json.dumps(data.vocabulary.to_config()).encode())
        arrays = [data.ids, data.offsets, *(data.pieces or ())]
    else:
        assert isinstance(data, DenseDataset)
        step = 1 if data.resident else max(1, data.n_rows // _SAMPLED_ROWS)
        arrays = [data.array[::step]]
    for array in arrays:
        plain = array.cpu().numpy() if isinstance(array, torch.Tensor) else array
        digest.update(np.ascontiguousarray(plain).data)
    return digest.hexdigest()
