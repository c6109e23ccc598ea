from __future__ import annotations

import io
import types
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from fewhot import plots
from fewhot.core.errors import FewhotError, InvalidInputError, InvalidParameterError, InvalidTypeError
from fewhot.metrics.traversal import usual_values
from fewhot.plots.palette import DARK, LIGHT, signed_colours
from tests.plots.fakes import Linear

IDENTITY = Linear(np.eye(4))
ROWS = np.array([[1.0, 0, 0, 0], [0, 2.0, 0, 0], [1.0, -3.0, 0, 0], [0.0, 0, 0, 0.9]])


def draw(figure: Figure) -> Figure:
    """Render for real, so that layout and text are gone through."""
    figure.savefig(io.BytesIO(), format="png")
    return figure


# ---------------------------------------------------------------------------------------------------------- codes


def test_codes_draws_the_values() -> None:
    figure = draw(plots.codes(sp.csr_array(ROWS)))
    np.testing.assert_array_equal(figure.axes[0].images[0].get_array(), ROWS)


def test_codes_takes_the_record() -> None:
    record = types.SimpleNamespace(values=sp.csr_array(ROWS), variance=None)
    np.testing.assert_array_equal(plots.codes(record).axes[0].images[0].get_array(), ROWS)


def test_codes_puts_rows_of_one_label_together() -> None:
    figure = draw(plots.codes(ROWS, labels=[1, 0, 1, 0]))
    np.testing.assert_array_equal(figure.axes[0].images[0].get_array(), ROWS[[1, 3, 0, 2]])
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["0", "1"]


def test_zero_is_in_the_middle_of_the_colours() -> None:
    image = plots.codes(ROWS).axes[0].images[0]
    assert image.get_clim() == (-3.0, 3.0)
    assert signed_colours()(0.5)[3] == 0.0


def test_bars_have_the_heights_of_the_code() -> None:
    figure = draw(plots.codes(ROWS, kind="bars"))
    heights = [[bar.get_height() for bar in axes.patches] for axes in figure.axes]
    np.testing.assert_array_equal(heights, ROWS)


def test_of_very_many_units_the_active_ones_are_drawn() -> None:
    wide = np.zeros((2, 500))
    wide[0, 7], wide[1, 400] = 1.0, -2.0
    axes = draw(plots.codes(wide)).axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), [[1.0, 0.0], [0.0, -2.0]])
    assert [text.get_text() for text in axes.get_xticklabels()] == ["7", "400"]


def test_codes_refuses_a_vector() -> None:
    with pytest.raises(InvalidInputError, match=r"shape \(3,\).*\(rows, units\)"):
        plots.codes(np.ones(3))


LABELLED: dict[str, Callable[[Any], Figure]] = {
    "codes": lambda labels: plots.codes(ROWS, labels=labels),
    "images": lambda labels: plots.images(ROWS, (2, 2), titles=labels),
    "reconstructions": lambda labels: plots.reconstructions(IDENTITY, ROWS, labels=labels),
    "samples": lambda labels: plots.samples(IDENTITY, ROWS, labels=labels),
    "class_activation": lambda labels: plots.class_activation(np.abs(ROWS), classes=labels),
    "source_correlation": lambda labels: plots.source_correlation(ROWS / 3, names=labels),
    "rare_words": lambda labels: plots.rare_words([0, 1, 2, 3], [0.1, 0.2, 0.3, 0.4], labels=labels),
    "feature_names": lambda labels: plots.reconstructions(IDENTITY, ROWS, feature_names=labels),
}


@pytest.mark.parametrize("name", LABELLED)
@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (["a", "b"], "holds 2 entries for 4 "),
        (list("abcde"), "holds 5 entries for 4 "),
        (3, "is of type int; give a list of 4"),
        ("abcd", "is of type str; give a list of 4"),
        (np.eye(4), r"has shape \(4, 4\) for 4 "),
    ],
    ids=["too few", "too many", "a number", "a text", "a matrix"],
)
def test_labels_are_one_for_each(name: str, labels: Any, sentence: str) -> None:
    with pytest.raises(InvalidParameterError, match=sentence):
        LABELLED[name](labels)


@pytest.mark.parametrize("name", LABELLED)
@pytest.mark.parametrize("kind", [list, np.array, pd.Series])
def test_labels_come_in_many_kinds(name: str, kind: Callable[[list[str]], Any]) -> None:
    draw(LABELLED[name](kind(["a", "b", "a", "c"])))


def test_of_labelled_rows_the_first_are_drawn_with_theirs() -> None:
    figure = draw(plots.reconstructions(IDENTITY, ROWS, labels=list("abcd"), max_rows=2, image_shape=(2, 2)))
    assert [axes.texts[0].get_text() for axes in (figure.axes[3], figure.axes[7])] == ["a", "b"]


# ---------------------------------------------------------------------------------------------------------- usage


def test_usage_sorts_shares_and_counts_kinds() -> None:
    codes = np.zeros((1000, 4))
    codes[:, 1], codes[:100, 0], codes[:2, 3] = 1.0, 1.0, 1.0
    axes = draw(plots.usage(codes)).axes[0]
    shown = {line.get_label(): line.get_xydata() for line in axes.lines if not line.get_label().startswith("_")}
    assert set(shown) == {"always on: 1", "used: 1", "hardly used: 1", "never on: 1"}
    np.testing.assert_allclose(shown["used: 1"], [[2, 0.1]])
    np.testing.assert_allclose(shown["hardly used: 1"], [[3, 0.002]])


def test_usage_marks_the_thresholds() -> None:
    axes = plots.usage(np.eye(3)).axes[0]
    limits = sorted(line.get_ydata()[0] for line in axes.lines if line.get_label().startswith("_"))
    assert limits == [0.005, 0.5]


def test_usage_of_dense_codes_draws_variances() -> None:
    codes = np.array([[1.0, 5.0], [3.0, 5.05]])
    axes = draw(plots.usage(codes)).axes[0]
    assert axes.get_ylabel() == "variance over rows"
    np.testing.assert_allclose([line.get_ydata()[0] for line in axes.lines[:2]], [1.0, 0.000625])


# --------------------------------------------------------------------------------------------------------- curves

HISTORY = [
    {
        "step": step,
        "rows": "held-out",
        "terms": {"bound": -9.0 + step, "loss": 8.0 - step},
        "evaluation": {"bound": -10.0 + step, "active": 2.0, "used": 3, "always_on": 0},
    }
    for step in (1, 2, 3)
]


def test_curves_draws_every_bound() -> None:
    axes = draw(plots.curves(HISTORY)).axes[0]
    lines = {line.get_label(): line.get_ydata().tolist() for line in axes.lines}
    assert lines == {
        "exact, held-out rows": [-9, -8, -7],
        "as trained, training rows": [-8, -7, -6],
        "what training maximised": [-7, -6, -5],
    }


def test_curves_draws_units_and_what_was_asked_for() -> None:
    axes = draw(plots.curves(HISTORY, asked=2.5)).axes[1]
    lines = {line.get_label(): line.get_ydata()[0] for line in axes.lines}
    assert lines == {"active a row": 2.0, "used by the data": 3.0, "always on": 0.0, "asked for: 2.5": 2.5}


def test_curves_of_a_run_without_history_says_so() -> None:
    assert plots.curves([]).axes[0].texts[0].get_text() == "The run wrote no history."


def test_curves_survives_values_that_are_missing() -> None:
    axes = draw(plots.curves([{"step": 1, "evaluation": {"bound": -1.0}}])).axes[0]
    assert len(axes.lines) == 1


# ---------------------------------------------------------------------------------------- pictures, reconstructions


def test_images_folds_rows() -> None:
    figure = draw(plots.images(np.arange(8).reshape(2, 4) / 8, (2, 2), titles=["a", "$b"]))
    np.testing.assert_allclose(figure.axes[1].images[0].get_array(), [[0.5, 0.625], [0.75, 0.875]])
    assert figure.axes[1].get_title() == "$b"


@pytest.mark.parametrize("shape", [(2, 4, 3), (3, 2, 4)])
def test_images_takes_channels_first_or_last(shape: tuple[int, ...]) -> None:
    assert plots.images(np.zeros((1, 24)), shape).axes[0].images[0].get_array().shape == (2, 4, 3)


FOLDED: dict[str, Callable[[Any], Figure]] = {
    "images": lambda shape: plots.images(ROWS, shape),
    "reconstructions": lambda shape: plots.reconstructions(IDENTITY, ROWS, image_shape=shape),
    "samples": lambda shape: plots.samples(IDENTITY, ROWS, image_shape=shape),
    "traversals": lambda shape: plots.traversals(IDENTITY, ROWS[0], image_shape=shape),
    "interpolation": lambda shape: plots.interpolation(IDENTITY, ROWS[0], ROWS[1], image_shape=shape),
    "units": lambda shape: plots.units(IDENTITY, ROWS, image_shape=shape),
}


@pytest.mark.parametrize("name", FOLDED)
@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ((3, 3), r"image_shape is \(3, 3\) and the rows have 4 columns; it must be \(height, width\)"),
        ((4,), r"image_shape is \(4,\) and the rows have 4 columns"),
        (4, "image_shape is 4 and the rows have 4 columns"),
        ((-2, -2), "each of image_shape is -2; it must be a whole number of at least 1"),
        ((2.5, 2), "each of image_shape is 2.5; it must be a whole number"),
        ((None, 4), "each of image_shape is None; it must be a whole number"),
        ("22", "each of image_shape is '2'; it must be a whole number"),
    ],
)
def test_a_shape_that_does_not_fit_is_refused(name: str, shape: Any, sentence: str) -> None:
    with pytest.raises(InvalidParameterError, match=sentence):
        FOLDED[name](shape)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (np.zeros((0, 4)), r"rows has shape \(0, 4\); give at least one row and one column"),
        (sp.csr_array((0, 4)), r"rows has shape \(0, 4\); give at least one row and one column"),
        (np.zeros((1, 2, 2)), r"rows has shape \(1, 2, 2\)"),
        (3, r"rows has shape \(\)"),
        ("rows", "rows is of type str"),
        (None, "rows is of type NoneType"),
        ([["a", "b", "c", "d"]], "rows is no matrix of numbers"),
        ([[1.0, 2.0], [3.0]], "rows is no matrix of numbers"),
    ],
)
@pytest.mark.parametrize(
    "draw_rows",
    [
        lambda rows: plots.images(rows, (2, 2)),
        lambda rows: plots.reconstructions(IDENTITY, rows),
        lambda rows: plots.reconstructions(IDENTITY, rows, codes=ROWS),
        lambda rows: plots.samples(IDENTITY, rows),
    ],
    ids=["images", "reconstructions", "with codes", "samples"],
)
def test_what_are_no_rows_is_refused(draw_rows: Callable[[Any], Figure], rows: Any, sentence: str) -> None:
    with pytest.raises(FewhotError, match=sentence):
        draw_rows(rows)


@pytest.mark.parametrize(
    ("background", "sentence"),
    [
        (np.zeros((3, 5)), "background has 5 columns and the rows have 4"),
        (np.full((3, 4), np.nan), "background contains NaN"),
        (np.zeros((0, 4)), r"background has shape \(0, 4\)"),
        (np.zeros((2, 2, 4)), r"background has shape \(2, 2, 4\)"),
        (3, r"background has shape \(\)"),
        ("usual", "background is of type str"),
        ([["a", "b", "c", "d"]], "background is no matrix of numbers"),
    ],
)
@pytest.mark.parametrize(
    "draw_over",
    [
        lambda usual: plots.interpolation(IDENTITY, ROWS[0], ROWS[1], background=usual),
        lambda usual: plots.interpolation(IDENTITY, ROWS[0], ROWS[1], background=usual, image_shape=(2, 2)),
        lambda usual: plots.traversals(IDENTITY, ROWS[0], background=usual),
        lambda usual: plots.reconstructions(IDENTITY, ROWS, background=usual),
        lambda usual: plots.samples(IDENTITY, ROWS, background=usual),
    ],
    ids=["interpolation", "pictures", "traversals", "reconstructions", "samples"],
)
def test_a_background_is_rows_of_the_same_columns(
    draw_over: Callable[[Any], Figure], background: Any, sentence: str
) -> None:
    with pytest.raises(FewhotError, match=sentence):
        draw_over(background)


def test_large_pictures_are_made_coarser_in_small_multiples() -> None:
    model = Linear(np.ones((1, 200 * 100)))
    figure = plots.reconstructions(model, np.ones((1, 200 * 100)), image_shape=(200, 100))
    assert figure.axes[0].images[0].get_array().shape == (100, 50)


def test_reconstructions_puts_original_decoded_and_code_side_by_side() -> None:
    rows = np.array([[0.2, 0.0, 0.0, 1.0]])
    figure = draw(plots.reconstructions(IDENTITY, rows, image_shape=(2, 2)))
    before, after, code, words = figure.axes
    np.testing.assert_allclose(before.images[0].get_array(), [[0.2, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(after.images[0].get_array(), [[0.0, 0.0], [0.0, 1.0]])
    assert [bar.get_height() for bar in code.patches] == [0, 0, 0, 1]
    assert [text.get_text() for text in words.texts] == ["row 0", "1 of 4 on"]


def test_reconstructions_lists_the_largest_columns_by_name() -> None:
    rows = sp.csr_array(np.array([[0.2, 0.0, -3.0, 1.0]]))
    figure = draw(plots.reconstructions(IDENTITY, rows, feature_names=["a", "b", "c", "$d"]))
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["c", "$d", "a", "b"]
    assert [bar.get_width() for bar in figure.axes[0].patches] == [-3.0, 1.0, 0.2, 0.0]
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_xdata(), [-3.0, 1.0, 0.0, 0.0])


def test_columns_of_unequal_spread_are_drawn_in_standard_deviations() -> None:
    background = np.array([[0.0, 0.0, 0.0, 0.0], [2.0, 200.0, 2.0, 2.0]])
    figure = draw(plots.reconstructions(IDENTITY, background[1:], background=background))
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), [1.0, 1.0, 1.0, 1.0])


@pytest.mark.parametrize("tiny", [0.0, 5e-9])
def test_constant_columns_are_left_out_of_changes(tiny: float) -> None:
    rows = np.random.default_rng(0).normal(size=(300, 4)) * [1.0, 20.0, tiny, 3.0] + [0.0, 0.0, 2.0, 0.0]
    names = ["a", "b", "still", "d"]
    effect = draw(plots.units(IDENTITY, rows, [0, 2], feature_names=names))
    widths = [[bar.get_width() for bar in axes.patches] for axes in effect.axes]
    labels = [[text.get_text() for text in axes.get_yticklabels()] for axes in effect.axes]
    assert widths[0][labels[0].index("still")] == widths[1][labels[1].index("still")] == 0.0
    assert 0 < max(map(abs, widths[0])) < 10
    turned = draw(plots.traversals(IDENTITY, rows[0], [2], values=[0, 1], background=rows)).axes[0]
    np.testing.assert_array_equal([line.get_ydata()[2] for line in turned.lines], [0.0, 0.0])


def test_a_nearly_constant_column_makes_spreads_no_less_equal() -> None:
    rows = np.random.default_rng(0).normal(size=(300, 4)) * [1.0, 1.1, 1e-9, 0.9]
    figure = draw(plots.reconstructions(IDENTITY, rows[:1], background=rows))
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), rows[0])


def test_refuses_names_of_another_length() -> None:
    with pytest.raises(InvalidParameterError, match="feature_names holds 1 entries for 4 columns"):
        plots.reconstructions(IDENTITY, ROWS, feature_names=["a"])


# ----------------------------------------------------------------------------------------------------- traversals


def test_traversals_turns_one_unit_and_holds_the_rest() -> None:
    figure = draw(plots.traversals(IDENTITY, ROWS[0], [1], values=[0.0, 0.5], image_shape=(2, 2)))
    drawn = [axes.images[0].get_array().tolist() for axes in figure.axes if axes.images]
    assert drawn == [[[1, 0], [0, 0]], [[1, 0.5], [0, 0]]]


def test_traversals_takes_the_units_that_are_on() -> None:
    figure = draw(plots.traversals(IDENTITY, sp.csr_array(ROWS[[2]]), image_shape=(2, 2)))
    assert [axes.texts[0].get_text() for axes in figure.axes if axes.texts] == ["unit 1", "unit 0"]


def test_traversals_without_pictures_draws_a_line_a_value() -> None:
    axes = draw(plots.traversals(IDENTITY, ROWS[0], [3], values=[-1.0, 0.0, 1.0])).axes[0]
    np.testing.assert_allclose([line.get_ydata()[3] for line in axes.lines], [-1.0, 0.0, 1.0])


def test_traversals_goes_through_the_usual_range_and_through_zero() -> None:
    background = np.array([[1.0, 0, 0, 0], [1.0, 0, 0, 0], [-2.0, 0, 0, 0], [-2.0, 0, 0, 0]])
    axes = plots.traversals(IDENTITY, ROWS[0], [0], background=background).axes[0]
    values = [line.get_ydata()[0] for line in axes.lines]
    assert values[0] == pytest.approx(-2.0)
    assert values[-1] == pytest.approx(1.0)
    assert 0.0 in values


def test_traversals_names_the_columns_that_move_most() -> None:
    axes = draw(plots.traversals(IDENTITY, ROWS[0], [2], values=[0, 1], feature_names=list("abcd"))).axes[0]
    assert axes.get_yticklabels()[0].get_text() == "c"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: plots.traversals(IDENTITY, ROWS), "4 rows were given; a traversal begins with one"),
        (lambda: plots.traversals(IDENTITY, ROWS[0], [4]), "Unit 4 was asked for; the model has units 0 to 3"),
        (lambda: plots.traversals(IDENTITY, ROWS[0], []), "units is empty"),
        (lambda: plots.traversals(IDENTITY, ROWS[0], [0], values=[[1], [2]]), r"values has shape \(2, 1\) for 1 units"),
    ],
)
def test_traversals_refuses(call: Callable[[], Figure], sentence: str) -> None:
    with pytest.raises(InvalidParameterError, match=sentence):
        call()


# ---------------------------------------------------------------------------------------------------------- units


def test_effect_is_what_the_unit_adds() -> None:
    dictionary = np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0]])
    effect = plots.unit_effects(Linear(dictionary), ROWS, [0])[0]
    np.testing.assert_allclose(effect.change, [1.0, 0, 0, 0])
    np.testing.assert_allclose(effect.observed, [1.0, -2.5, 0, -0.45])
    assert (effect.share, effect.value, effect.rows.tolist()) == (0.5, 1.0, [0, 2])


def test_effect_follows_the_sign_that_a_unit_mostly_has() -> None:
    effect = plots.unit_effects(IDENTITY, ROWS, [1])[0]
    assert effect.value == -3.0
    assert effect.rows.tolist() == [2]
    np.testing.assert_allclose(effect.change, [0, -3.0, 0, 0])


def test_effect_of_a_unit_without_a_gate_goes_from_low_to_high() -> None:
    X = np.linspace(1, 2, 11)[:, None] * np.array([[1.0, 1.0]])
    effect = plots.unit_effects(Linear(np.eye(2), cut=None), X, [0])[0]
    np.testing.assert_allclose(effect.change, [0.8, 0.0])
    assert not effect.gated


def test_strongest_units_come_first_and_dead_ones_never() -> None:
    assert [effect.unit for effect in plots.unit_effects(IDENTITY, ROWS)] == [1, 0, 3]


def test_a_unit_that_no_row_uses_shows_nothing() -> None:
    (dead,) = plots.unit_effects(IDENTITY, ROWS, [2])
    assert (dead.share, len(dead.rows)) == (0.0, 0)
    assert not dead.change.any()
    assert np.isnan(dead.observed).all()
    assert not usual_values(ROWS, [2]).any()


@pytest.mark.parametrize("units", [[2], [2, 0], [0, 2]])
@pytest.mark.parametrize("look", [{"image_shape": (2, 2)}, {"feature_names": ["a", "b", "c", "d"]}, {}])
def test_units_says_of_a_dead_unit_that_it_is_never_on(units: list[int], look: dict[str, Any]) -> None:
    figure = draw(plots.units(IDENTITY, ROWS, units, **look))
    said = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert said.count("This unit is never on in these rows.") == 1
    drawn = [axes for axes in figure.axes if axes.images or axes.patches]
    assert bool(drawn) == (0 in units)


def test_codes_of_other_rows_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="codes has 2 rows and X has 4"):
        plots.unit_effects(IDENTITY, ROWS, codes=ROWS[:2])


def test_units_draws_the_change_and_the_rows_that_use_it() -> None:
    figure = draw(plots.units(IDENTITY, ROWS, [0], image_shape=(2, 2)))
    pictures = [axes.images[0].get_array().tolist() for axes in figure.axes if axes.images]
    assert pictures[0] == [[1, 0], [0, 0]]
    assert len(pictures) == 3


def test_units_draws_decoder_and_data_for_named_columns() -> None:
    axes = draw(plots.units(IDENTITY, sp.csr_array(ROWS), [0], feature_names=["<a>", "b", "c", "d"])).axes[0]
    assert axes.get_yticklabels()[0].get_text() == "<a>"
    assert axes.patches[0].get_width() == 1.0
    assert axes.lines[0].get_xdata()[0] == 1.0


def test_units_of_codes_that_are_all_zero_says_so() -> None:
    figure = draw(plots.units(IDENTITY, np.zeros((3, 4)), image_shape=(2, 2)))
    assert figure.axes[0].texts[0].get_text() == "No unit is on in these rows."


def test_sparse_rows_are_never_made_dense_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = sp.random_array((400, 50), density=0.1, rng=np.random.default_rng(0), format="csr")
    model = Linear(np.eye(50)[:5], cut=0.1)
    codes = model.transform(rows)
    largest = []
    toarray = sp.csr_array.toarray
    monkeypatch.setattr(sp.csr_array, "toarray", lambda self: largest.append(self.shape) or toarray(self))
    plots.units(model, rows, codes=codes)
    assert max(n for n, _ in largest) <= 16


# ---------------------------------------------------------------------------------------------- reliability, themes


def test_reliability_draws_expected_against_observed() -> None:
    found = types.SimpleNamespace(expected=[0.1, 0.5, np.nan], observed=[0.2, 0.4, np.nan], ece=0.1)
    axes = draw(plots.reliability(found)).axes[0]
    np.testing.assert_allclose(axes.lines[1].get_xydata(), [[0.1, 0.2], [0.5, 0.4]])
    assert axes.get_title(loc="left") == "mean miss 10 points"


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ("calibration", "calibration is of type str; give what fewhot.metrics.calibration returns"),
        (None, "calibration is of type NoneType"),
        (types.SimpleNamespace(expected=[0.1], observed=[0.1]), "calibration is of type SimpleNamespace"),
        (
            types.SimpleNamespace(expected="a", observed=[0.1], ece=0.1),
            "expected is of type str; give one number a bin",
        ),
        (types.SimpleNamespace(expected=[0.1], observed=[0.1, 0.2], ece=0.1), r"shapes \(1,\) and \(2,\)"),
        (types.SimpleNamespace(expected=[0.1], observed=[0.1], ece=None), "ece is None"),
    ],
)
def test_reliability_refuses_what_is_no_calibration(found: Any, sentence: str) -> None:
    with pytest.raises(FewhotError, match=sentence):
        plots.reliability(found)


@pytest.mark.parametrize("estimator", ["VSC", None, 3, Linear])
@pytest.mark.parametrize(
    "call",
    [
        lambda estimator: plots.reconstructions(estimator, ROWS),
        lambda estimator: plots.samples(estimator, ROWS),
        lambda estimator: plots.traversals(estimator, ROWS[0]),
        lambda estimator: plots.interpolation(estimator, ROWS[0], ROWS[1]),
        lambda estimator: plots.units(estimator, ROWS),
    ],
    ids=["reconstructions", "samples", "traversals", "interpolation", "units"],
)
def test_what_is_no_estimator_is_refused(call: Callable[[Any], Figure], estimator: Any) -> None:
    with pytest.raises(InvalidTypeError, match=r"^estimator is (of type|the class) \w+; give a fitted estimator with "):
        call(estimator)


EVERY: dict[str, Callable[..., Figure]] = {
    "codes": lambda X, **dark: plots.codes(IDENTITY_OF(X).transform(X), **dark),
    "bars": lambda X, **dark: plots.codes(IDENTITY_OF(X).transform(X), kind="bars", **dark),
    "usage": lambda X, **dark: plots.usage(IDENTITY_OF(X).transform(X), **dark),
    "dense usage": lambda X, **dark: plots.usage(X + 1.0, **dark),
    "curves": lambda X, **dark: plots.curves(HISTORY[:1], **dark),
    "images": lambda X, **dark: plots.images(X, (1, X.shape[1]), **dark),
    "reconstructions": lambda X, **dark: plots.reconstructions(IDENTITY_OF(X), X, **dark),
    "traversals": lambda X, **dark: plots.traversals(IDENTITY_OF(X), X[0], **dark),
    "units": lambda X, **dark: plots.units(IDENTITY_OF(X), X, **dark),
    "dense units": lambda X, **dark: plots.units(Linear(np.eye(X.shape[1]), cut=None), X + 1.0, **dark),
}


def IDENTITY_OF(X: np.ndarray) -> Linear:
    return Linear(np.eye(X.shape[1]))


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    "X",
    [np.ones((1, 4)), np.ones((3, 1)), np.zeros((3, 4)), np.ones((5, 4)), np.ones((1, 1))],
    ids=["one row", "one column", "all zero", "constant", "one number"],
)
def test_odd_input_is_drawn(name: str, X: np.ndarray) -> None:
    figure = draw(EVERY[name](X))
    assert any(axes.has_data() or axes.texts for axes in figure.axes)


@pytest.mark.parametrize("name", EVERY)
def test_dark_figures_are_dark_and_no_setting_changes(name: str) -> None:
    before = dict(mpl.rcParams)
    figure = draw(EVERY[name](ROWS, dark=True))
    assert figure.get_facecolor()[:3] == pytest.approx(to_rgb(DARK.paper))
    assert dict(mpl.rcParams) == before


def _luminance(colour: str) -> float:
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in to_rgb(colour)]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(one: str, other: str) -> float:
    low, high = sorted([_luminance(one), _luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["ink", "muted", "blue", "orange", "green", "purple"])
def test_colours_can_be_read_on_their_paper(theme: object, name: str) -> None:
    colours = theme.to_dict()  # type: ignore[attr-defined]
    assert contrast(colours[name], colours["paper"]) >= 4.5
