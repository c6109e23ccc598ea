from __future__ import annotations

import json
from pathlib import Path

from fewhot_papers.reproduction import entries
from fewhot_papers.reproduction.iclr2019 import ENTRIES
from fewhot_papers.reproduction.iclr2019.grid import DATA, SIZES, step_size
from fewhot_papers.reproduction.running import ordered

ROOT = Path(__file__).parents[3]
FIGURES = ("2", "3", "7", "8", "9", "10", "11", "12", "13")


def entry(figure: str):
    return entries()[f"iclr2019-fig{figure}"]


def labels(figure: str, quick: bool = False) -> set[str]:
    return {cell.label for cell in entry(figure).cells(quick)}


def test_every_figure_with_results_has_an_entry():
    assert set(entries()) >= {f"iclr2019-fig{figure}" for figure in FIGURES}


def test_the_whole_grid_is_the_documented_number_of_fits():
    cells = ordered(ENTRIES, quick=False)
    long = [cell for cell in cells if cell.settings["steps"] == 20_000]
    assert len(long) == 144 + 18
    assert len(cells) - len(long) == 216


def test_step_sizes_are_those_that_were_best_for_the_vae():
    chosen = json.loads((ROOT / "results/iclr2019-step-size/results.json").read_text())["chosen"]
    used = {data: {str(size): step_size(data, size) for size in SIZES} for data in DATA}
    assert used == chosen


def test_figures_share_their_fits():
    assert labels("10") == labels("8") == labels("11")
    assert labels("13") < labels("12") < labels("10")
    assert labels("7") < labels("2") < labels("9")


def test_numbers_that_are_compared_have_three_seeds():
    for figure in FIGURES:
        settings = [cell.settings for cell in entry(figure).cells(False)]
        assert {s["seed"] for s in settings} == {0, 1, 2}


def test_a_quick_run_has_one_seed_few_rows_and_few_steps():
    for figure in FIGURES:
        cells = entry(figure).cells(True)
        assert 0 < len(cells) <= 16
        for cell in cells:
            assert cell.settings["seed"] == 0
            assert cell.settings["n_train"] <= 1000
            assert cell.settings["steps"] <= 200


def test_every_entry_states_its_protocol_claim_and_rule():
    for found in ENTRIES:
        for text in (found.title, found.source, found.protocol, found.published, found.rule):
            assert text.strip()
        assert any("Batch size" in choice for choice in found.open_choices)
        assert any("Step size" in choice for choice in found.open_choices)


def test_faces_are_declared_not_runnable():
    missing = [found.id for found in ENTRIES if found.missing]
    assert missing == ["iclr2019-fig4-celeba", "iclr2019-fig7-celeba"]
    assert "CelebA" in str(entries()[missing[0]].missing)
