"""Pictures of walks, samples, classes, sources and sweeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import fewhot as fh
from fewhot import plots
from fewhot.core.errors import FewhotError, InvalidInputError, InvalidParameterError
from fewhot.metrics import ClassActivation, class_activation, interpolate, traverse
from fewhot.plots.palette import DARK
from tests.plots.fakes import Linear
from tests.plots.test_plots import draw

IDENTITY = Linear(np.eye(4))
A, B = np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.5, 0.0, 2.0, 0.0])
DENSE = Linear(np.eye(4), cut=None)


def images_of(figure: Figure) -> list[list[list[float]]]:
    return [axes.images[0].get_array().tolist() for axes in figure.axes if axes.images]


# -------------------------------------------------------------------------------------------------------------- walks


def test_a_walk_of_pictures_begins_and_ends_with_the_examples() -> None:
    figure = draw(plots.interpolation(IDENTITY, A / 2, B / 2, 4, image_shape=(2, 2)))
    drawn = images_of(figure)
    assert len(drawn) == 7
    assert drawn[0] == drawn[1] == [[0.5, 0.5], [0, 0]]
    assert drawn[-1] == [[0.25, 0], [1, 0]]
    assert [axes.get_title() for axes in figure.axes] == ["from", "0 %", "25 %", "50 %", "75 %", "100 %", "to"]


def test_a_discrete_walk_names_the_unit_of_each_step() -> None:
    figure = draw(plots.interpolation(IDENTITY, A, B, how="discrete", image_shape=(2, 2)))
    assert [axes.get_title() for axes in figure.axes] == ["from", "start", "+ 2", "− 1", "to"]
    assert [axes.texts[0].get_text() for axes in figure.axes] == ["", "2 on", "3 on", "2 on", ""]


def test_of_a_long_walk_some_pictures_are_drawn_with_both_ends() -> None:
    figure = plots.interpolation(IDENTITY, A, B, 100, image_shape=(2, 2), max_pictures=5)
    assert [axes.get_title() for axes in figure.axes] == ["from", "0 %", "25 %", "50 %", "75 %", "100 %", "to"]


def test_a_walk_of_a_table_draws_columns_and_codes() -> None:
    figure = draw(plots.interpolation(IDENTITY, sp.csr_array(A[None]), B, how="discrete", feature_names=list("abcd")))
    columns, codes = figure.axes
    assert [text.get_text() for text in columns.get_yticklabels()][:2] == ["c", "b"]
    assert codes.images[0].get_array().shape == (3, 3)
    assert [text.get_text() for text in codes.get_yticklabels()] == ["start", "+ 2", "− 1"]


def test_a_walk_of_unnamed_columns_draws_a_line_a_code() -> None:
    left = draw(plots.interpolation(IDENTITY, A, B, 4)).axes[0]
    np.testing.assert_allclose([line.get_ydata()[2] for line in left.lines], [0, 0.5, 1, 1.5, 2])


# ------------------------------------------------------------------------------------------------------------ samples


def test_samples_stand_beside_their_row() -> None:
    figure = draw(plots.samples(IDENTITY, np.eye(4)[:2], n_samples=3, image_shape=(2, 2), labels=["a", "$b"]))
    assert len(images_of(figure)) == 2 * (1 + 3 + 3)
    assert len(figure.axes) == 2 * (3 + 1 + 3 + 3)
    assert [axes.texts[0].get_text() for axes in figure.axes if axes.texts and not axes.images] == ["a", "$b"]


def test_samples_like_a_row_keep_its_units_and_others_do_not() -> None:
    like, free = draw(plots.samples(IDENTITY, np.eye(4)[:1], n_samples=5)).axes
    its, others = (np.array([line.get_ydata() for line in axes.lines[:5]]) for axes in (like, free))
    assert not its[:, 1:].any()
    assert others[:, 1:].all()
    assert len({*its[:, 0].tolist()}) == 5
    np.testing.assert_array_equal(like.lines[5].get_ydata(), [1, 0, 0, 0])


def test_samples_of_named_columns_are_dots_over_bars() -> None:
    like, free = draw(plots.samples(IDENTITY, sp.csr_array(np.eye(4)[:1]), feature_names=list("abcd"))).axes
    assert like.get_yticklabels()[0].get_text() == "a"
    assert [bar.get_width() for bar in free.patches] == [1, 0, 0, 0]


def test_a_seed_repeats_the_samples() -> None:
    one, same, other = (images_of(plots.samples(IDENTITY, A, random_state=s, image_shape=(2, 2))) for s in (1, 1, 2))
    assert one == same
    assert one != other


def test_samples_need_gates() -> None:
    with pytest.raises(InvalidParameterError, match="Linear has no gates"):
        plots.samples(DENSE, A)


# ------------------------------------------------------------------------------------------------------------ classes

RECORD = ClassActivation(
    classes=np.array(["cat", "dog"]),
    n_rows=np.array([3, 4]),
    p_active=np.array([[0.1, 0.02, 0.9, 0.4], [0.8, 0.03, 0.2, 0.5]]),
    size=np.array([[0.2, 0.0, 3.0, 0.1], [1.0, 0.0, 0.1, 0.7]]),
)


def test_units_are_ordered_by_the_class_they_serve_and_dead_ones_last() -> None:
    axes = draw(plots.class_activation(RECORD)).axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), RECORD.p_active[:, [2, 0, 3, 1]])
    assert [text.get_text() for text in axes.get_yticklabels()] == ["cat", "dog"]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["2", "0", "3", "1"]
    assert axes.get_xlabel().endswith("1 of 4 are never on")


def test_of_a_matrix_units_that_no_class_uses_are_those_below_a_hundredth() -> None:
    axes = draw(plots.class_activation(np.array([[0.009, 0.2, 0.01], [0.0, 0.8, 0.0]]))).axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["2", "1", "0"]
    assert axes.get_xlabel().endswith("1 of 3 are below 0.01 in every class")


def test_sizes_are_drawn_up_to_the_largest() -> None:
    image = draw(plots.class_activation(RECORD, show="size")).axes[0].images[0]
    assert image.get_clim() == (0.0, 3.0)


def test_a_plain_matrix_of_classes_will_do() -> None:
    axes = draw(plots.class_activation(1 - np.array([[1.0, 0.2], [0.5, 1.0]]), classes=["$a", "b"])).axes[0]
    np.testing.assert_allclose(axes.images[0].get_array(), [[0.8, 0.0], [0.0, 0.5]])
    assert axes.get_yticklabels()[0].get_text() == "$a"


def test_of_very_many_units_the_strongest_are_drawn() -> None:
    wide = np.zeros((3, 500))
    wide[1, 300], wide[2, 20] = 0.9, 0.8
    axes = draw(plots.class_activation(wide)).axes[0]
    assert axes.images[0].get_array().shape == (3, 128)
    assert axes.get_xticklabels()[0].get_text() == "300"


# ------------------------------------------------------------------------------------------------------------ sources


def test_sources_group_units_and_hide_what_is_small() -> None:
    given = np.array([[0.05, -0.9, 0.0, 0.3], [0.8, 0.0699, 0.06, 0.2]])
    before = given.copy()
    axes = draw(plots.source_correlation(given, names=["x", "y"])).axes[0]
    np.testing.assert_allclose(axes.images[0].get_array(), [[0.9, 0.3, 0, 0], [0, 0.2, 0.8, 0]])
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "3", "0", "2"]
    assert axes.get_xlabel().endswith("(3 of 4 follow one)")
    np.testing.assert_array_equal(given, before)


def test_correlations_are_those_of_sources_and_codes() -> None:
    rng = np.random.default_rng(0)
    sources, codes = rng.normal(size=(80, 2)), rng.normal(size=(80, 3))
    codes[:, 2] -= 2 * sources[:, 1]
    expected = np.abs(np.corrcoef(sources.T, codes.T)[:2, 2:])
    figure = plots.source_correlation(pd.DataFrame(sources), sp.csr_array(codes), hide_below=0)
    order = [int(text.get_text()) for text in figure.axes[0].get_xticklabels()]
    np.testing.assert_allclose(figure.axes[0].images[0].get_array(), expected[:, order], atol=1e-6)


# ------------------------------------------------------------------------------------------------------------- sweeps

RUNS = [
    {"alpha": alpha, "model": model, "seed": seed, "bound": -10 * alpha + seed + 5 * (model == "b"), "share": alpha}
    for alpha in (0.5, 0.1)
    for model in ("a", "b")
    for seed in (0, 1, 2)
]


def bars_of(container: Any) -> np.ndarray:
    (segments,) = (lines.get_segments() for lines in container.lines[2])
    return np.array([np.ptp(segment[:, 1]) / 2 for segment in segments])


@pytest.mark.parametrize(
    "table",
    [
        RUNS,
        pd.DataFrame(RUNS),
        {name: [run[name] for run in RUNS] for name in RUNS[0]},
    ],
    ids=["records", "frame", "columns"],
)
def test_a_sweep_draws_means_over_seeds_with_standard_errors(table: Any) -> None:
    axes = draw(plots.sweep(table, "alpha", "bound", by="model")).axes[0]
    lines = [container.lines[0] for container in axes.containers]
    assert [container.get_label() for container in axes.containers] == ["a", "b"]
    assert [line.get_xdata().tolist() for line in lines] == [[0.1, 0.5]] * 2
    assert [line.get_ydata().tolist() for line in lines] == [[0, -4], [5, 1]]
    np.testing.assert_allclose(bars_of(axes.containers[0]), np.sqrt(1 / 3))


def test_a_sweep_may_show_the_spread_or_nothing() -> None:
    std, none = (plots.sweep(RUNS, "alpha", "bound", "model", error).axes[0].containers[0] for error in ("std", None))
    np.testing.assert_allclose(bars_of(std), 1.0)
    np.testing.assert_allclose(bars_of(none), 0.0)


def test_a_sweep_has_a_panel_a_number_and_leaves_missing_ones_out() -> None:
    runs = [*RUNS, {"alpha": 0.9, "model": "a", "bound": None, "share": 0.9}]
    bound, share = draw(plots.sweep(runs, "alpha", ["bound", "share"], by="model", log=True)).axes
    assert bound.containers[0].lines[0].get_xdata().tolist() == [0.1, 0.5]
    assert share.containers[0].lines[0].get_xdata().tolist() == [0.1, 0.5, 0.9]
    assert bound.get_xscale() == "log"


def test_a_single_seed_has_no_bar() -> None:
    axes = draw(plots.sweep(RUNS[:1], "alpha", "bound")).axes[0]
    np.testing.assert_array_equal(bars_of(axes.containers[0]), [0.0])


# ------------------------------------------------------------------------------------------------------ fitted models


def test_a_model_fitted_with_named_columns_is_drawn_without_a_warning() -> None:
    X = pd.DataFrame(np.random.default_rng(0).random((40, 4)), columns=list("abcd"))
    model = fh.VSC(5, l0=2, hidden_layer_sizes=(8,), max_steps=20, random_state=0, device="cpu").fit(X)
    draw(plots.samples(model, X.iloc[:2], feature_names=list(X)))
    draw(plots.interpolation(model, X.iloc[0], X.iloc[[1]], how="discrete", background=X, feature_names=list(X)))
    draw(plots.traversals(model, X.iloc[0], prior_stds=2, background=X))
    draw(plots.class_activation(class_activation(model, X, np.arange(40) % 3)))


@pytest.mark.parametrize(
    "call",
    [
        lambda m, X: plots.units(m, X),
        lambda m, X: plots.unit_effects(m, X),
        lambda m, X: plots.samples(m, X),
        lambda m, X: plots.reconstructions(m, X),
        lambda m, X: plots.traversals(m, X.iloc[0]),
        lambda m, X: plots.interpolation(m, X.iloc[0], X.iloc[1]),
        lambda m, X: traverse(m, X.iloc[0]),
        lambda m, X: interpolate(m, X.iloc[[0]], X.iloc[1]),
    ],
)
def test_columns_in_another_order_are_refused(call: Callable[..., Any]) -> None:
    X = pd.DataFrame(np.random.default_rng(0).random((40, 4)), columns=list("abcd"))
    model = fh.VSC(5, l0=2, hidden_layer_sizes=(8,), max_steps=3, random_state=0, device="cpu").fit(X)
    with pytest.raises(InvalidInputError, match="the column 'c' where the model was fitted with 'a'; give"):
        call(model, X[["c", "b", "a", "d"]])


# --------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: plots.interpolation(IDENTITY, A, B, image_shape=(3, 3)), InvalidParameterError, "image_shape is"),
        (lambda: plots.interpolation(DENSE, A, B, how="discrete"), InvalidParameterError, "Linear has no gates"),
        (lambda: plots.interpolation(IDENTITY, np.eye(4), B), InvalidInputError, r"x_from has shape \(4, 4\)"),
        (lambda: plots.samples(fh.VSC(), A), InvalidParameterError, "VSC has no module_.*; give a fitted estimator"),
        (lambda: plots.samples(IDENTITY, A, n_samples=0), InvalidParameterError, "n_samples is 0"),
        (lambda: plots.class_activation(np.ones(3)), InvalidInputError, r"shape \(3,\); give a matrix"),
        (lambda: plots.class_activation(-np.eye(2)), InvalidInputError, "goes down to -1"),
        (lambda: plots.class_activation(np.eye(2), classes=["a"]), InvalidParameterError, "1 entries for 2 classes"),
        (lambda: plots.class_activation(RECORD, show="gamma"), InvalidParameterError, "show is 'gamma'"),
        (lambda: plots.source_correlation(3 * np.eye(2)), InvalidInputError, "sources holds 3 and no codes"),
        (lambda: plots.source_correlation(np.eye(2) * np.nan), InvalidInputError, "sources contains NaN"),
        (lambda: plots.source_correlation(np.eye(2), np.eye(3)), InvalidInputError, "sources has 2 rows and codes"),
        (lambda: plots.source_correlation(np.eye(2), names=["a"]), InvalidParameterError, "1 entries for 2 sources"),
        (lambda: plots.source_correlation(np.eye(2), hide_below=2), InvalidParameterError, "hide_below is 2"),
        (lambda: plots.sweep(RUNS, "beta", "bound"), InvalidParameterError, "no column 'beta'; it has alpha, bound"),
        (lambda: plots.sweep(RUNS, "model", "bound"), InvalidInputError, "'model' is not of numbers"),
        (lambda: plots.sweep(RUNS, "alpha", []), InvalidParameterError, "y is empty"),
        (lambda: plots.sweep({"a": [], "b": []}, "a", "b"), InvalidInputError, "no rows"),
        (lambda: plots.sweep(RUNS, "alpha", "bound", error="range"), InvalidParameterError, "error is 'range'"),
        (lambda: plots.sweep(RUNS, "seed", "bound", log=True), InvalidParameterError, "goes down to 0"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(
    call: Callable[[], Figure], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence) as found:
        call()
    assert isinstance(found.value, FewhotError)
    assert "\n" not in str(found.value)


EVERY: dict[str, Callable[..., Figure]] = {
    "line": lambda **dark: plots.interpolation(IDENTITY, A, B, **dark),
    "switched": lambda **dark: plots.interpolation(IDENTITY, A, B, how="discrete", image_shape=(2, 2), **dark),
    "samples": lambda **dark: plots.samples(IDENTITY, A, **dark),
    "classes": lambda **dark: plots.class_activation(RECORD, **dark),
    "sources": lambda **dark: plots.source_correlation(np.eye(3), **dark),
    "sweep": lambda **dark: plots.sweep(RUNS, "alpha", "bound", "model", **dark),
    "walk of zeros": lambda **dark: plots.interpolation(IDENTITY, 0 * A, 0 * B, how="discrete", **dark),
    "no class": lambda **dark: plots.class_activation(np.zeros((1, 1)), **dark),
    "no source": lambda **dark: plots.source_correlation(np.zeros((2, 3)), **dark),
}


@pytest.mark.parametrize("name", EVERY)
def test_dark_figures_are_dark_and_no_setting_changes(name: str) -> None:
    before = dict(mpl.rcParams)
    figure = draw(EVERY[name](dark=True))
    assert figure.get_facecolor()[:3] == pytest.approx(to_rgb(DARK.paper))
    assert dict(mpl.rcParams) == before
