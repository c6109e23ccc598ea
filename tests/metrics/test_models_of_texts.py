"""What metrics and plots for numbers do with models of texts, and what is measured of texts in any container."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import fewhot as fh
from fewhot import metrics, plots
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.core.records import END
from fewhot.data.text.vocabulary import N_SPECIAL
from fewhot.metrics.interpolation import _discrete, _Effects

RNG = np.random.default_rng(0)
KINDS = [["the sea is blue", "waves of the sea"], ["the sun is hot", "hot dry air"]]
LABELS = RNG.integers(2, size=120)
TEXTS = [str(RNG.choice(KINDS[label])) for label in LABELS]
SMALL: dict[str, Any] = {"hidden_layer_sizes": (16,), "batch_size": 20, "max_steps": 12, "random_state": 0}


@pytest.fixture(scope="module")
def words() -> Any:
    """Return a model that says texts word by word."""
    return fh.VSC(8, l0=2, encoder="gru", **SMALL).fit(TEXTS)


@pytest.fixture(scope="module")
def bags() -> Any:
    """Return a model of bags of words, as it is by default."""
    return fh.VSC(8, l0=2, **SMALL).fit(TEXTS)


@pytest.fixture(scope="module")
def counts() -> Any:
    return fh.NFA(4, **SMALL | {"learning_rate": 0.02}).fit(TEXTS)


@pytest.mark.parametrize("kind", ["words", "bags", "counts"])
def test_top_words_are_those_of_the_texts(kind: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(kind)
    n = len(model.vocabulary_.known)
    found = metrics.top_words(model, n, X=TEXTS)
    shown = [column for columns in found.lists for column in columns]
    assert shown
    assert min(shown) >= N_SPECIAL
    with pytest.raises(InvalidParameterError, match=f"the vocabulary has {n} words; ask for at most as many"):
        metrics.top_words(model, n + 1)


@pytest.mark.parametrize(
    "look",
    [
        lambda model: plots.units(model, TEXTS),
        lambda model: plots.reconstructions(model, TEXTS[:2]),
        lambda model: plots.traversals(model, TEXTS[:1]),
        lambda model: plots.samples(model, TEXTS[:2]),
        lambda model: plots.interpolation(model, TEXTS[0], TEXTS[1]),
    ],
)
@pytest.mark.parametrize("kind", ["words", "bags", "counts"])
def test_what_is_for_numbers_refuses_models_of_texts(look: Any, kind: str, request: pytest.FixtureRequest) -> None:
    with pytest.raises(InvalidParameterError, match="was fitted on texts, and this is for models of rows of numbers"):
        look(request.getfixturevalue(kind))


@pytest.mark.parametrize("how", ["continuous", "discrete"])
def test_texts_are_walked_between(words: Any, how: Any) -> None:
    walk = metrics.interpolate(words, TEXTS[0], [TEXTS[1]], how=how)
    np.testing.assert_allclose(walk.codes[[0, -1]], words.transform(TEXTS[:2]).toarray(), rtol=1e-6)
    assert walk.decoded.tolist() == words.decode(walk.codes).tolist()


def test_units_of_texts_are_switched_by_how_much_likelier_they_make_their_text(words: Any) -> None:
    a, b = np.zeros(8), np.zeros(8)
    a[[0, 2, 5]], b[1] = (2.0, -1.0, 3.0), 1.0
    of_a, of_b = (_Effects(words, code, TEXTS[0], np.array(1.0)) for code in (a, b))
    codes, switches = _discrete(a, b, None, of_a, of_b)
    likelihood = {unit: log_likelihood(words, TEXTS[0], np.where(np.arange(8) == unit, 0.0, a)) for unit in (0, 2, 5)}
    falls = {unit: log_likelihood(words, TEXTS[0], a) - fewer for unit, fewer in likelihood.items()}
    off = [switch for switch in switches if not switch.on]
    assert [switch.unit for switch in off] == sorted(falls, key=lambda unit: -falls[unit])
    assert [switch.effect for switch in off] == pytest.approx([falls[switch.unit] for switch in off], abs=1e-4)
    np.testing.assert_array_equal(codes[-1], b)


@torch.no_grad()
def log_likelihood(model: Any, text: str, code: np.ndarray) -> float:
    """Return log p(x | z), word by word."""
    decoder, z = model.module_.decoder, torch.tensor(code[None], dtype=torch.float32)
    read = decoder._read(z, None)
    before, state, total = torch.tensor([END]), None, 0.0
    for word in model.vocabulary_.ids(text.split()):
        said, state = decoder.body(torch.cat([decoder.words(before), read], dim=-1)[:, None], state)
        total += float(decoder.output(said[:, 0]).log_softmax(-1)[0, int(word)])
        before = torch.tensor([int(word)])
    return total


def test_a_unit_of_a_text_is_turned(words: Any) -> None:
    turned = metrics.traverse(words, TEXTS[0], [3, 1], values=[0.0, 1.0, -4.0])
    assert turned.decoded.shape == (2, 3)
    code = words.transform(TEXTS[:1]).toarray()[0]
    code[1] = -4.0
    assert turned.decoded[1, 2] == words.decode(code[None])[0]
    assert metrics.traverse(words, TEXTS[0], [0], background=TEXTS, n_values=4).decoded.shape == (1, 4)


@pytest.mark.parametrize("x", [TEXTS[:2], 3, []], ids=["two", "a number", "none"])
def test_one_text_is_walked_from(words: Any, x: Any) -> None:
    with pytest.raises(InvalidInputError, match="the model reads texts; give one text"):
        metrics.interpolate(words, x, TEXTS[0])


@pytest.mark.parametrize("kind", ["bags", "counts"])
def test_counts_of_words_are_not_walked_between(kind: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(kind)
    for look in (lambda: metrics.traverse(model, TEXTS[0]), lambda: metrics.interpolate(model, TEXTS[0], TEXTS[1])):
        with pytest.raises(InvalidParameterError, match="was fitted on texts, and this is for models of rows"):
            look()


def test_only_decoders_of_numbers_have_directions(words: Any, bags: Any, counts: Any) -> None:
    assert metrics.unit_directions(counts).shape == (4, len(counts.vocabulary_))
    assert metrics.unit_directions(bags).shape == (8, len(bags.vocabulary_))
    with pytest.raises(InvalidParameterError, match="VSC was fitted on texts"):
        metrics.unit_directions(words)


@pytest.mark.parametrize("kind", ["words", "bags"])
def test_texts_in_any_container_have_the_same_numbers(kind: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(kind)
    found = [
        metrics.summarise(model, X, LABELS, probe="marginal")
        for X in (TEXTS, np.array(TEXTS, dtype=object), pd.Series(TEXTS), model._rows(TEXTS))
    ]
    for other in found[1:]:
        assert [number.name for number in other.numbers] == [number.name for number in found[0].numbers]
        np.testing.assert_allclose([n.value for n in other.numbers], [n.value for n in found[0].numbers], rtol=1e-5)


def test_the_tighter_bound_is_measured_on_a_sample_of_many_texts(words: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["fewhot.metrics.summarise"], "IWAE_ROWS", 30)
    summary = metrics.summarise(words, TEXTS)
    of_those = summary.value("iwae") - summary.value("slack")
    assert summary.get("iwae").meaning.endswith(f"on 30 rows, whose bound is {of_those:.1f}")


def test_the_marginal_probe_learns_from_the_rows_it_is_given(words: Any) -> None:
    summary = metrics.summarise(words, TEXTS[:20], LABELS[:20], TEXTS[20:], LABELS[20:], probe="marginal")
    probed = [number for number in summary.numbers if "probe" in number.name]
    kinds = [f"marginal_probe_{kind}" for kind in ("sample", "map", "mean")]
    assert [number.name for number in probed] == [*kinds, "probe_majority", "probe_columns"]
    assert probed[0].meaning == (
        "accuracy of a network with two layers of 32 on 5 sampled codes a row, averaged over, from 100 labels"
    )
    assert all(number.unit == "share of rows" and number.why for number in probed)
    expected = metrics.marginal_probe(words, TEXTS[20:], LABELS[20:], TEXTS[:20], LABELS[:20])
    assert probed[0].value == expected.accuracy


def test_a_class_of_one_row_is_no_obstacle(words: Any) -> None:
    labels = np.concatenate([[7], LABELS[1:40]])
    assert np.isfinite(metrics.summarise(words, TEXTS[:40], labels, probe="marginal").value("marginal_probe_sample"))


def test_labels_of_one_class_have_no_marginal_probe(words: Any) -> None:
    summary = metrics.summarise(words, TEXTS[:10], np.zeros(10, int), probe="marginal")
    assert summary.get("marginal_probe_sample") is None


def test_labels_of_another_number_than_texts_are_refused(words: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"y has shape \(9,\) for 10 rows; give one label a row"):
        metrics.summarise(words, TEXTS[:10], LABELS[:9], probe="marginal")


def test_an_unknown_probe_is_refused(words: Any) -> None:
    with pytest.raises(InvalidParameterError, match="probe is 'quadratic'"):
        metrics.summarise(words, TEXTS[:10], LABELS[:10], probe="quadratic")
