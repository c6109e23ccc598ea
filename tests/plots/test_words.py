"""Pictures of words, spectra, rare words and the gap that refinement closes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from fewhot import plots
from fewhot.core.errors import FewhotError
from fewhot.metrics import Spectrum, TopWords, code_words
from fewhot.plots.palette import DARK
from tests.plots.test_plots import draw

TWO_SIDED = TopWords(
    units=np.array([0, 4]),
    columns_up=np.array([[0, 1], [2, 3]]),
    scores_up=np.array([[2.0, 1.0], [0.5, 0.4]]),
    columns_down=np.array([[3], [0]]),
    scores_down=np.array([[3.0], [0.2]]),
    vocabulary=("orbit", "moon", "$price$", "ice"),
)
STEEP = Spectrum(values=np.array([20.0, 2.0, 1e-9, 0.0]), used=2)
FLAT = Spectrum(values=np.array([3.0, 2.5, 2.0]), used=3)

DRAWINGS: dict[str, Callable[..., Figure]] = {
    "top_words": lambda **look: plots.top_words(TWO_SIDED, **look),
    "spectrum": lambda **look: plots.spectrum({"a $b$": STEEP, "c": FLAT}, **look),
    "one_spectrum": lambda **look: plots.spectrum(FLAT, **look),
    "rare_words": lambda **look: plots.rare_words(
        [0, 1, 5, 9], [0.1, 0.3, 0.2, 4.0], labels=["a", "$b", "a", "a"], **look
    ),
    "amortisation": lambda **look: plots.amortisation([-9.0, -7.0], [-8.0, -6.5], [100, 200], **look),
    "one_bound": lambda **look: plots.amortisation([-9.0], [-8.0], **look),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_pictures_are_rendered_in_both_themes_and_change_no_setting(name: str) -> None:
    before = dict(mpl.rcParams)
    draw(DRAWINGS[name]())
    dark = draw(DRAWINGS[name](dark=True))
    assert dark.get_facecolor()[:3] == to_rgb(DARK.paper)
    assert dict(mpl.rcParams) == before


def test_words_up_point_right_and_words_down_point_left() -> None:
    first, second = draw(plots.top_words(TWO_SIDED)).axes
    assert [bar.get_width() for bar in first.patches] == [2.0, 1.0, -3.0]
    assert [text.get_text() for text in first.get_yticklabels()] == ["orbit", "moon", "ice"]
    assert [text.get_text() for text in second.get_yticklabels()] == ["$price$", "ice", "orbit"]
    assert first.get_xlim() == second.get_xlim()


def test_the_sides_are_named_and_units_without_words_say_so() -> None:
    first = draw(plots.top_words(TWO_SIDED)).axes[0]
    assert first.get_xlabel() == "← when low    when high →"
    dead = draw(plots.top_words(code_words(np.eye(3)[:, :1] * 0, np.eye(3, dtype=int), 2))).axes[0]
    assert next(text.get_text() for text in dead.texts) == "(hardly ever on)"
    one = draw(plots.top_words(code_words(np.eye(3)[:, :1], np.eye(3, dtype=int), 2))).axes[0]
    assert [text.get_text() for text in one.get_yticklabels()] == ["column 0"]
    assert one.get_xlabel() == ""


def test_few_units_are_drawn_of_many() -> None:
    assert len(plots.top_words(TWO_SIDED, max_units=1).axes) == 1


def test_a_spectrum_says_how_many_values_are_used() -> None:
    axes = draw(plots.spectrum({"steep": STEEP, "flat": FLAT})).axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "steep: 2 of 4 above 1",
        "flat: 3 of 3 above 1",
    ]
    assert axes.get_yscale() == "log"
    assert axes.get_ylim()[0] > 1e-4


def test_rare_words_shows_every_document_and_the_correlation_of_each_group() -> None:
    rare, moved = [1, 2, 3, 4, 9], [1.0, 2.0, 3.0, 0.5, 0.1]
    axes = draw(plots.rare_words(rare, moved, labels=["a", "a", "a", "b", "b"])).axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["3 a, Spearman 1", "2 b, Spearman −1"]
    shown = np.concatenate([points.get_offsets() for points in axes.collections])
    np.testing.assert_array_equal(shown, np.column_stack([rare, moved]))


def test_documents_that_did_not_move_are_drawn() -> None:
    assert draw(plots.rare_words([0, 1], [0.0, 0.0])).axes[0].get_yscale() == "linear"


def test_the_gap_lies_between_the_bounds() -> None:
    axes = draw(plots.amortisation([-9.0, -7.0], [-8.0, -6.5], xlabel="epoch")).axes[0]
    refined, amortised = axes.lines
    assert refined.get_ydata().tolist() == [-8.0, -6.5]
    assert amortised.get_xdata().tolist() == [1, 2]
    assert [text.get_text() for text in axes.get_legend().get_texts()][-1] == "gap, at the end 0.5"
    assert axes.get_xlabel() == "epoch"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: plots.spectrum({}), "no singular values"),
        (lambda: plots.spectrum(Spectrum(values=np.array([np.nan]), used=0)), "not finite"),
        (lambda: plots.rare_words([1, 2], [0.1]), "shapes"),
        (lambda: plots.rare_words([1, 2], [0.1, 0.2], labels=["a"]), "labels holds 1 entries for 2 documents"),
        (lambda: plots.amortisation([1.0], [1.0, 2.0]), "give one number of each an evaluation"),
        (lambda: plots.amortisation([], []), "give one number of each an evaluation"),
        (lambda: plots.amortisation(-9.0, -8.0), r"shapes \(\), \(\) and \(1,\)"),
        (lambda: plots.amortisation(None, [1.0]), "amortised is of type NoneType; give one number an evaluation"),
        (lambda: plots.amortisation([1.0], "a"), "refined is of type str"),
        (lambda: plots.amortisation([1.0], [1.0], ["a"]), "steps is of type list"),
        (lambda: plots.top_words(TWO_SIDED, max_units=0), "max_units is 0"),
    ],
)
def test_bad_input_gets_one_sentence(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(FewhotError, match=sentence):
        call()
