"""Walks between two codes: exact ends, one unit a step, and a number of active units that keeps to its line."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import fewhot as fh
from fewhot.core.errors import FewhotError, InvalidInputError, InvalidParameterError, InvalidTypeError
from fewhot.metrics import interpolate, traverse
from tests.metrics.conftest import PlantedRows
from tests.plots.fakes import Linear

FIVE = Linear(np.diag([1.0, 2.0, 3.0, 4.0, 5.0]), cut=0.5)
FROM = np.array([1.0, 1.0, 1.0, 0.0, 0.0])
TO = np.array([2.0, 0.0, 0.0, 1.0, 1.0])


def code(model: Any, row: np.ndarray) -> np.ndarray:
    codes = model.transform(row[None])
    return (codes.toarray() if sp.issparse(codes) else codes)[0]


@pytest.fixture(scope="module")
def pair(vsc: fh.VSC, planted: PlantedRows) -> tuple[np.ndarray, np.ndarray]:
    """Two rows with different active units, and some in common."""
    on = vsc.transform(planted.X).toarray() != 0
    for other in range(1, len(on)):
        if (on[0] & on[other]).any() and (on[0] & ~on[other]).any() and (~on[0] & on[other]).any():
            return planted.X[0], planted.X[other]
    raise AssertionError("no such rows")


@pytest.mark.parametrize("how", ["continuous", "discrete"])
@pytest.mark.parametrize("n_steps", [None, 11])
def test_the_ends_are_exactly_the_two_codes(
    vsc: fh.VSC, pair: tuple[np.ndarray, np.ndarray], how: Any, n_steps: int | None
) -> None:
    walk = interpolate(vsc, *pair, n_steps, how)
    np.testing.assert_array_equal(walk.codes[0], code(vsc, pair[0]))
    np.testing.assert_array_equal(walk.codes[-1], code(vsc, pair[1]))
    np.testing.assert_allclose(walk.decoded, vsc.inverse_transform(walk.codes), rtol=1e-6)
    assert walk.decoded.shape == (len(walk.codes), pair[0].shape[0])


def test_n_steps_counts_steps(vsc: fh.VSC, pair: tuple[np.ndarray, np.ndarray]) -> None:
    for how in ("continuous", "discrete"):
        assert len(interpolate(vsc, *pair, 20, how).codes) == 21


def test_a_continuous_walk_is_a_straight_line() -> None:
    walk = interpolate(FIVE, FROM, TO, 4)
    a, b = code(FIVE, FROM), code(FIVE, TO)
    np.testing.assert_allclose(walk.codes, [a + t * (b - a) for t in (0, 0.25, 0.5, 0.75, 1)])
    assert walk.n_active.tolist() == [3, 5, 5, 5, 3]
    assert walk.switches == ()


def test_a_discrete_walk_switches_the_units_that_differ_largest_effect_first() -> None:
    walk = interpolate(FIVE, FROM, TO, how="discrete")
    assert [(switch.step, switch.unit, switch.on) for switch in walk.switches] == [
        (1, 4, True),
        (2, 2, False),
        (3, 3, True),
        (4, 1, False),
    ]
    np.testing.assert_allclose([switch.effect for switch in walk.switches], [25, 9, 16, 4])
    assert walk.n_active.tolist() == [3, 4, 3, 4, 3]


def test_shared_units_blend_and_switched_ones_keep_their_value() -> None:
    walk = interpolate(FIVE, FROM, TO, how="discrete")
    a, b = code(FIVE, FROM), code(FIVE, TO)
    np.testing.assert_allclose(walk.codes[:, 0], np.linspace(a[0], b[0], 5))
    np.testing.assert_allclose(walk.codes[:, 4], [0, *[b[4]] * 4])
    np.testing.assert_allclose(walk.codes[:, 1], [*[a[1]] * 4, 0])


def test_the_scale_of_columns_changes_the_order() -> None:
    walk = interpolate(FIVE, FROM, TO, how="discrete", scale=np.array([1.0, 1.0, 1.0, 1.0, 100.0]))
    assert [switch.unit for switch in walk.switches] == [3, 2, 4, 1]


CODES = st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.0, 3.0]), min_size=6, max_size=6).map(np.array)


@settings(deadline=None, max_examples=60)
@given(a=CODES, b=CODES, surplus=st.integers(0, 9))
def test_one_unit_a_step_and_a_steady_number_of_active_units(a: np.ndarray, b: np.ndarray, surplus: int) -> None:
    model = Linear(np.eye(6), cut=0.5)
    differ = np.flatnonzero((a != 0) != (b != 0))
    walk = interpolate(model, a, b, max(len(differ) + surplus, 1), "discrete")
    changed = (walk.codes[1:] != 0) != (walk.codes[:-1] != 0)
    assert changed.sum(axis=1).max() <= 1
    assert sorted(switch.unit for switch in walk.switches) == differ.tolist()
    for switch in walk.switches:
        assert np.flatnonzero(changed[switch.step - 1]).tolist() == [switch.unit]
        assert (walk.codes[switch.step, switch.unit] != 0) == switch.on
    counts = walk.n_active[[0, *(switch.step for switch in walk.switches)]]
    line = np.linspace(np.count_nonzero(a), np.count_nonzero(b), len(counts)) if len(counts) > 1 else counts
    assert (np.abs(counts - line) <= 1 + 1e-9).all()
    np.testing.assert_array_equal(walk.codes[[0, -1]], [a, b])


def test_two_rows_of_one_active_set_are_blended() -> None:
    walk = interpolate(FIVE, FROM, 2 * FROM, how="discrete")
    assert (len(walk.codes), walk.switches) == (2, ())


def test_a_walk_between_codes_without_a_unit_in_common_is_never_empty() -> None:
    model = Linear(np.eye(2), cut=0.5)
    assert interpolate(model, [1.0, 0.0], [0.0, 1.0], how="discrete").n_active.tolist() == [1, 2, 1]


@pytest.mark.parametrize("kind", [sp.csr_array, list, lambda x: pd.DataFrame(x).iloc[0]])
def test_one_example_may_come_in_many_kinds(kind: Any) -> None:
    walk = interpolate(FIVE, kind(FROM[None]) if kind is not list else FROM.tolist(), TO)
    np.testing.assert_array_equal(walk.codes[0], code(FIVE, FROM))


def test_a_model_without_gates_is_walked_in_a_straight_line_only(vae: fh.VAE, planted: PlantedRows) -> None:
    assert interpolate(vae, planted.X[0], planted.X[1]).codes.shape == (9, 3)
    with pytest.raises(InvalidParameterError, match=r"VAE has no gates.*'continuous'"):
        interpolate(vae, planted.X[0], planted.X[1], how="discrete")


def test_too_few_steps_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"n_steps is 3 and 4 units differ.*at least 4"):
        interpolate(FIVE, FROM, TO, 3, "discrete")


def test_rows_of_another_width_are_refused(vsc: fh.VSC, planted: PlantedRows) -> None:
    with pytest.raises(FewhotError, match="7 features"):
        interpolate(vsc, planted.X[0], planted.X[1, :7])


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ((np.zeros((2, 5)), TO), InvalidInputError, r"x_from has shape \(2, 5\); give one example"),
        ((FROM, np.zeros((1, 1, 5))), InvalidInputError, r"x_to has shape \(1, 1, 5\)"),
        ((FROM, TO, 0), InvalidParameterError, "n_steps is 0"),
        ((FROM, TO, 3, "straight"), InvalidParameterError, "how is 'straight'"),
        (("row", TO), InvalidInputError, "x_from is of type str; give one number a column"),
        ((FROM, None), InvalidInputError, "x_to is of type NoneType; give one number a column"),
        (([[1.0, 2.0], [3.0]], TO), InvalidInputError, "x_from is of type list"),
    ],
)
def test_unusable_requests_are_refused(arguments: Any, error: type, sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        interpolate(FIVE, *arguments)


@pytest.mark.parametrize(
    ("scale", "sentence"),
    [
        ("wide", "scale is of type str; give one number a column"),
        (None, "scale is of type NoneType"),
        (np.ones(3), r"scale has shape \(3,\); give a number, or one a column, \(5,\)"),
    ],
)
def test_a_scale_is_a_number_or_one_a_column(scale: Any, sentence: str) -> None:
    with pytest.raises(FewhotError, match=sentence):
        interpolate(FIVE, FROM, TO, how="discrete", scale=scale)


@pytest.mark.parametrize("estimator", ["VSC", None, 3, fh.VSC])
@pytest.mark.parametrize("call", [lambda m: interpolate(m, FROM, TO), lambda m: traverse(m, FROM)])
def test_what_is_no_estimator_is_refused(call: Any, estimator: Any) -> None:
    with pytest.raises(InvalidTypeError, match=r"^estimator is (of type|the class) \w+; give a fitted estimator with "):
        call(estimator)


def test_walks_and_classes_are_computed_without_a_drawing_library() -> None:
    words = "import sys, fewhot.metrics; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", words], check=False).returncode == 0
