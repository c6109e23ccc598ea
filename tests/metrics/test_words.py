"""Words of units: planted ones are found, dead units have none, and the sides of a unit are said in words."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import fewhot as fh
from fewhot.baselines import EASE, LDA
from fewhot.core.errors import FewhotError, InvalidParameterError, RunFolderError
from fewhot.data import text_dataset
from fewhot.metrics import TopWords, code_words, jacobian_spectrum, top_words, topic_coherence, topic_diversity
from fewhot.metrics.text_counts import text_counts
from tests.estimators.cases import assert_one_sentence
from tests.metrics.texts import TEXTS, counted, reader

WORDS = ["orbit", "moon", "goal", "ice", "gun", "law", "disk"]
RNG = np.random.default_rng(0)
TOPICS = {"space": ["orbit", "moon", "shuttle"], "sport": ["goal", "ice", "team"], "chips": ["disk", "ram", "card"]}
COMMON, RARE = ["people", "time", "good"], ["zyx", "qwv"]
NAMES = [word for words in TOPICS.values() for word in words] + COMMON + RARE
ABOUT = RNG.integers(3, size=1200)


def documents() -> np.ndarray:
    """Return counts of three topics, common words in most documents, and rare ones that two of a topic hold."""
    share = np.full((1200, len(NAMES)), 0.05)
    for topic in range(3):
        share[topic == ABOUT, 3 * topic : 3 * topic + 3] = 0.6
    share[:, 9:12], share[:, 12:] = 0.7, 0.0
    counts = (np.random.default_rng(1).random(share.shape) < share).astype(int)
    counts[np.flatnonzero(ABOUT == 0)[:2], 12] = 1
    counts[np.flatnonzero(ABOUT == 1)[:2], 13] = 1
    return counts


COUNTS = documents()


@pytest.fixture(scope="module")
def counter() -> fh.NFA:
    frame = pd.DataFrame(COUNTS, columns=NAMES)
    return fh.NFA(3, n_layers=1, hidden_layer_sizes=(32,), max_steps=400, random_state=0).fit(frame)


def planted(values: list[float]) -> sp.csr_array:
    """Return codes with a unit a topic: of so large a value in half of the topic's rows, off everywhere else."""
    on = np.random.default_rng(2).random(1200) < 0.5
    return sp.csr_array(np.stack([np.where((unit == ABOUT) & on, value, 0.0) for unit, value in enumerate(values)], 1))


# ------------------------------------------------------------------------------------------------ the rule


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_planted_topics_have_their_words_and_no_common_or_rare_ones(sign: float) -> None:
    found = code_words(planted([sign, 2 * sign, 3 * sign]), COUNTS, 3, vocabulary=NAMES)
    assert [set(words) for words in found.up] == [set(words) for words in TOPICS.values()]
    assert found.down == [[], [], []]
    assert topic_diversity(found) == 1.0
    assert topic_coherence(found, COUNTS).mean > 0.3


def score_by_hand(rows: np.ndarray, column: int) -> float:
    within, everywhere = (COUNTS[rows, column] > 0).mean(), (COUNTS[:, column] > 0).mean()
    return float(within * math.log(within / everywhere)) if within else 0.0


@pytest.mark.parametrize("kind", ["gated", "dense"])
def test_scores_are_those_of_the_rows_with_the_largest_values(kind: str) -> None:
    z = np.random.default_rng(3).normal(size=1200) + (ABOUT == 2)
    if kind == "gated":
        z = np.where(np.abs(z) > 1, z, 0.0)
    found = code_words(z[:, None], COUNTS, 5, vocabulary=NAMES)
    assert found.gated == (kind == "gated")
    for sign, columns, scores in ((1, found.columns_up[0], found.scores_up[0]), (-1, *_down(found))):
        rows = np.argsort(-sign * z)[:120]  # 6,000 words are in more, and 1 % of the rows would be 12
        by_hand = sorted((score_by_hand(rows, column) for column in range(len(NAMES))), reverse=True)
        shown = [score for score in by_hand[:5] if score > 0]
        np.testing.assert_allclose(scores[: len(shown)], shown)
        assert (columns[len(shown) :] == -1).all()


def _down(found: TopWords) -> tuple[np.ndarray, np.ndarray]:
    return found.columns_down[0], found.scores_down[0]


@pytest.mark.parametrize(("n_rows", "n_judged"), [(40, 4), (600, 60), (3000, 100), (20_000, 200)])
def test_a_side_is_judged_by_six_thousand_words_by_a_hundredth_or_by_a_tenth(n_rows: int, n_judged: int) -> None:
    present = np.ones((n_rows, 62), dtype=int)
    present[:, :2] = 0
    present[-n_judged:, 0] = present[-n_judged - 1 :, 1] = 1  # word 1 is in one row more
    found = code_words(np.arange(1.0, n_rows + 1)[:, None], present, 1)
    assert found.columns_up.tolist() == [[0]]
    assert found.scores_up[0, 0] == pytest.approx(math.log(n_rows / n_judged))


def test_rows_in_which_a_unit_is_off_are_not_asked() -> None:
    z = np.zeros(1200)
    z[np.flatnonzero(ABOUT == 1)[:10]] = 1.0  # fewer than a tenth
    words = code_words(sp.csr_array(z[:, None]), COUNTS, 3, vocabulary=NAMES)
    rows = np.flatnonzero(z)
    assert words.scores_up[0] == pytest.approx(
        sorted((score_by_hand(rows, column) for column in range(len(NAMES))), reverse=True)[:3]
    )


def test_dead_units_have_no_words() -> None:
    codes = np.c_[planted([1.0, 0.0, 0.0]).toarray(), np.r_[np.ones(5), np.zeros(1195)]]  # the last is on in 0.4 %
    found = code_words(codes, COUNTS, 2, vocabulary=NAMES)
    assert [bool(words) for words in found.up] == [True, False, False, False]
    assert str(found).splitlines()[1:] == ["3 units  (hardly ever on)"]
    assert len(topic_coherence(found, COUNTS).values) == 1
    assert found.to_dict()["units"][1] == {"unit": 1, "words": {}}


def test_a_dense_unit_that_does_not_vary_has_no_words(counter: fh.NFA) -> None:
    found = code_words(np.ones((1200, 1)), COUNTS, 2)
    assert str(found) == "1 unit  (hardly varies)"
    with pytest.raises(FewhotError, match="No unit has words"):
        topic_coherence(found, COUNTS)


def test_units_of_a_collapsed_fit_have_no_words() -> None:
    X = np.random.default_rng(0).poisson(2.0, size=(300, 7))
    with pytest.warns(UserWarning, match="None of the 3 units"):
        model = fh.NFA(3, hidden_layer_sizes=(8,), kl_weight=100.0, max_steps=200, random_state=0).fit(X)
    assert top_words(model, 2).up == top_words(model, 2, X=X).up == [[], [], []]


def test_words_that_the_rows_hold_no_more_often_than_others_are_not_shown() -> None:
    found = code_words(planted([1.0, 1.0, 1.0]), COUNTS, len(NAMES), vocabulary=NAMES)
    assert all(len(words) < len(NAMES) for words in found.up)
    assert not set(found.up[0]) & {*TOPICS["sport"], *TOPICS["chips"], "qwv"}


# ------------------------------------------------------------------------------------------------ sides, in words


def test_the_sides_of_a_dense_unit_are_high_and_low() -> None:
    z = (ABOUT == 0) * 1.0 - (ABOUT == 1) + np.random.default_rng(0).normal(size=1200) * 0.1
    found = code_words(z[:, None], COUNTS, 2, vocabulary=NAMES)
    said = found.in_words()[0]
    assert list(said) == ["when high", "when low"]
    assert set(said["when high"]) <= set(TOPICS["space"])
    assert set(said["when low"]) <= set(TOPICS["sport"])
    assert str(found) == f"unit 0  when high: {' '.join(found.up[0])}\n        when low: {' '.join(found.down[0])}"
    record = json.loads(json.dumps(found.to_dict()))["units"][0]
    assert record["words"]["when low"][0] == {"word": found.down[0][0], "score": pytest.approx(found.scores_down[0, 0])}
    assert len(topic_coherence(found, COUNTS).values) == 2


def test_the_sides_of_a_gated_unit_are_above_and_below_zero_where_it_has_both() -> None:
    both = ((ABOUT == 0) * 1.0 - (ABOUT == 1))[:, None]
    found = code_words(np.c_[both, -1.0 * (ABOUT == 2), 1.0 * (ABOUT == 2)], COUNTS, 2, vocabulary=NAMES)
    two, negative, positive = found.in_words()
    assert list(two) == ["when above 0", "when below 0"]
    assert set(two["when below 0"]) <= set(TOPICS["sport"])
    assert list(negative) == list(positive) == ["when on"]
    assert negative == positive
    assert str(found).splitlines()[2] == f"unit 1  {' '.join(found.up[1])}"


# ------------------------------------------------------------------------------------------------ of fitted models


def test_a_fit_of_counts_keeps_the_words_of_its_units(counter: fh.NFA, tmp_path: Path) -> None:
    kept = top_words(counter, 3)
    assert {tuple(sorted(words)) for words in (*kept.up, *kept.down)} >= {tuple(sorted(TOPICS["space"]))}
    assert topic_coherence(kept, COUNTS).mean > 0.2
    counter.save(tmp_path / "run")
    again = top_words(fh.load(tmp_path / "run"), 3)
    assert str(again) == str(kept)
    np.testing.assert_allclose(again.scores_up, kept.scores_up, rtol=1e-6)


def test_rows_that_are_given_are_asked_instead(counter: fh.NFA) -> None:
    X = pd.DataFrame(COUNTS, columns=NAMES)
    found = top_words(counter, 3, X=X)
    used = np.flatnonzero(counter.transform(X).var(axis=0) > 0.01).tolist()
    assert len(used) >= 2
    assert str(found.of(np.array(used), 3)) == str(code_words(counter.transform(X), X, 3, units=used))
    assert any("orbit" in words for words in (*found.up, *found.down))
    without = top_words(counter, 3, X=X.assign(orbit=0))
    assert not any("orbit" in words for words in (*without.up, *without.down))


def test_a_run_handed_on_without_its_words_asks_for_rows(counter: fh.NFA, tmp_path: Path) -> None:
    counter.save(tmp_path / "run")
    (tmp_path / "run" / "words.safetensors").write_bytes(b"no tensors")
    with pytest.raises(RunFolderError, match=r"words\.safetensors is damaged"):
        fh.load(tmp_path / "run")
    (tmp_path / "run" / "words.safetensors").unlink()
    with pytest.raises(InvalidParameterError, match=r"This NFA has kept no words.*Give X") as caught:
        top_words(fh.load(tmp_path / "run"))
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("likelihood", ["multinomial", "poisson", "negative-binomial"])
def test_sparse_codes_of_any_likelihood_of_counts_have_words(likelihood: str) -> None:
    X = sp.csr_array(COUNTS)
    vsc = fh.VSC(6, l0=1, likelihood=likelihood, hidden_layer_sizes=(16,), max_steps=60, random_state=0).fit(X)
    found = top_words(vsc, 3, vocabulary=NAMES)
    codes = vsc.transform(X)
    assert found.gated
    for unit, said in enumerate(found.in_words()):
        assert bool(said) == ((codes[:, [unit]] != 0).mean() >= 0.005) or not said


@pytest.mark.parametrize("encoder", ["auto", "gru"])
@pytest.mark.parametrize("model", [fh.HSVAE, fh.VSC, fh.VAE])
def test_a_model_of_texts_has_words_of_its_texts(model: type, encoder: str) -> None:
    fitted = reader(model, encoder=encoder)
    kept = top_words(fitted, 4)
    given = top_words(fitted, 4, X=TEXTS)
    shown = [word for words in (*given.up, *given.down) for word in words]
    assert set(shown) <= set(fitted.vocabulary_.known)
    for form in (tuple(TEXTS), pd.Series(TEXTS), np.array(TEXTS), text_dataset(TEXTS, fitted.vocabulary_)):
        assert top_words(fitted, 4, X=form).up == given.up
    codes = fitted.transform(TEXTS)
    known = list(fitted.vocabulary_.known)
    counts = counted(TEXTS, known)
    assert given.up == top_words_by_hand(codes, counts, known, fitted.module_.latent.gated)
    assert len(kept) == 6
    if any(given.up):
        assert np.isfinite(topic_coherence(given, text_counts(text_dataset(TEXTS, fitted.vocabulary_))).values).any()


def top_words_by_hand(codes: Any, counts: np.ndarray, known: list[str], gated: bool) -> list[list[str]]:
    if gated:
        return code_words(codes, counts, 4, vocabulary=known).up
    found = code_words(codes, counts, 4, vocabulary=known).up
    return [words if codes[:, unit].var() > 0.01 else [] for unit, words in enumerate(found)]


def test_topics_have_their_most_probable_words_and_those_of_rows_when_asked() -> None:
    lda = LDA(3, max_iter=20, random_state=0).fit(COUNTS)
    found = top_words(lda, 3, vocabulary=NAMES)
    order = np.argsort(-lda.topics_, axis=1)[:, :3]
    assert found.columns_up.tolist() == order.tolist()
    assert found.scores_up == pytest.approx(np.take_along_axis(lda.topics_, order, axis=1))
    by_rows = top_words(lda, 3, X=COUNTS, vocabulary=NAMES)
    assert sorted(map(sorted, by_rows.up)) == sorted(map(sorted, TOPICS.values()))
    assert by_rows.down == found.down == [[], [], []]


# ------------------------------------------------------------------------------------------------ requests


def test_words_come_from_the_frame_and_may_be_given(counter: fh.NFA) -> None:
    other = top_words(counter, 2, vocabulary=[word.upper() for word in NAMES])
    assert other.up[0][0] == top_words(counter, 2).up[0][0].upper()
    assert top_words(fh.NFA(2, max_steps=2, random_state=0).fit(COUNTS), 1).vocabulary[3] == "column 3"


def test_units_are_in_the_order_asked(counter: fh.NFA) -> None:
    every, some = top_words(counter, 2), top_words(counter, 2, units=[2, 0])
    assert some.units.tolist() == [2, 0]
    assert some.up == [every.up[2], every.up[0]]
    many = np.random.default_rng(2).normal(size=(1200, 150))
    some = code_words(many, COUNTS, 2, units=[149, 3, 70])
    assert some.columns_up.tolist() == code_words(many, COUNTS, 2).columns_up[[149, 3, 70]].tolist()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n": 15}, "n is 15 and the vocabulary has 14 words"),
        ({"n": 0}, "n is 0"),
        ({"vocabulary": ["a", "b"]}, "vocabulary has 2 words and there are 14 columns"),
        ({"vocabulary": "ab"}, "vocabulary is a text"),
        ({"units": [3], "n": 2}, "Unit 3 was asked for"),
        ({"units": [], "n": 2}, "units is empty"),
        ({"units": 1, "n": 2}, "units is 1; give a sequence of unit numbers"),
        ({"X": ["sea"]}, "X"),
    ],
)
def test_bad_requests_get_one_sentence(counter: fh.NFA, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(FewhotError, match=sentence):
        top_words(counter, **arguments)


def test_codes_of_other_rows_are_refused() -> None:
    with pytest.raises(FewhotError, match="codes has 3 rows and X has 1200; give the codes of these rows") as caught:
        code_words(np.ones((3, 2)), COUNTS)
    assert_one_sentence(caught.value)
    with pytest.raises(FewhotError, match="X holds fractional values"):
        code_words(np.ones((3, 2)), np.full((3, 2), 0.5))


def test_more_words_than_were_kept_need_rows() -> None:
    X = np.random.default_rng(0).poisson(0.3, size=(100, 40))
    model = fh.NFA(2, hidden_layer_sizes=(8,), max_steps=5, random_state=0).fit(X)
    with pytest.raises(InvalidParameterError, match="n is 26 and the fit has kept 25 words of each unit"):
        top_words(model, 26)
    assert top_words(model, 26, X=X).columns_up.shape == (2, 26)


def test_models_of_other_data_have_no_words(vae: fh.VAE) -> None:
    with pytest.raises(InvalidParameterError, match="This VAE has kept no words"):
        top_words(vae)


def test_a_model_grown_by_parts_asks_for_rows() -> None:
    model = fh.NFA(2, hidden_layer_sizes=(8,), max_steps=20, random_state=0).fit(COUNTS).partial_fit(COUNTS)
    with pytest.raises(InvalidParameterError, match="Give X"):
        top_words(model)
    assert len(top_words(model, 2, X=COUNTS)) == 2


SENTENCES = {
    "NFA": (lambda: fh.NFA(), "This NFA is not fitted; call fit first."),
    "LDA": (lambda: LDA(), "This LDA is not fitted; call fit first."),
    "EASE": (lambda: EASE().fit(COUNTS), "EASE has no decoder from codes to words; give a fitted NFA"),
    "text": (lambda: "model", "str has no decoder from codes to words"),
}


@pytest.mark.parametrize("function", [top_words, jacobian_spectrum])
@pytest.mark.parametrize("name", SENTENCES)
def test_models_without_words_get_a_sentence(name: str, function: Any) -> None:
    make, sentence = SENTENCES[name]
    with pytest.raises(InvalidParameterError) as caught:
        function(make())
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("n_components", [2, 9])
def test_the_units_are_those_of_the_fit(n_components: int) -> None:
    nfa = fh.NFA(3, hidden_layer_sizes=(8,), max_steps=5, random_state=0).fit(COUNTS)
    for model in (nfa, LDA(3, max_iter=2, random_state=0).fit(COUNTS)):
        assert top_words(model.set_params(n_components=n_components), 2).units.tolist() == [0, 1, 2]
