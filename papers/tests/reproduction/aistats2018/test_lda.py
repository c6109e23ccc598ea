from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from fewhot_papers.reproduction.aistats2018 import lda
from fewhot_papers.reproduction.aistats2018.lda import LDA_BASELINE, OURS, USUAL, fit_lda
from fewhot_papers.reproduction.measurements import Measurements, Row


def rows(document: float) -> list[Row]:
    return [
        Row(cell.settings, {"document": document + cell.settings["seed"], "corpus": document - 150})
        for cell in LDA_BASELINE.cells(False)
    ]


@pytest.mark.parametrize(("document", "holds"), [(1040.0, False), (1090.0, True), (1140.0, False)])
def test_the_range_decides(document: float, holds: bool):
    (reading,) = LDA_BASELINE.judge(Measurements(rows(document)))
    assert [check.holds for check in reading.checks] == [holds, holds]


def test_settings_and_ways_to_hold_topics_are_measured_on_other_documents(
    monkeypatch: pytest.MonkeyPatch,
):
    asked: list[str] = []
    X = sp.csr_array(np.random.default_rng(0).poisson(0.3, (80, 30)))

    def dataset(name: str, split: str, data_dir: Any) -> Any:
        asked.append(split)
        return SimpleNamespace(X=X)

    monkeypatch.setattr(lda, "dataset", dataset)
    found = {
        (cell.settings["defaults"], cell.settings["fixed_topics"]): fit_lda(cell.settings, None).numbers["document"]
        for cell in LDA_BASELINE.cells(True)
    }
    assert set(asked) == {"fit", "test"}
    assert found[OURS, "mean"] < found[OURS, "geometric"] != found[USUAL, "geometric"]
