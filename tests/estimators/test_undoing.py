"""A fit that fails leaves the model as it was: columns, names, weights, history and what an optimiser remembers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import fewhot as fh
from fewhot.baselines import EASE, LDA, WMF
from fewhot.core.errors import DivergedError, InvalidInputError
from fewhot.training import RunFolder
from tests.estimators.cases import same_weights

SHORT: dict[str, Any] = {"hidden_layer_sizes": (4,), "max_steps": 20, "random_state": 0}
MODELS: dict[str, Any] = {
    "NFA": lambda: fh.NFA(2, **SHORT),
    "VSC": lambda: fh.VSC(4, likelihood="poisson", **SHORT),
    "EASE": lambda: EASE(2.0),
    "WMF": lambda: WMF(2, random_state=0),
    "LDA": lambda: LDA(2, max_iter=2, random_state=0),
}
every = pytest.mark.parametrize("name", MODELS)
WORDS = [f"w{column}" for column in range(6)]


def counts() -> sp.csr_array:
    return sp.csr_array(np.random.default_rng(0).poisson(0.8, (40, 6)).astype(np.float32))


def use(model: Any, X: Any) -> np.ndarray:
    return np.asarray(model.transform(X)) if hasattr(model, "topics_") else model.score_items(X)


def fitted_attributes(model: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


@every
def test_a_refit_on_rows_that_are_refused_changes_nothing(name: str) -> None:
    frame = pd.DataFrame(counts().toarray(), columns=WORDS)
    model = MODELS[name]().fit(frame)
    before = fitted_attributes(model)
    with pytest.raises(InvalidInputError):
        model.fit(-counts()[:, :3])
    after = fitted_attributes(model)
    assert before.keys() == after.keys()
    assert all(after[key] is before[key] for key in before)
    assert model.feature_names_in_.tolist() == WORDS


@every
def test_a_first_fit_that_fails_leaves_nothing_behind(name: str) -> None:
    model = MODELS[name]()
    with pytest.raises(InvalidInputError):
        model.fit(-counts())
    assert not fitted_attributes(model)


def test_held_out_rows_with_other_columns_change_nothing(tmp_path: Path) -> None:
    X = counts()
    model = fh.NFA(2, **SHORT).fit(X)
    codes = model.transform(X)
    with pytest.raises(InvalidInputError, match="X_val"):
        model.fit(X[:, :5], X_val=X)
    np.testing.assert_array_equal(model.transform(X), codes)
    model.save(tmp_path / "run")
    np.testing.assert_allclose(fh.load(tmp_path / "run").transform(X), codes, rtol=1e-6)


@pytest.mark.parametrize("verb", ["fit", "partial_fit"])
def test_further_training_that_diverges_keeps_the_model_of_before(verb: str) -> None:
    X = counts()
    model, untouched = (fh.NFA(2, warm_start=True, batch_size=10, **SHORT).fit(X) for _ in range(2))
    before = model.n_iter_, list(model.history_)
    with pytest.raises(DivergedError):
        getattr(model.set_params(learning_rate=1e9), verb)(X)
    assert same_weights(model, untouched)
    assert (model.n_iter_, model.history_) == before
    for one in (model, untouched):  # the optimiser goes on as if nothing had happened
        getattr(one.set_params(learning_rate=None), verb)(X)
    assert same_weights(model, untouched)


def test_a_single_step_that_goes_astray_is_noticed() -> None:
    X = counts()
    model = fh.NFA(2, n_layers=3, **SHORT).fit(X)
    before = model.score(X)
    with pytest.raises(DivergedError, match="at step 21 because the bound was not finite; lower learning_rate"):
        model.set_params(learning_rate=1e9).partial_fit(X)
    assert model.score(X) == before


def test_an_interrupt_is_a_failure_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Any, rows: Any) -> None:
        raise KeyboardInterrupt

    model = MODELS["EASE"]().fit(counts())
    monkeypatch.setattr(EASE, "_fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(counts()[:, :3])
    assert model.n_features_in_ == 6


def test_a_model_that_could_not_be_saved_stays_fitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(fh.NFA, "save", full)
    model = fh.NFA(2, callbacks=[RunFolder(tmp_path / "run")], **SHORT)
    with pytest.raises(OSError, match="no space left"):
        model.fit(counts())
    assert model.transform(counts()).shape == (40, 2)
