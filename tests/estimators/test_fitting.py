"""Fitting: going on, stopping early, randomness, user encoders, progress and callbacks."""

from __future__ import annotations

import io
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from torch import nn

from fewhot import HSVAE, VAE, VSC, Callback, FewhotError
from fewhot.core.errors import DivergedError, InvalidParameterError
from fewhot.core.records import DataSpec
from fewhot.likelihoods import GaussianLikelihood, LaplaceLikelihood
from fewhot.training import gate_shift, progress
from tests.estimators.cases import (
    BOTH,
    N_COLUMNS,
    N_ROWS,
    assert_one_sentence,
    grey_rows,
    one_of_four,
    same_weights,
    small,
    weights,
)

# ------------------------------------------------------------------------------------------------- going on


@BOTH
def test_warm_start_goes_on_where_the_last_fit_ended(cls: type, rows: np.ndarray) -> None:
    estimator = small(cls, warm_start=True, max_steps=60).fit(rows)
    module, before = estimator.module_, weights(estimator)
    estimator.fit(rows)
    assert estimator.module_ is module
    assert estimator.n_iter_ == 120
    assert estimator.history_[-1]["step"] == 120
    assert [record["step"] for record in estimator.history_] == sorted({r["step"] for r in estimator.history_})
    assert not np.array_equal(weights(estimator)["decoder.output.weight"], before["decoder.output.weight"])


def test_without_warm_start_a_fit_begins_anew(rows: np.ndarray) -> None:
    estimator = small(VSC).fit(rows)
    first = weights(estimator)
    assert estimator.fit(rows).n_iter_ == 30
    assert all(np.array_equal(first[name], value) for name, value in weights(estimator).items())


def test_warm_start_refuses_other_columns(rows: np.ndarray) -> None:
    estimator = small(VSC, warm_start=True).fit(rows)
    with pytest.raises(FewhotError, match="features") as error:
        estimator.fit(rows[:, :3])
    assert_one_sentence(error.value)


@BOTH
def test_partial_fit_takes_one_pass_at_a_time(cls: type, rows: np.ndarray) -> None:
    estimator = small(cls).partial_fit(rows)
    assert estimator.n_iter_ == 3  # fifty rows in batches of twenty
    assert estimator.partial_fit(rows[:20]).n_iter_ == 4


def test_partial_fit_learns() -> None:
    rows, estimator = one_of_four(), small(VAE, learning_rate=1e-2, max_steps=400)
    first = estimator.partial_fit(rows).score(rows)
    for _ in range(40):
        estimator.partial_fit(rows)
    assert estimator.score(rows) > first + 0.5


def test_partial_fit_after_an_early_stop_is_not_undone(rows: np.ndarray) -> None:
    estimator = small(VAE, n_iter_no_change=2, max_steps=60).fit(rows)
    before = weights(estimator)
    estimator.partial_fit(rows)
    assert any(not np.array_equal(before[name], value) for name, value in weights(estimator).items())


def test_warm_start_after_an_early_stop_trains_again(rows: np.ndarray) -> None:
    estimator = small(VAE, n_iter_no_change=2, max_steps=600, learning_rate=0.05, warm_start=True).fit(rows)
    stopped = estimator.n_iter_
    assert stopped < 600
    estimator.fit(rows)
    assert estimator.n_iter_ > stopped + 3  # more than the first evaluation


@pytest.mark.parametrize("go_on", ["partial_fit", "fit"])
def test_going_on_refuses_rows_outside_the_likelihoods_support(go_on: str, rows: np.ndarray) -> None:
    estimator = small(VSC, warm_start=True).fit(rows)
    with pytest.raises(FewhotError, match="Bernoulli") as error:
        getattr(estimator, go_on)(rows * 5)
    assert_one_sentence(error.value)


# ------------------------------------------------------------------------------------------------- stopping early


def test_early_stopping_keeps_the_weights_of_the_best_evaluation(rows: np.ndarray) -> None:
    class Watch(Callback):
        def __init__(self) -> None:
            self.bounds: list[float] = []

        def on_evaluation(self, record: dict[str, Any]) -> None:
            self.bounds.append(record["evaluation"]["bound"])

    watch = Watch()
    X_val = grey_rows(seed=1)
    estimator = small(
        VAE, max_steps=2000, learning_rate=0.02, n_iter_no_change=4, hidden_layer_sizes=(64,), callbacks=[watch]
    ).fit(rows, X_val=X_val)
    best = int(np.argmax(watch.bounds))
    assert estimator.n_iter_ < 2000
    assert len(watch.bounds) == best + 1 + 4

    again = small(
        VAE,
        max_steps=2000,
        learning_rate=0.02,
        n_iter_no_change=None,
        hidden_layer_sizes=(64,),
        callbacks=[lambda record: record["step"] == estimator.history_[best]["step"]],
    ).fit(rows, X_val=X_val)
    assert same_weights(estimator, again)


def test_held_out_rows_are_not_trained_on(rows: np.ndarray) -> None:
    estimator = small(VAE, n_iter_no_change=5, validation_fraction=0.4).fit(rows)
    assert estimator.history_[0]["rows"] == "held-out"
    assert estimator.history_[0]["epoch"] == pytest.approx(2 * 20 / 30, abs=1e-3)  # thirty rows remain of fifty


@pytest.mark.parametrize("change", [{"n_iter_no_change": None}, {"n_iter_no_change": 5, "validation_fraction": 0.0}])
def test_without_held_out_rows_all_rows_are_trained_on(change: dict[str, Any], rows: np.ndarray) -> None:
    estimator = small(VAE, **change).fit(rows)
    assert estimator.history_[0]["rows"] == "training rows"
    assert estimator.n_iter_ == 30


def test_given_held_out_rows_are_used_and_all_of_X_is_trained_on(rows: np.ndarray) -> None:
    estimator = small(VAE, n_iter_no_change=50).fit(rows, X_val=grey_rows(seed=1))
    assert estimator.history_[0]["rows"] == "held-out"
    assert estimator.history_[0]["epoch"] == pytest.approx(3 * 20 / 50)
    other = small(VAE, n_iter_no_change=50).fit(rows, X_val=grey_rows(seed=2))
    bounds = [e.history_[0]["evaluation"]["bound"] for e in (estimator, other)]
    assert bounds[0] != bounds[1]


@pytest.mark.parametrize(
    "X_val", [grey_rows(n_columns=3), grey_rows() * 9, np.full((4, 7), np.nan)], ids=["width", "support", "nan"]
)
def test_unusable_held_out_rows_are_refused(X_val: np.ndarray, rows: np.ndarray) -> None:
    with pytest.raises(FewhotError) as error:
        small(VSC).fit(rows, X_val=X_val)
    assert_one_sentence(error.value)


# ------------------------------------------------------------------------------------------------- randomness


@BOTH
@pytest.mark.parametrize(
    "state", [lambda: 3, lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)], ids=["int", "gen", "old"]
)
def test_the_same_random_state_gives_the_same_bits(cls: type, state: Any, rows: np.ndarray) -> None:
    a = small(cls, random_state=state(), n_iter_no_change=3).fit(rows)
    b = small(cls, random_state=state(), n_iter_no_change=3).fit(rows)
    assert same_weights(a, b)
    assert a.history_ == b.history_
    np.testing.assert_array_equal(a.score_samples(rows), b.score_samples(rows))


def test_another_or_no_random_state_gives_another_model(rows: np.ndarray) -> None:
    models = [small(VSC, random_state=state).fit(rows) for state in (0, 1, None, None)]
    assert len({float(weights(m)["decoder.output.weight"].sum()) for m in models}) == 4


def test_the_recorded_seed_repeats_an_unseeded_fit(rows: np.ndarray) -> None:
    free = small(VSC, random_state=None).fit(rows)
    assert same_weights(free, small(VSC, random_state=free.seed_).fit(rows))


@BOTH
def test_global_random_states_are_neither_read_nor_moved(cls: type, rows: np.ndarray) -> None:
    encoder, fits = nn.Sequential(nn.Linear(7, 8), nn.Dropout(0.5)), []
    for seed in (0, 1):
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
        estimator = small(cls, encoder=encoder).fit(rows)
        estimator.codes(rows)
        estimator.sample(3)
        assert torch.equal(torch.get_rng_state(), before[0])
        assert np.array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002
        fits.append(estimator)
    assert same_weights(*fits)


@pytest.mark.parametrize("dropout", [False, True])
def test_fits_in_parallel_threads_do_not_disturb_each_other(dropout: bool, rows: np.ndarray) -> None:
    encoder = nn.Sequential(nn.Linear(7, 8), nn.Dropout(0.5)) if dropout else "auto"

    def fit(seed: int) -> VSC:
        return small(VSC, random_state=seed, encoder=encoder).fit(rows)

    before = torch.get_rng_state()
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(fit, [0, 1, 2, 3] * 3))
    assert torch.equal(before, torch.get_rng_state())
    alone = [fit(seed) for seed in range(4)] * 3
    assert all(same_weights(a, b) for a, b in zip(together, alone, strict=True))


# ------------------------------------------------------------------------------------------------- what came of it


@pytest.mark.parametrize(("asked", "says"), [({"l0": 4}, "4"), ({"density": 0.5}, "3")])
def test_a_number_of_units_that_was_not_reached_is_said(
    asked: dict[str, float], says: str, rows: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_shift, "LARGEST_SHIFT", 0.0)
    sentence = rf"^{says} active units a row were asked for, and .* more steps"
    with pytest.warns(ConvergenceWarning, match=sentence) as told:
        small(VSC, max_steps=2, **asked).fit(rows)
    assert [warning.filename for warning in told] == [__file__]


def test_the_last_shift_brings_held_out_rows_to_the_number_asked_for() -> None:
    rows, held_out = grey_rows(n_rows=300), grey_rows(n_rows=200, seed=1)
    estimator = small(VSC, l0=3, max_steps=600, n_iter_no_change=5).fit(rows, X_val=held_out)
    assert abs(estimator.gate_shift_) < 1
    assert estimator.transform(held_out).nnz == 600


def test_a_shift_has_a_limit(rows: np.ndarray) -> None:
    assert abs(small(VSC, l0=6, max_steps=2).fit(rows).gate_shift_) <= 1


@pytest.mark.parametrize("guard", [torch.no_grad, torch.inference_mode])
def test_a_fit_brings_its_own_gradients(guard: Any, rows: np.ndarray) -> None:
    with guard():
        inside = small(VSC).fit(rows)
    assert same_weights(inside, small(VSC).fit(rows))


def test_a_fitted_model_keeps_no_gradients_and_no_second_copy_of_its_weights(rows: np.ndarray) -> None:
    estimator = small(VSC, n_iter_no_change=3).fit(rows)
    assert all(p.grad is None for p in estimator.module_.parameters())
    weights = sum(p.numel() for p in estimator.module_.parameters())
    kept = sum(t.numel() for t in estimator._training_state[0].values() if t.is_floating_point())
    assert kept < 2.1 * weights + 100  # Adam's two moments


@pytest.mark.filterwarnings("error")
def test_a_number_of_units_that_was_reached_is_not_commented_on() -> None:
    rows = grey_rows(n_rows=400)
    estimator = small(VSC, l0=3, max_steps=3000).fit(rows)
    assert abs((estimator.transform(rows) != 0).sum(1).mean() - 3) < 0.4


def test_few_held_out_rows_do_not_decide_the_last_turn_of_the_dial() -> None:
    rows = grey_rows(n_rows=90)
    estimator = small(VSC, l0=3, max_steps=600, n_iter_no_change=5).fit(rows)
    assert abs(estimator.gate_shift_) < 1
    assert estimator.transform(rows).nnz == 270


@pytest.mark.parametrize("cls", [VSC, HSVAE])
def test_a_unit_that_serves_more_rows_than_it_may_is_said(cls: type) -> None:
    with pytest.warns(ConvergenceWarning, match="more than 20% of the rows, and one serves .* larger max_share"):
        small(cls, l0=1, n_components=5, max_share=0.2, max_steps=2).fit(grey_rows(n_rows=90))


@pytest.mark.slow
def test_the_largest_share_is_held() -> None:
    rows = load_digits().data / 16
    estimator = VSC(64, l0=4, max_share=0.2, max_steps=2000, random_state=0).fit(rows)
    assert (estimator.transform(rows) != 0).mean(0).max() < 0.25


def test_a_fixed_rate_asks_for_no_number(rows: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small(VSC, alpha=0.5, max_steps=2).fit(rows)


@pytest.mark.parametrize(
    ("likelihood", "name"), [("auto", "bernoulli"), ("gaussian", "gaussian"), (LaplaceLikelihood(7), "laplace")]
)
def test_the_likelihood_that_was_fitted_has_a_name(likelihood: Any, name: str, rows: np.ndarray) -> None:
    assert small(VAE, likelihood=likelihood).fit(rows).likelihood_ == name


# ------------------------------------------------------------------------------------------------- user encoders


def test_a_users_encoder_is_copied_and_trained(rows: np.ndarray) -> None:
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(7, 5), nn.Tanh())
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    module = small(VSC, encoder=encoder).fit(rows).module_
    assert all(torch.equal(before[name], value) for name, value in encoder.state_dict().items())
    assert not torch.equal(module.encoder.body.module[0].weight, encoder[0].weight)
    assert encoder.training


class _Raises(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise KeyError("two\nlines")


@pytest.mark.parametrize(
    "encoder",
    [nn.Linear(3, 4), nn.Flatten(0), nn.LSTM(7, 4), nn.Unflatten(1, (7, 1)), _Raises()],
    ids=lambda module: type(module).__name__,
)
def test_an_encoder_of_the_wrong_shape_is_refused(encoder: nn.Module, rows: np.ndarray) -> None:
    with pytest.raises(FewhotError, match="encoder") as error:
        small(VSC, encoder=encoder).fit(rows)
    assert_one_sentence(error.value)


def test_dropout_acts_in_training_and_not_in_encoding(rows: np.ndarray) -> None:
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(7, 8), nn.Dropout(0.5))
    estimator = small(VAE, encoder=encoder).fit(rows)
    plain = small(VAE, encoder=encoder[:1]).fit(rows)
    np.testing.assert_array_equal(estimator.transform(rows), estimator.transform(rows))
    assert not np.array_equal(estimator.transform(rows), plain.transform(rows))


def test_a_further_fit_that_failed_leaves_a_model_that_encodes(rows: np.ndarray) -> None:
    torch.manual_seed(0)
    estimator = small(VAE, encoder=nn.Sequential(nn.Linear(7, 8), nn.Dropout(0.5))).fit(rows)
    estimator.set_params(callbacks=[lambda record: 1 / 0])
    with pytest.raises(ZeroDivisionError):
        estimator.partial_fit(rows)
    np.testing.assert_array_equal(estimator.transform(rows), estimator.transform(rows))


# ------------------------------------------------------------------------------------------------- progress, callbacks


def test_progress_without_a_terminal_ends_in_one_line(rows: np.ndarray, capfd: pytest.CaptureFixture[str]) -> None:
    quiet = small(VSC).fit(rows)
    assert capfd.readouterr() == ("", "")
    loud = small(VSC, verbose=1).fit(rows)
    out, err = capfd.readouterr()
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    for word in ("step 30 of 30", "ELBO", "nats", "active", "steps/s"):
        assert word in err
    assert same_weights(quiet, loud)


def test_progress_on_a_terminal_draws_a_bar(rows: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=160)
    monkeypatch.setattr(progress, "Console", lambda **_: console)
    small(VAE, verbose=1).fit(rows)
    assert "30/30" in screen.getvalue()
    assert "used units" in screen.getvalue()


class _Diary(Callback):
    def __init__(self) -> None:
        self.entries: list[Any] = []

    def on_start(self, max_steps: int) -> None:
        self.entries.append(("start", max_steps))

    def on_evaluation(self, record: dict[str, Any]) -> None:
        self.entries.append(record["step"])

    def on_end(self, record: dict[str, Any] | None) -> None:
        self.entries.append(("end", record and record["step"]))


def test_a_callback_sees_start_evaluations_and_end(rows: np.ndarray) -> None:
    diary = _Diary()
    estimator = small(VAE, callbacks=[diary], max_steps=9).fit(rows)  # evaluated after each of three epochs
    assert diary.entries == [("start", 9), 3, 6, 9, ("end", 9)]
    assert [record["step"] for record in estimator.history_] == [3, 6, 9]


def test_a_callback_is_told_of_the_end_when_training_fails(rows: np.ndarray) -> None:
    diary = _Diary()

    def fail(record: dict[str, Any]) -> None:
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        small(VAE, callbacks=[diary, fail]).fit(rows)
    assert diary.entries[-1] == ("end", 3)


@pytest.mark.parametrize(("answer", "steps"), [(True, 3), (False, 30), (None, 30)])
def test_a_function_that_returns_true_stops_the_run(answer: bool | None, steps: int, rows: np.ndarray) -> None:
    assert small(VAE, callbacks=[lambda record: answer]).fit(rows).n_iter_ == steps


def test_every_callback_is_heard_even_after_one_says_stop(rows: np.ndarray) -> None:
    seen: list[int] = []
    small(VAE, callbacks=[lambda record: True, lambda record: seen.append(record["step"])]).fit(rows)
    assert seen == [3]


def test_a_history_record_is_complete(vsc: VSC) -> None:
    record = vsc.history_[-1]
    assert set(record) == {"step", "epoch", "rows", "terms", "evaluation", "admissible"}
    assert {"bound", "loss", "reconstruction", "kl_gate", "kl_slab", "dial_cost", "gradient"} <= set(record["terms"])
    assert {"bound", "active", "used", "dead", "always_on"} <= set(record["evaluation"])


def test_divergence_is_a_sentence_and_leaves_the_last_model(rows: np.ndarray) -> None:
    estimator = small(VAE, likelihood="gaussian").fit(rows)
    before = weights(estimator)
    with pytest.raises(DivergedError, match="learning_rate") as error:
        estimator.set_params(learning_rate=1e30).fit(rows)
    assert_one_sentence(error.value)
    assert all(np.array_equal(before[name], value) for name, value in weights(estimator).items())


@pytest.mark.parametrize("verb", ["fit", "partial_fit"])
def test_a_model_is_not_trained_further_under_other_arguments(verb: str, rows: np.ndarray) -> None:
    estimator = small(VAE, warm_start=True).fit(rows)
    estimator.set_params(n_components=3, beta=2.0)
    with pytest.raises(InvalidParameterError, match="beta, n_components changed since the model was built"):
        getattr(estimator, verb)(rows)


def test_constant_columns_in_raw_units_do_not_silence_the_code() -> None:
    """A variance that started from theirs, almost 0, made the decoder ignore its code for good."""
    X = load_digits().data.astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    likelihood = GaussianLikelihood(64, standardise=False, floor=1e-4, variance="per-row")
    vae = VAE(64, hidden_layer_sizes=(100,), likelihood=likelihood, max_steps=1000, random_state=0).fit(X)
    error = np.square(X - vae.inverse_transform(vae.transform(X))).sum()
    assert 1 - error / np.square(X - X.mean(0)).sum() > 0.2


@pytest.mark.parametrize(("n_rows", "n_steps"), [(100, 3000), (10_000, 4500), (100_000, 20_000)])
def test_a_fit_is_as_long_as_its_rows_need(n_rows: int, n_steps: int) -> None:
    spec = DataSpec(n_columns=5, n_rows=n_rows)
    assert VSC()._n_steps(-(-int(0.9 * n_rows) // 200), spec) == n_steps
    assert VSC(max_steps=7)._n_steps(-(-n_rows // 200), spec) == 7
    assert VSC(recipe="iclr2019")._n_steps(1, spec) == 20_000


@pytest.mark.parametrize(
    ("n_rows", "of_bags", "of_words"), [(100, 1500, 3000), (10_000, 1800, 4500), (100_000, 18_000, 20_000)]
)
def test_a_fit_of_bags_of_words_takes_fewer_and_larger_steps(n_rows: int, of_bags: int, of_words: int) -> None:
    spec = DataSpec(n_columns=5, n_rows=n_rows, sparse=True, integral=True, maximum=3.0, kind="text")
    a_pass = -(-int(0.9 * n_rows) // 200)
    assert VSC()._n_steps(a_pass, spec) == of_bags
    assert VSC(encoder="gru")._n_steps(a_pass, spec) == of_words
    assert VSC(max_steps=7)._n_steps(a_pass, spec) == 7
    assert VSC(recipe="iclr2019")._n_steps(1, spec) == 20_000
    models = (VSC(), VSC(encoder="gru"), VSC(learning_rate=1e-4), VSC(recipe="iclr2019"))
    rates = [model._rate_of_steps(spec) for model in models]
    assert rates == [2e-3, 1e-3, 1e-4, VSC(recipe="iclr2019")._chosen("learning_rate")]


def test_columns_that_vary_by_rounding_errors_are_named() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6)).astype(np.float32)
    X[:, 2] *= np.float32(1e-33)
    vae = VAE(2, hidden_layer_sizes=(4,), max_steps=5, random_state=0)
    with pytest.warns(UserWarning, match=r"modeled as constants: 1 of 6 columns \(2\)"):
        vae.fit(X)
    assert np.isfinite(vae.score(X))


# ------------------------------------------------------------------------------------------------- constant columns


@BOTH
def test_columns_that_are_constant_in_training_are_decoded_as_their_means(cls: type) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(N_ROWS, N_COLUMNS)).astype(np.float32)
    rows[:, 1], rows[:, 3] = 0.0, 1.0
    rows[:, 5] = 0.5 + 3e-8 * rng.normal(size=N_ROWS)
    with pytest.warns(UserWarning, match=r"1 of 7 columns \(5\)"):
        estimator = small(cls).fit(rows)
    decoded = estimator.inverse_transform(estimator.transform(rows))
    np.testing.assert_allclose(decoded[:, [1, 3, 5]], [[0.0, 1.0, 0.5]] * N_ROWS, atol=1e-6)
    assert (decoded[:, [0, 2, 4, 6]].std(axis=0) > 0).all()
    other = rows.copy()
    other[:, 1] += 1.0
    assert np.isfinite(estimator.score_samples(other)).all()
