"""Words and texts that units answer to, against loops that can be read at a glance."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import fewhot as fh
from fewhot import FewhotError
from fewhot.data import text_dataset
from fewhot.metrics import activity_probabilities, topic_diversity, unit_texts, unit_words
from fewhot.metrics.matrices import dense
from fewhot.metrics.text_counts import text_counts
from tests.estimators.cases import assert_one_sentence
from tests.metrics.conftest import PlantedRows
from tests.metrics.texts import TEXTS, counted, reader


@pytest.fixture(scope="module")
def hsvae() -> Any:
    return reader()


def gains_by_hand(activity: np.ndarray, known: list[str], min_texts: int) -> list[dict[str, float]]:
    found: list[dict[str, float]] = []
    for unit in range(activity.shape[1]):
        gains: dict[str, float] = {}
        for word in known:
            having = [activity[row, unit] for row, text in enumerate(TEXTS) if word in text.split()]
            lacking = [activity[row, unit] for row, text in enumerate(TEXTS) if word not in text.split()]
            if min(len(having), len(lacking)) >= min_texts:
                gains[word] = float(np.mean(having) - np.mean(lacking))
        found.append(gains)
    return found


def assert_best(found: Any, gains: list[dict[str, float]], n: int) -> None:
    for unit, words, scores in zip(found.units, found.up, found.scores_up, strict=True):
        np.testing.assert_allclose(scores, sorted(gains[unit].values(), reverse=True)[:n], rtol=1e-5, atol=1e-9)
        np.testing.assert_allclose(scores, [gains[unit][word] for word in words], rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("model", [fh.HSVAE, fh.VSC, fh.SDLGM])
@pytest.mark.parametrize("min_texts", [1, 20])
def test_words_raise_the_probability_of_a_unit_as_loops_say(model: type, min_texts: int) -> None:
    fitted = reader(model)
    gains = gains_by_hand(activity_probabilities(fitted, TEXTS).astype(float), fitted.vocabulary_.known, min_texts)
    assert_best(unit_words(fitted, TEXTS, 4, min_texts=min_texts), gains, 4)


@pytest.mark.parametrize("model", [fh.HSVAE, fh.VAE])
def test_words_raise_the_size_of_a_code_as_loops_say(model: type) -> None:
    fitted = reader(model)
    gains = gains_by_hand(np.abs(dense(fitted.transform(TEXTS))).astype(float), fitted.vocabulary_.known, 10)
    measure: Any = "size" if model is fh.HSVAE else None
    assert_best(unit_words(fitted, TEXTS, 4, measure=measure), gains, 4)


def test_a_unit_answers_to_the_words_of_its_kind() -> None:
    known = sorted({word for text in TEXTS for word in text.split()})
    X = counted(TEXTS, known)
    model = fh.VSC(3, l0=1, hidden_layer_sizes=(16,), likelihood="multinomial", max_steps=5, random_state=0).fit(X)
    is_sea = X[:, known.index("sea")] > 0

    class Planted:
        module_ = model.module_

        def transform(self, X: Any) -> Any:
            return sp.csr_array(np.c_[is_sea * -2.0, ~is_sea * 1.0, np.zeros(len(is_sea))])

    found = unit_words(Planted(), X, 2, measure="size", vocabulary=known)
    assert found.up[0][0] == "sea"
    assert found.scores_up[0, 0] == pytest.approx(2.0)
    assert (found.scores_up[2] == 0).all()


def test_counts_dense_and_sparse_give_the_same_words() -> None:
    known = sorted({word for text in TEXTS for word in text.split()})
    X = counted(TEXTS, known)
    small: dict[str, Any] = {"hidden_layer_sizes": (8,), "max_steps": 5, "random_state": 0, "device": "cpu"}
    model = fh.VSC(4, l0=2, likelihood="multinomial", **small).fit(sp.csr_array(X))
    found = unit_words(model, sp.csr_array(X), 3, vocabulary=known)
    again = unit_words(model, X, 3, vocabulary=known)
    np.testing.assert_allclose(found.scores_up, again.scores_up, atol=1e-6)
    named = fh.VSC(4, l0=2, likelihood="multinomial", **small).fit(pd.DataFrame(X, columns=known))
    assert set(unit_words(named, pd.DataFrame(X, columns=known), 3).up[0]) <= set(known)


def test_texts_in_every_form_give_the_same_words(hsvae: Any) -> None:
    known = unit_words(hsvae, TEXTS, 3)
    for form in (tuple(TEXTS), pd.Series(TEXTS), np.array(TEXTS), text_dataset(TEXTS, hsvae.vocabulary_)):
        assert unit_words(hsvae, form, 3).up == known.up


def test_words_are_those_that_topic_measures_and_print_take(hsvae: Any) -> None:
    found = unit_words(hsvae, TEXTS, 3, units=[4, 1])
    assert found.units.tolist() == [4, 1]
    assert str(found).splitlines()[0] == f"unit 4  {' '.join(found.up[0])}"
    assert 0 < topic_diversity(found) <= 1
    assert json.loads(json.dumps(found.to_dict()))["units"][1]["down"] == []
    counts = text_counts(text_dataset(TEXTS, hsvae.vocabulary_))
    assert np.isfinite(fh.metrics.topic_coherence(found, counts).values).any()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n": 0}, "n is 0"),
        ({"n": 1000}, "n is 1000 and .* words are in at least 10 texts"),
        ({"min_texts": 0}, "min_texts is 0"),
        ({"min_texts": 1000}, "n is 10 and 0 words"),
        ({"measure": "mean"}, "measure is 'mean'"),
        ({"units": []}, "units is empty"),
        ({"units": [6]}, "Unit 6 was asked for"),
        ({"texts": ["sea", 3]}, "Text 1 of texts"),
        ({"texts": np.ones((30, 12))}, "texts is of type ndarray without strings"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else None,
)
def test_bad_questions_about_words_are_refused_in_one_sentence(
    hsvae: Any, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(FewhotError, match=sentence) as caught:
        unit_words(hsvae, **{"texts": TEXTS} | options)
    assert_one_sentence(caught.value)


def test_gates_are_not_asked_of_models_without() -> None:
    with pytest.raises(FewhotError, match="VAE has no gates"):
        unit_words(reader(fh.VAE), TEXTS, 2, measure="p_active")


# ------------------------------------------------------------------------------------------------------ texts


@pytest.mark.parametrize("model", [fh.HSVAE, fh.VAE, fh.SDLGM])
@pytest.mark.parametrize("n", [1, 7, 1000])
def test_texts_of_the_largest_codes_are_found(model: type, n: int) -> None:
    fitted = reader(model)
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
