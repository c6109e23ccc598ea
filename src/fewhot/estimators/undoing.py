"""A fit that fails leaves the model as it was."""

from __future__ import annotations

import copy
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from torch import nn


@contextmanager
def undone_on_failure(estimator: Any, trained: nn.Module | None = None) -> Generator[None, None, None]:
    """Put back what an estimator knew before when the fit within fails or is interrupted.

    Parameters
    ----------
    estimator
        What is fitted; the attributes that it had are restored, and new ones are removed.
    trained
        A module that the fit trains further in place, whose tensors are restored too.
    """
    attributes = dict(vars(estimator))
    tensors = None if trained is None else copy.deepcopy(trained.state_dict())
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(attributes)
        if trained is not None and tensors is not None:
            trained.load_state_dict(tensors)
        raise
