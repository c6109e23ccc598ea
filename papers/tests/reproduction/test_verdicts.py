from __future__ import annotations

import pytest

from fewhot_papers.reproduction import Check, Reading
from fewhot_papers.reproduction.measurements import Measurements
from fewhot_papers.reproduction.verdicts import (
    CHANGED,
    NOT_REPRODUCED,
    NOT_RUNNABLE,
    REPRODUCED,
    UNDECIDED,
    Progressed,
    decide,
)
from papers.tests.reproduction.conftest import Bench

YES, NO = Check("it holds", True, "1 against 0"), Check("it grows", False, "0 against 1")
ALL = Progressed(3, 3)


def verdict(bench: Bench, *readings: Reading, progressed: Progressed = ALL, quick: bool = False, **changes):
    entry = bench.add("a", range(1), judge=lambda measured: readings, **changes)
    return decide(entry, Measurements([]), progressed, quick=quick)


def test_all_checks_without_a_change_reproduce(bench: Bench):
    assert verdict(bench, Reading(None, [YES, YES])).verdict == REPRODUCED


def test_a_change_of_the_entry_is_stated(bench: Bench):
    found = verdict(bench, Reading(None, [YES]), changes=("Fewer sizes.",))
    assert (found.verdict, found.why) == (CHANGED, "Fewer sizes.")


def test_a_second_reading_that_holds_is_a_stated_change(bench: Bench):
    found = verdict(bench, Reading(None, [YES, NO]), Reading("For samples only.", [YES]))
    assert (found.verdict, found.why) == (CHANGED, "For samples only.")


def test_a_failing_check_is_named(bench: Bench):
    found = verdict(bench, Reading(None, [YES, NO]))
    assert found.verdict == NOT_REPRODUCED
    assert "it grows (0 against 1)" in found.why
    assert "it holds" not in found.why


def test_the_reading_that_comes_nearest_explains(bench: Bench):
    found = verdict(bench, Reading(None, [NO, NO]), Reading("For samples only.", [YES, NO], "samples"))
    assert found.verdict == NOT_REPRODUCED
    assert found.why.startswith("1 of 2 checks hold for samples alone. These do not: it grows")


def test_an_entry_without_checks_is_not_reproduced(bench: Bench):
    assert verdict(bench).verdict == NOT_REPRODUCED
    assert verdict(bench, Reading(None, [])).verdict == NOT_REPRODUCED


def test_missing_data_is_not_runnable(bench: Bench):
    found = verdict(bench, Reading(None, [YES]), missing="No faces.")
    assert (found.verdict, found.why) == (NOT_RUNNABLE, "No faces.")


def test_cells_that_all_fail_are_not_runnable(bench: Bench):
    found = verdict(bench, Reading(None, [YES]), progressed=Progressed(2, 0, ("OSError: no file",) * 2))
    assert found.verdict == NOT_RUNNABLE
    assert "no file" in found.why


@pytest.mark.parametrize("progressed", [Progressed(3, 2), Progressed(3, 2, ("ValueError: broken",)), Progressed(3, 0)])
def test_an_incomplete_run_decides_nothing(bench: Bench, progressed: Progressed):
    found = verdict(bench, Reading(None, [YES]), progressed=progressed)
    assert found.verdict == UNDECIDED
    assert f"{progressed.done} of 3 cells" in found.why


def test_a_quick_run_decides_nothing_and_says_so(bench: Bench):
    found = verdict(bench, Reading(None, [YES]), quick=True)
    assert found.verdict == UNDECIDED
    assert "quick run" in found.why
