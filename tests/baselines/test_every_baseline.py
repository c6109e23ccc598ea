"""What every recommender promises, of those of this library."""

from __future__ import annotations

from typing import Any

import pytest

import fewhot as fh
import fewhot.baselines
from fewhot.core.errors import InvalidParameterError
from fewhot.core.registry import BASELINES
from tests.baselines.cases import EVERY, PERSONAL, histories, recommender
from tests.baselines.contract import *  # noqa: F403
from tests.estimators.cases import assert_one_sentence

__all__ = ["EVERY", "PERSONAL"]


def test_it_is_found_by_its_name(name: str) -> None:
    assert getattr(fewhot.baselines, name) is BASELINES[name]
    assert fh.baselines is fewhot.baselines


BAD_ARGUMENTS = [
    *(("EASE", {"regularisation": value}) for value in (0, -1.0, "much", None, float("nan"))),
    ("EASE", {"dtype": "float16"}),
    *(("WMF", {key: -1}) for key in ("n_components", "positive_weight", "regularisation", "max_iter", "tol")),
    ("WMF", {"random_state": "seed"}),
]


@pytest.mark.parametrize(("baseline", "argument"), BAD_ARGUMENTS)
def test_an_argument_out_of_range_is_refused_at_fit(baseline: str, argument: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match=f"^{next(iter(argument))} is ") as caught:
        recommender(baseline, **argument).fit(histories())
    assert_one_sentence(caught.value)
