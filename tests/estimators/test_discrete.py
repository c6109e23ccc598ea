"""What estimators of discrete codes share: how gradients pass the choices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fewhot as fh
from fewhot.core.errors import InvalidParameterError
from tests.estimators.cases import assert_one_sentence, grey_rows, same_weights

X = grey_rows()
SMALL: dict[str, Any] = {"n_components": 8, "hidden_layer_sizes": (8,), "max_steps": 5, "random_state": 0}
every_model = pytest.mark.parametrize("cls", [fh.GumbelVAE, fh.SDLGM])


@every_model
@pytest.mark.parametrize("estimator", ["score-function", "muprop"])
def test_the_score_function_averages_as_many_draws_as_asked(cls: Any, estimator: str) -> None:
    unsaid, one, several = (cls(**SMALL, estimator=estimator, n_draws=n).fit(X) for n in (None, 1, 3))
    assert same_weights(unsaid, one)
    assert not same_weights(one, several)
    assert np.isfinite(several.score_samples(X)).all()


@every_model
def test_a_temperature_that_falls_begins_no_lower_than_it_ends(cls: Any) -> None:
    falling = {"estimator": "concrete", "temperature": 0.1, "temperature_decay": 1e-3}
    with pytest.raises(InvalidParameterError, match=r"^temperature is 0.1 to begin with") as caught:
        cls(**SMALL, **falling).fit(X)
    assert_one_sentence(caught.value)
    assert cls(**SMALL, **falling, least_temperature=0.1).fit(X).n_iter_ == 5


@every_model
def test_a_temperature_that_stays_may_be_as_low_as_it_likes(cls: Any) -> None:
    assert cls(**SMALL, estimator="concrete", temperature=0.1).fit(X).n_iter_ == 5
