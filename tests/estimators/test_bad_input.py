"""Unusual input works; unusable input gets one sentence that says what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import torch
from sklearn.exceptions import NotFittedError
from torch import nn

from fewhot import HSVAE, MATVAE, NFA, VAE, VSC, BetaTCVAE, FewhotError, load
from fewhot.core.errors import InvalidInputError, InvalidParameterError, NotEnoughMemoryError
from fewhot.data import TableVectorizer
from fewhot.likelihoods import GaussianLikelihood
from fewhot.metrics import information, relaxation_gap, summarise
from tests.estimators.cases import BOTH, SMALL, assert_one_sentence, count_rows, dense, grey_rows, same_weights, small


def _with(value: Any, X: np.ndarray | None = None) -> np.ndarray:
    X = grey_rows() if X is None else X.copy()
    X[3, 2] = value
    return X


def _masked(X: np.ndarray) -> np.ma.MaskedArray:
    return np.ma.masked_array(X, mask=np.arange(X.size).reshape(X.shape) < 3)


DAYS = pd.date_range("2020-01-01", periods=50)


def _sparse_tensor(x: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(x).to_sparse_coo()


REFUSED: dict[str, Any] = {
    "two-columns-of-one-name": lambda: pd.DataFrame(np.ones((5, 2)), columns=["a", "a"]),
    "lazy-frame": lambda: pl.DataFrame({"a": [1.0, 2.0]}).lazy(),
    "no-rows": lambda: np.empty((0, 7)),
    "no-columns": lambda: np.empty((5, 0)),
    "no-rows-sparse": lambda: sp.csr_array((0, 7)),
    "empty-list": lambda: [],
    "1-d": lambda: grey_rows()[0],
    "1-d-sparse": lambda: sp.coo_array(grey_rows()[0]),
    "5-d": lambda: grey_rows()[None, None, None],
    "channels-first": lambda: np.zeros((5, 3, 6, 6)),
    "scalar": lambda: 3.0,
    "nan": lambda: _with(np.nan),
    "infinity": lambda: _with(np.inf),
    "minus-infinity": lambda: _with(-np.inf),
    "nan-sparse": lambda: sp.csr_array(_with(np.nan)),
    "nan-tensor": lambda: torch.from_numpy(_with(np.nan)),
    "masked": lambda: _masked(grey_rows()),
    "masked-counts": lambda: _masked(count_rows().astype(int)),
    "nan-frame": lambda: pd.DataFrame(_with(np.nan)),
    "none-in-list": lambda: [[1.0, None], [0.0, 1.0]],
    "strings": lambda: np.array([["a", "b"], ["c", "d"]]),
    "list-of-strings": lambda: ["a sentence", "another one"],
    "nested-strings": lambda: [["a", "b"], ["c", "d"]],
    "text-column": lambda: pd.DataFrame([[1.0, "x"], [2.0, "y"]]),
    "string": lambda: "rows.csv",
    "bytes": lambda: b"rows",
    "none": lambda: None,
    "dict": lambda: {"a": [1, 2]},
    "iterator": lambda: iter([[1.0, 2.0]]),
    "ragged-list": lambda: [[1.0, 2.0], [3.0]],
    "complex": lambda: grey_rows().astype(complex),
    "beyond-float32": lambda: _with(1e300, grey_rows().astype(np.float64)),
    "beyond-float32-negative": lambda: _with(-1e300, grey_rows().astype(np.float64)),
    "beyond-float32-sparse": lambda: sp.csr_array(_with(1e300, grey_rows().astype(np.float64))),
    "beyond-float32-squares": lambda: grey_rows() * 1e30,
    "sparse-tensor": lambda: _sparse_tensor(grey_rows()),
    "empty-frame": pd.DataFrame,
    "frame-without-columns": lambda: pd.DataFrame(index=range(5)),
    "frame-without-rows": lambda: pd.DataFrame(columns=[0, 1]),
    "empty-polars-frame": pl.DataFrame,
    "dates": lambda: pd.DataFrame({"day": DAYS}),
    "dates-and-numbers": lambda: pd.DataFrame({"day": DAYS, "x": 1.0}),
    "dates-with-a-zone": lambda: pd.DataFrame({"day": DAYS.tz_localize("UTC"), "x": 1.0}),
    "spans-of-time": lambda: pd.DataFrame({"since": DAYS - DAYS[0]}),
    "dates-in-polars": lambda: pl.DataFrame({"day": list(DAYS.to_pydatetime()), "x": [1.0] * len(DAYS)}),
    "dates-in-an-array": lambda: DAYS.to_numpy()[:, None],
    "dates-as-objects": lambda: DAYS.to_pydatetime()[:, None],
    "series": lambda: pd.Series(grey_rows()[0]),
}


@BOTH
@pytest.mark.parametrize("kind", [kind for kind in REFUSED if kind != "list-of-strings"])  # texts can be fitted
def test_unusable_rows_are_refused(kind: str, cls: type) -> None:
    with pytest.raises(FewhotError) as error:
        small(cls).fit(REFUSED[kind]())
    assert_one_sentence(error.value)


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("verb", ["transform", "codes", "score_samples", "score", "sample_like", "partial_fit"])
def test_unusable_rows_are_refused_by_a_fitted_model(vsc: VSC, kind: str, verb: str) -> None:
    with pytest.raises(FewhotError) as error:
        getattr(vsc, verb)(REFUSED[kind]())
    assert_one_sentence(error.value)


@pytest.mark.parametrize("kind", ["masked", "masked-counts"])
def test_masked_entries_are_called_missing(kind: str) -> None:
    with pytest.raises(InvalidInputError, match=r"^X has 3 masked of 350 entries; impute or drop the missing values"):
        small(VSC).fit(REFUSED[kind]())


def test_a_mask_over_nothing_is_as_good_as_none(vsc: VSC, rows: np.ndarray) -> None:
    X = np.ma.masked_array(rows, mask=np.zeros(rows.shape, dtype=bool))
    assert same_weights(small(VSC).fit(X), small(VSC).fit(rows))
    np.testing.assert_array_equal(vsc.score_samples(np.ma.masked_array(rows)), vsc.score_samples(rows))


@pytest.mark.parametrize("kind", [kind for kind in REFUSED if kind.startswith(("dates", "spans"))])
def test_dates_are_called_dates(kind: str) -> None:
    with pytest.raises(
        FewhotError, match=r"holds dates or times.*; turn them into numbers first|\((dates|spans of time)"
    ):
        small(VSC).fit(REFUSED[kind]())


def test_all_columns_of_a_frame_that_are_no_numbers_are_named_at_once() -> None:
    frame = pd.DataFrame({"day": DAYS[:5], "x": 1.0, "kind": ["u", "v", None, "u", "u"], "n": [1, 2, *[np.nan] * 3]})
    with pytest.raises(FewhotError) as error:
        small(VSC).fit(frame)
    assert str(error.value) == (
        "X has columns that are not plain numbers: 'day' (dates), 'kind' (text, 2 different values ('u', 'v'); 1 of 5 "
        "missing), 'n' (3 of 5 missing); encode them with fewhot.data.TableVectorizer().fit_transform(X) or "
        "scikit-learn's ColumnTransformer, or drop them."
    )
    X = TableVectorizer().fit_transform(frame)
    assert np.isfinite(X).all()


@pytest.mark.parametrize("kind", [kind for kind in REFUSED if kind != "none"])
def test_unusable_held_out_rows_are_refused_by_their_own_name(kind: str) -> None:
    with pytest.raises(FewhotError, match=r"\bX_val\b") as error:
        small(VSC).fit(grey_rows(), X_val=REFUSED[kind]())
    assert_one_sentence(error.value)
    assert not re.search(r"\bX\b", str(error.value))


ACCEPTED: dict[str, Any] = {
    "one-row": lambda: grey_rows(1),
    "two-rows": lambda: grey_rows(2),
    "one-column": lambda: grey_rows(n_columns=1),
    "one-value": lambda: np.array([[0.5]]),
    "one-sparse-row": lambda: sp.csr_array(grey_rows(1)),
    "constant-column": lambda: np.hstack([grey_rows(), np.full((50, 1), 0.25)]),
    "constant-columns-real": lambda: np.full((30, 4), -7.5),
    "all-zero": lambda: np.zeros((30, 4)),
    "all-zero-sparse": lambda: sp.csr_array((30, 4)),
    "all-one": lambda: np.ones((30, 4)),
    "empty-sparse-rows": lambda: sp.csr_array(np.vstack([count_rows(), np.zeros((5, 7))])),
    "float16": lambda: grey_rows().astype(np.float16),
    "int64": lambda: count_rows().astype(np.int64),
    "large-counts": lambda: count_rows() * 1_000_000,
    "bool": lambda: grey_rows() > 0.5,
    "dictionary-of-keys": lambda: sp.dok_array(grey_rows()),
    "bool-sparse": lambda: sp.csr_array(grey_rows() > 0.5),
    "tiny-numbers": lambda: (grey_rows().astype(np.float64) - 0.5) * 1e-12,
    "huge-numbers": lambda: (grey_rows().astype(np.float64) - 0.5) * 1e15,
    "negative": lambda: -grey_rows(),
    "object-numbers": lambda: grey_rows().astype(object),
    "long-double": lambda: grey_rows().astype(np.longdouble),
    "half-tensor": lambda: torch.from_numpy(grey_rows()).half(),
    "nullable-frame": lambda: pd.DataFrame(grey_rows()).astype("Float32"),
}


@BOTH
@pytest.mark.parametrize("kind", ACCEPTED)
def test_unusual_rows_are_fitted_and_encoded(kind: str, cls: type) -> None:
    X = ACCEPTED[kind]()
    estimator = small(cls, max_steps=12).fit(X)
    assert np.isfinite(dense(estimator.transform(X))).all()
    assert np.isfinite(estimator.score_samples(X)).all()
    assert np.isfinite(estimator.sample(2, random_state=0)).all()


@pytest.mark.parametrize("factor", [1e-30, 1e30])
def test_scales_whose_squares_leave_float32_are_refused(factor: float) -> None:
    with pytest.raises(FewhotError, match="rescale") as error:
        small(VSC, max_steps=12).fit((grey_rows().astype(np.float64) - 0.5) * factor)
    assert_one_sentence(error.value)


def test_values_too_large_are_blamed_on_their_scale_before_training_starts() -> None:
    seen: list[Any] = []
    with pytest.raises(FewhotError, match=r"as large as 5e\+29.*rescale the columns first\.$"):
        small(VSC, callbacks=[seen.append]).fit(np.linspace(-0.5, 0.5, 60).reshape(12, 5) * 1e30)
    assert not seen


@BOTH
@pytest.mark.parametrize("n_rows", [2, 41, 513])
def test_batch_normalisation_meets_batches_of_two_rows_or_more(cls: type, n_rows: int) -> None:
    estimator = small(cls, encoder=_normalising(), max_steps=60).fit(grey_rows(n_rows))
    assert np.isfinite(estimator.score_samples(grey_rows(1))).all()
    alone, among_others = estimator.transform(grey_rows(n_rows)[:1]), estimator.transform(grey_rows(n_rows))
    np.testing.assert_allclose(dense(alone), dense(among_others)[:1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("n_rows", "change"), [(1, {}), (50, {"batch_size": 1})], ids=["one-row", "batches-of-one"])
def test_batch_normalisation_of_a_single_row_is_refused(n_rows: int, change: dict[str, Any]) -> None:
    with pytest.raises(FewhotError, match="batch normalisation") as error:
        small(VSC, encoder=_normalising(), **change).fit(grey_rows(n_rows))
    assert_one_sentence(error.value)


def _normalising() -> nn.Module:
    return nn.Sequential(nn.Linear(7, 5), nn.BatchNorm1d(5), nn.ReLU())


@pytest.mark.parametrize(
    ("likelihood", "X"),
    [
        ("poisson", -count_rows()),
        ("poisson", grey_rows()),
        ("negative-binomial", -count_rows()),
        ("multinomial", -count_rows()),
        ("bernoulli", grey_rows() + 0.5),
        ("bernoulli", -grey_rows()),
        ("bernoulli", sp.csr_array(grey_rows() * 3)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_rows_outside_the_support_are_refused(likelihood: str, X: Any) -> None:
    with pytest.raises(FewhotError, match="accepts") as error:
        small(VSC, likelihood=likelihood).fit(X)
    assert_one_sentence(error.value)


@pytest.mark.parametrize("verb", ["transform", "codes", "score_samples", "sample_like", "log_likelihood"])
def test_rows_outside_the_support_are_refused_after_fitting(vsc: VSC, verb: str) -> None:
    with pytest.raises(FewhotError, match="Bernoulli") as error:
        getattr(vsc, verb)(grey_rows() * 3)
    assert_one_sentence(error.value)


@pytest.mark.parametrize("width", [3, 9])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, pd.DataFrame, torch.from_numpy])
def test_another_width_is_refused_after_fitting(vsc: VSC, width: int, container: Any) -> None:
    with pytest.raises(FewhotError, match="expecting 7 features") as error:
        vsc.transform(container(grey_rows(n_columns=width)))
    assert_one_sentence(error.value)


NAN = float("nan")
BAD_ARGUMENTS: list[dict[str, Any]] = [
    *({"n_components": value} for value in (0, -1, 2.5, "many", None, True, NAN)),
    *({"hidden_layer_sizes": value} for value in ((), 5, "wide", (0,), (8, -1), (2.5,))),
    *({"max_steps": value} for value in (0, -1, 1.5, "all")),
    *({"max_epochs": value} for value in (0, 1.5)),
    *({"batch_size": value} for value in (0, -4, 2.5, "auto-ish")),
    *({"learning_rate": value} for value in (0, -1e-3, NAN, "fast")),
    *({"verbose": value} for value in (-1, "loud", None)),
    *({"warm_start": value} for value in (1, "yes", None)),
    *({"validation_fraction": value} for value in (-0.1, 1.0, NAN, "some")),
    *({"n_iter_no_change": value} for value in (0, 2.5)),
    *({"refine_steps": value} for value in (-1, 2.5, None)),
    *({"likelihood": value} for value in ("gausian", 5, None, GaussianLikelihood(3))),
    *({"observation": value} for value in ("binarise", 5)),
    *({"encoder": value} for value in ("transformer", 5, None)),
    *({"recipe": value} for value in ("iclr", 5)),
    *({"device": value} for value in ("tpu", "mps", "meta", "cuda:99", None, 5)),
    *({"precision": value} for value in ("float64", 32, None)),
    *({"compile": value} for value in ("yes", 1, None)),
    *({"random_state": value} for value in (-1, 1.5, "seed", True)),
    *({"callbacks": value} for value in (print, [5], "log", [None])),
]
BAD_VSC: list[dict[str, Any]] = [
    *({"alpha": value} for value in (0, 1, -0.1, 1.5, NAN, "low")),
    *({"density": value} for value in (0, -0.1, 1.5, NAN, "low")),
    *({"l0": value} for value in (0, -1, 7, NAN, "few")),
    *({"max_active": value} for value in (0, 2.5, "few")),
    *({"prior": value} for value in ("vamp", None)),
    *({"n_pseudo_inputs": value} for value in (0, 2.5, "some")),
    *({"prior_sharpness": value} for value in (0, -1, NAN, "sharp")),
    *({"trained_bound": value} for value in ("elbo", None)),
    *({"selection": value} for value in ("argmax", None)),
    *({"pretrain_spikes": value} for value in (-0.1, 0.7, NAN, "long")),
    *({"dense_start": value} for value in (-0.1, 0.7, NAN, "long")),
    *({"decoder_sees_gates": value} for value in (1, "yes", None)),
    {"dense_start": 0.5, "l0": 2, "pretrain_spikes": 0.2},
    {"dense_start": 0.5, "l0": 2, "recipe": "uai2019"},
]
BAD_VAE: list[dict[str, Any]] = [
    *({"beta": value} for value in (-1, NAN, "big")),
    *({"penalty": value} for value in ("l3", 1)),
    *({"penalty_weight": value} for value in (-1, NAN)),
]


@pytest.mark.parametrize(
    ("cls", "change"),
    [(VSC, change) for change in BAD_ARGUMENTS + BAD_VSC] + [(VAE, change) for change in BAD_VAE],
    ids=lambda value: ",".join(f"{k}={v!r}" for k, v in value.items())[:40] if isinstance(value, dict) else "",
)
def test_bad_arguments_are_refused_at_fit(cls: type, change: dict[str, Any]) -> None:
    with pytest.raises(FewhotError) as error:
        small(cls, **change).fit(grey_rows())
    assert_one_sentence(error.value)
    assert not hasattr(error.value, "__notes__")


@pytest.mark.parametrize(
    ("cls", "name"),
    [(VAE, "beta"), (VAE, "learning_rate"), (NFA, "kl_weight"), (MATVAE, "kl_weight"), (HSVAE, "kl_weight")],
)
def test_an_infinite_weight_is_refused_by_name(cls: type, name: str) -> None:
    with pytest.raises(InvalidParameterError, match=rf"^{name} is inf; it must be a (finite )?number") as error:
        cls(**(SMALL | {name: float("inf")})).fit(count_rows())
    assert_one_sentence(error.value)


@pytest.mark.parametrize(
    ("cls", "name"),
    [(VAE, "beta"), (BetaTCVAE, "beta"), (NFA, "kl_weight"), (MATVAE, "kl_weight"), (HSVAE, "kl_weight")],
)
def test_a_weight_whose_gradients_overflow_is_refused_by_name(cls: type, name: str) -> None:
    with pytest.raises(InvalidParameterError, match=rf"^{name} is 1e\+30; it must be .* at most 1e\+18"):
        cls(**(SMALL | {name: 1e30})).fit(count_rows())


def test_a_near_miss_is_suggested() -> None:
    with pytest.raises(FewhotError, match="Did you mean 'gaussian'"):
        small(VSC, likelihood="gausian").fit(grey_rows())


@pytest.mark.parametrize(
    "Z",
    [
        np.zeros((2, 5)),
        np.zeros((2, 7)),
        np.zeros(6),
        np.zeros((2, 6, 1)),
        np.zeros((0, 6)),
        np.full((2, 6), np.nan),
        np.full((2, 6), np.inf),
        np.full((2, 6), 1e300),
        np.ma.masked_less(np.zeros((2, 6)), 1),
        np.zeros((2, 6), dtype=complex),
        np.array([["a"] * 6]),
        [["a"] * 6],
        ["a", "b"],
        [[1.0, 2.0], [3.0]],
        sp.csr_array((2, 5)),
        sp.csr_array(np.full((2, 6), np.nan)),
        None,
        "codes",
    ],
    ids=lambda z: f"{type(z).__name__}-{getattr(z, 'shape', '')}",
)
def test_unusable_codes_are_refused(vsc: VSC, Z: Any) -> None:
    with pytest.raises(FewhotError) as error:
        vsc.inverse_transform(Z)
    assert_one_sentence(error.value)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, pd.DataFrame, torch.from_numpy])
def test_codes_of_no_rows_are_asked_for_one(vsc: VSC, container: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"^Codes of shape \(0, 6\) were given; give at least one row\.$"):
        vsc.inverse_transform(container(np.zeros((0, 6))))


@pytest.mark.parametrize(
    "container",
    [
        lambda z: z.tolist(),
        pd.DataFrame,
        sp.csr_matrix,
        torch.from_numpy,
        lambda z: torch.from_numpy(z).requires_grad_(),
        np.asfortranarray,
    ],
)
def test_codes_are_read_from_every_container(vsc: VSC, container: Any) -> None:
    Z = np.eye(6, dtype=np.float32)
    np.testing.assert_array_equal(vsc.inverse_transform(container(Z)), vsc.inverse_transform(Z))


@BOTH
@pytest.mark.parametrize(
    "ask",
    [
        lambda e: e.transform(grey_rows()),
        lambda e: e.codes(grey_rows()),
        lambda e: e.score(grey_rows()),
        lambda e: e.score_samples(grey_rows()),
        lambda e: e.log_likelihood(grey_rows()),
        lambda e: e.inverse_transform(np.zeros((2, 6))),
        lambda e: e.sample(),
        lambda e: e.sample_like(grey_rows()),
        lambda e: e.get_feature_names_out(),
        lambda e: e.save("nowhere"),
    ],
)
def test_verbs_before_fit_ask_for_fit(cls: type, ask: Any) -> None:
    with pytest.raises(NotFittedError, match="fit"):
        ask(small(cls))


def test_a_refused_fit_leaves_the_last_model(rows: np.ndarray) -> None:
    estimator = small(VSC).fit(rows)
    before = estimator.score(rows)
    with pytest.raises(FewhotError):
        estimator.fit(_with(np.nan))
    assert estimator.score(rows) == before


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_large_numbers_that_float32_blurs_are_refused(dtype: type) -> None:
    rows = (np.random.default_rng(0).normal(size=(50, 3)) + np.array([0.0, 1e7, 0.0])).astype(dtype)
    with pytest.raises(InvalidInputError, match=r"Column 1 of X has values near 1e\+07 .* subtract its mean"):
        VAE(n_components=2, max_steps=2).fit(rows)


def test_large_numbers_that_differ_enough_or_not_at_all_are_fitted() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 1e7, 0.0] + np.array([0.0, 1e7, 1e7])
    assert np.isfinite(VAE(n_components=2, max_steps=2, random_state=0).fit(rows).score(rows))


@pytest.mark.parametrize(("likelihood", "value"), [("bernoulli", 1.5), ("poisson", 0.5), ("multinomial", -1.0)])
def test_new_rows_outside_the_support_are_answered_with_what_a_fitted_model_leaves_open(
    likelihood: str, value: float
) -> None:
    X = np.eye(20, 7, dtype=np.float32)
    estimator = small(VAE, likelihood=likelihood).fit(X)
    with pytest.raises(InvalidInputError, match=r"or fit again with likelihood='gaussian'\.$") as caught:
        estimator.transform(value * X)
    assert_one_sentence(caught.value)
    with pytest.raises(InvalidInputError, match=r"or take likelihood='gaussian'\.$"):
        estimator.fit(value * X)


@pytest.mark.parametrize("sparse", [False, True])
def test_counts_without_a_count_are_refused(sparse: bool) -> None:
    X = np.zeros((20, 4))
    with pytest.raises(InvalidInputError, match="nothing but zeros; give counts") as caught:
        NFA(2, max_steps=2).fit(sp.csr_array(X) if sparse else X)
    assert_one_sentence(caught.value)


HUGE: dict[str, tuple[Callable[[VAE, np.ndarray], Any], str]] = {
    "units": (lambda vae, X: VAE(n_components=10**12).fit(X), "give fewer n_components"),
    "layers": (lambda vae, X: VAE(hidden_layer_sizes=(2**52,)).fit(X), "smaller hidden_layer_sizes"),
    "samples": (lambda vae, X: vae.sample(10**13), "give fewer n_samples"),
    "draws": (lambda vae, X: vae.log_likelihood(X, n_draws=10**13), "give fewer n_draws"),
}


@pytest.mark.parametrize("what", HUGE)
def test_what_is_too_large_for_memory_is_refused_in_a_sentence(what: str) -> None:
    ask, words = HUGE[what]
    with pytest.raises(NotEnoughMemoryError, match=f"Memory does not suffice; .*{words}") as caught:
        ask(small(VAE).fit(grey_rows()), grey_rows())
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("argument", ["n_components", "max_steps"])
def test_numbers_beyond_what_a_machine_counts_are_refused(argument: str) -> None:
    with pytest.raises(InvalidParameterError, match="must be at most") as caught:
        VAE(**{argument: 2**63}).fit(grey_rows())
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("cls", [VAE, VSC, NFA])
@pytest.mark.parametrize("sparse", [False, True])
def test_negative_rows_have_no_features_of_counts(cls: type, sparse: bool) -> None:
    X = count_rows() if not sparse else sp.csr_array(count_rows())
    few = {"n_components": 4, "max_steps": 5, "hidden_layer_sizes": (8,), "random_state": 0, "likelihood": "gaussian"}
    options = few | ({"features": "log"} if cls is NFA else {})
    estimator = cls(**options).fit(X)
    for ask in (estimator.transform, estimator.score, lambda rows: estimator.fit(X, X_val=rows)):
        with pytest.raises(InvalidInputError, match=r"negative values .* reads log\(1 \+ x\); give rows") as caught:
            ask(-X)
        assert_one_sentence(caught.value)


def test_a_module_in_another_precision_is_taken() -> None:
    body = nn.Sequential(nn.Linear(grey_rows().shape[1], 5, dtype=torch.float64), nn.ReLU())
    estimator = small(VAE, encoder=body).fit(grey_rows())
    assert np.isfinite(estimator.score(grey_rows()))
    assert next(body.parameters()).dtype == torch.float64


def test_a_share_of_dense_codes_is_answered_with_sparse_ones() -> None:
    with pytest.raises(
        InvalidParameterError, match=r"max_share says .* NFA has dense codes by default; .* give latent='spike-slab'\."
    ):
        NFA(4, max_share=0.9).fit(count_rows())


@pytest.mark.parametrize("cls", [VSC, HSVAE])
def test_another_default_precision_of_torch_changes_nothing(cls: type, tmp_path: Path) -> None:
    X = grey_rows()
    usual = small(cls).fit(X)
    torch.set_default_dtype(torch.float64)
    try:
        estimator = small(cls).fit(X)
        estimator.save(tmp_path / "model")
        loaded = load(tmp_path / "model")
        codes, scores, drawn = loaded.codes(X).values, loaded.score_samples(X), loaded.sample(3, random_state=0)
        measured = [relaxation_gap(loaded, X).mean, information(loaded, X).mean, summarise(loaded, X).to_dict()]
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    np.testing.assert_array_equal(codes.toarray(), usual.codes(X).values.toarray())
    np.testing.assert_array_equal(scores, usual.score_samples(X))
    np.testing.assert_array_equal(drawn, usual.sample(3, random_state=0))
    assert measured == [relaxation_gap(usual, X).mean, information(usual, X).mean, summarise(usual, X).to_dict()]
