"""Texts that units answer to, against loops that can be read at a glance."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fewhot as fh
from fewhot import FewhotError
from fewhot.data import text_dataset
from fewhot.metrics import unit_texts
from fewhot.metrics.matrices import dense
from tests.estimators.cases import assert_one_sentence
from tests.metrics.conftest import PlantedRows
from tests.metrics.texts import TEXTS, reader


@pytest.fixture(scope="module")
def hsvae() -> Any:
    return reader()


@pytest.mark.parametrize("encoder", ["auto", "gru"])
@pytest.mark.parametrize("model", [fh.HSVAE, fh.VAE, fh.SDLGM])
@pytest.mark.parametrize("n", [1, 7, 1000])
def test_texts_of_the_largest_codes_are_found(model: type, n: int, encoder: str) -> None:
    fitted = reader(model, encoder=encoder)
    codes = dense(fitted.transform(TEXTS))
    found = unit_texts(fitted, TEXTS, n)
    assert len(found) == 6
    for unit in range(6):
        rows = sorted(range(len(TEXTS)), key=lambda row: (-abs(codes[row, unit]), row))
        rows = [row for row in rows if codes[row, unit] != 0][:n]
        assert found.rows[unit].tolist() == rows
        assert found.texts[unit] == [TEXTS[row] for row in rows]
        np.testing.assert_allclose(found.values[unit], codes[rows, unit])


def test_prepared_texts_are_put_together_again(hsvae: Any) -> None:
    prepared = unit_texts(hsvae, text_dataset(TEXTS, hsvae.vocabulary_), 3)
    assert prepared.texts == unit_texts(hsvae, TEXTS, 3).texts
    assert unit_texts(hsvae, pd.Series(TEXTS, index=range(1, 151)), 3).texts == prepared.texts


def test_texts_of_units_print_and_become_json(hsvae: Any) -> None:
    long = [f"{text} \n{'very ' * 40}long" for text in TEXTS]
    found = unit_texts(hsvae, long, 2, units=[3, 0])
    lines = str(found).splitlines()
    assert len(lines) == 2 + sum(map(len, found.texts))
    assert lines[0].startswith("unit 3")
    assert max(map(len, lines)) < 100
    records = json.loads(json.dumps(found.to_dict()))["units"]
    assert [record["unit"] for record in records] == [3, 0]
    assert [[text["text"] for text in record["texts"]] for record in records] == found.texts


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n": 0}, "n is 0"),
        ({"units": 3}, "units is 3"),
        ({"texts": np.ones((3, 4))}, "texts is of type ndarray without strings"),
        ({"texts": "sea"}, "texts is of type str without strings"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else None,
)
def test_bad_questions_about_texts_are_refused_in_one_sentence(
    hsvae: Any, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(FewhotError, match=sentence) as caught:
        unit_texts(hsvae, **{"texts": TEXTS} | options)
    assert_one_sentence(caught.value)


def test_models_of_numbers_have_no_texts(vsc: fh.VSC, planted: PlantedRows) -> None:
    with pytest.raises(FewhotError, match="VSC was fitted on rows of numbers; give an estimator of texts") as caught:
        unit_texts(vsc, planted.X)
    assert_one_sentence(caught.value)
