"""Estimators on texts: strings in, codes and strings out."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone

import fewhot as fh
from fewhot import FewhotError
from fewhot.data import text_dataset
from fewhot.models.sequence_decoder import SequenceDecoder
from tests.estimators.cases import assert_one_sentence

RNG = np.random.default_rng(0)
KINDS = {"sea": ["the sea is blue", "waves of the sea", "a boat on the sea"], "sun": ["the sun is hot", "hot dry air"]}
TEXTS = [str(RNG.choice(KINDS[kind])) for kind in RNG.choice(list(KINDS), 120)]
SMALL: dict[str, Any] = {"hidden_layer_sizes": (16,), "batch_size": 20, "max_steps": 12, "random_state": 0}
MODELS: dict[str, Any] = {
    "VAE": lambda **k: fh.VAE(4, **SMALL | k),
    "VAE-L1": lambda **k: fh.VAE(4, penalty="l1", **SMALL | k),
    "BetaTCVAE": lambda **k: fh.BetaTCVAE(4, **SMALL | k),
    "MATVAE": lambda **k: fh.MATVAE(4, **SMALL | k),
    "VSC": lambda **k: fh.VSC(8, l0=2, **SMALL | k),
    "HSVAE": lambda **k: fh.HSVAE(8, l0=2, **SMALL | k),
    "SDLGM": lambda **k: fh.SDLGM(8, l0=2, **SMALL | k),
    "GumbelVAE": lambda **k: fh.GumbelVAE(8, n_classes=4, **SMALL | k),
}
every_model = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    return {name: make().fit(TEXTS) for name, make in MODELS.items()}


@every_model
def test_strings_are_fitted_coded_and_said_again(fitted: dict[str, Any], name: str) -> None:
    model = fitted[name]
    assert isinstance(model.module_.decoder, SequenceDecoder)
    Z = model.transform(TEXTS[:7])
    assert Z.shape == (7, model.n_components)
    bounds = model.score_samples(TEXTS[:7])
    assert bounds.shape == (7,)
    assert np.isfinite(bounds).all()
    assert (bounds < 0).all()
    said = model.inverse_transform(Z)
    assert said.shape == (7,)
    assert all(isinstance(text, str) for text in said)
    assert len(model.sample(3, random_state=0)) == len(model.sample_like(TEXTS[:3], random_state=0)) == 3


@every_model
def test_rows_are_coded_by_themselves_whatever_stands_beside_them(fitted: dict[str, Any], name: str) -> None:
    model = fitted[name]
    texts = [*TEXTS[:4], " ".join(TEXTS[:6])]  # one much longer, so that all are padded
    together, alone = model.score_samples(texts), [model.score(text_dataset([t], model.vocabulary_)) for t in texts]
    np.testing.assert_allclose(together, alone, rtol=1e-4)


@every_model
def test_saved_models_of_texts_read_and_say_as_before(fitted: dict[str, Any], name: str, tmp_path: Path) -> None:
    model = fitted[name]
    model.save(tmp_path / "run")
    again = fh.load(tmp_path / "run", device="cpu")
    assert again.vocabulary_ == model.vocabulary_
    np.testing.assert_array_equal(again.score_samples(TEXTS[:5]), model.score_samples(TEXTS[:5]))
    Z = model.transform(TEXTS[:5])
    for other in (again, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.inverse_transform(Z), model.inverse_transform(Z))


@every_model
def test_held_out_texts_are_watched(name: str) -> None:
    model = MODELS[name](n_iter_no_change=None).fit(TEXTS[:80], X_val=TEXTS[80:])
    assert {record["rows"] for record in model.history_} == {"held-out"}


@every_model
def test_models_of_texts_are_summarised(fitted: dict[str, Any], name: str) -> None:
    summary = fh.metrics.summarise(fitted[name], TEXTS[:30])
    assert np.isfinite(summary.value("bound"))
    assert all(alarm.sentence for alarm in fh.metrics.alarms(summary))


@every_model
def test_fits_repeat(fitted: dict[str, Any], name: str) -> None:
    again = clone(fitted[name]).fit(TEXTS)
    np.testing.assert_array_equal(again.score_samples(TEXTS[:5]), fitted[name].score_samples(TEXTS[:5]))


def test_a_model_learns_what_texts_say() -> None:
    model = fh.VAE(4, **SMALL | {"max_steps": 400, "hidden_layer_sizes": (32,), "learning_rate": 5e-3}).fit(TEXTS)
    short = fh.VAE(4, **SMALL | {"max_steps": 1}).fit(TEXTS)
    assert model.score(TEXTS) > short.score(TEXTS) + 5
    assert set(model.decode(model.transform(TEXTS))) & set(TEXTS)


@pytest.mark.parametrize("how", ["greedy", "beam", "sample"])
def test_codes_are_decoded_in_three_ways(fitted: dict[str, Any], how: str) -> None:
    model = fitted["VSC"]
    Z = model.transform(TEXTS[:5])
    texts = model.decode(Z, how, max_length=4, random_state=1)
    assert all(len(text.split()) <= 4 for text in texts)
    np.testing.assert_array_equal(texts, model.decode(Z, how, max_length=4, random_state=1))


def test_more_beams_than_can_be_looked_at_are_refused(fitted: dict[str, Any]) -> None:
    model = fitted["VSC"]
    with pytest.raises(FewhotError, match=r"^n_beams is 100000; it must be at most 1,000\.$"):
        model.decode(model.transform(TEXTS[:1]), "beam", n_beams=100_000)


def test_an_encoder_that_is_unknown_is_told_what_one_of_texts_reads() -> None:
    with pytest.raises(FewhotError, match=r"or a torch module from ids and which of them are there, two \(B, T\)"):
        fh.VAE(2, encoder="/no/folder", **SMALL).fit(TEXTS)


def test_refinement_reaches_codes_of_texts(fitted: dict[str, Any]) -> None:
    model = copy.deepcopy(fitted["VAE"])
    before = model.score_samples(TEXTS[:10])
    after = model.set_params(refine_steps=20).score_samples(TEXTS[:10])
    assert after.mean() > before.mean()


def test_texts_come_in_many_forms_and_mean_the_same(fitted: dict[str, Any]) -> None:
    model = fitted["VAE"]
    known = model.transform(TEXTS[:5])
    for form in (
        tuple(TEXTS[:5]),
        pd.Series(TEXTS[:5]),
        np.array(TEXTS[:5]),
        text_dataset(TEXTS[:5], model.vocabulary_),
    ):
        np.testing.assert_array_equal(model.transform(form), known)


def test_prepared_texts_bring_their_vocabulary_and_how_they_were_cut(tmp_path: Path) -> None:
    texts = ["Sea , Sun", "Sun"] * 10
    with pytest.warns(UserWarning, match="10 of 20 texts have more than 2 words"):
        model = fh.VAE(2, **SMALL).fit(text_dataset(texts, tokeniser="spaces", max_length=2))
    assert (model.vocabulary_.tokeniser, model.vocabulary_.max_length) == ("spaces", 2)
    model.save(tmp_path / "run")
    with pytest.warns(UserWarning, match="1 of 1 texts have more than 2 words and were cut there"):
        fh.load(tmp_path / "run", device="cpu").transform(["Sea , Sun"])


def test_words_can_be_counted_instead_of_read_in_order() -> None:
    bags = fh.VAE(4, likelihood="multinomial", **SMALL).fit(TEXTS)
    assert bags.inverse_transform(bags.transform(TEXTS[:3])).shape == (3, len(bags.vocabulary_))
    topics = fh.NFA(4, **SMALL).fit(TEXTS)
    assert topics.likelihood_ == "multinomial"
    assert np.isfinite(topics.perplexity(TEXTS))
    mixed = fh.VAE(4, encoder="gru", likelihood="multinomial", **SMALL).fit(TEXTS)
    assert np.isfinite(mixed.score(TEXTS))
    unread = fh.VAE(4, encoder="mlp", **SMALL).fit(TEXTS)
    assert isinstance(unread.module_.decoder, SequenceDecoder)
    assert not unread.module_.decoder.shares_words


@pytest.mark.filterwarnings("ignore:.*texts have more than", "ignore:All words of 1 of 1 texts", "ignore:.*not ASCII")
@pytest.mark.parametrize(
    "texts",
    [[""], ["sea"], ["zzz qqq"], ["", "sea", "x" * 5000], ["café “naïve”", "\udce4 sea"], [" ".join(["sea"] * 3000)]],
)
def test_odd_texts_are_coded(fitted: dict[str, Any], texts: list[str]) -> None:
    model = fitted["VSC"]
    assert np.isfinite(model.score_samples(texts)).all()
    assert model.transform(texts).shape == (len(texts), 8)


def test_a_vocabulary_of_one_word_and_texts_of_one_word_are_fitted() -> None:
    model = fh.VAE(2, **SMALL).fit(["sea"] * 10)
    assert np.isfinite(model.score(["sea", ""]))


@pytest.mark.parametrize(
    "texts", [[], [""], ["", " "], "sea", b"sea", ["sea", 1], [b"sea"], ["sea", None], [["sea"], ["sun"]]], ids=repr
)
def test_what_is_no_text_is_refused_in_one_sentence(texts: Any) -> None:
    with pytest.raises(FewhotError) as caught:
        fh.VAE(2, **SMALL).fit(texts)
    assert_one_sentence(caught.value)


def test_numbers_and_texts_do_not_mix(fitted: dict[str, Any]) -> None:
    for rows in (np.ones((3, 4)), sp.csr_array(np.ones((3, 4))), torch.ones(3, 4)):
        with pytest.raises(FewhotError, match="fitted on texts"):
            fitted["VAE"].transform(rows)
    numbers = fh.VAE(2, **SMALL).fit(RNG.random((30, 4)))
    with pytest.raises(FewhotError, match="fitted on rows of numbers"):
        numbers.transform(TEXTS[:2])
    with pytest.raises(FewhotError, match="call inverse_transform"):
        numbers.decode(np.zeros((1, 2)))
    with pytest.raises(FewhotError, match="another vocabulary"):
        fitted["VAE"].transform(text_dataset(["something else"]))


def test_a_later_fit_on_numbers_forgets_the_words() -> None:
    model = fh.VAE(2, **SMALL).fit(TEXTS)
    model.fit(RNG.random((30, 4)))
    assert not hasattr(model, "vocabulary_")
    assert model.transform(RNG.random((2, 4))).shape == (2, 2)


@pytest.mark.parametrize(
    "arguments",
    [{"encoder": "gru", "hidden_layer_sizes": (8, 8)}, {"encoder": "conv"}, {"likelihood": "gaussian", "encoder": "x"}],
    ids=str,
)
def test_networks_that_do_not_suit_texts_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(FewhotError) as caught:
        fh.VAE(2, **SMALL | arguments).fit(TEXTS)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: fh.NFA(2, encoder="gru", **SMALL).fit(TEXTS),
        lambda: fh.VSC(4, prior="pseudo-inputs", alpha=0.2, **SMALL).fit(TEXTS),
        lambda: fh.SDLGMClassifier(4, dropout=0.2, **SMALL).fit(TEXTS, np.eye(2)[np.arange(120) % 2]),
    ],
    ids=["features of counts", "pseudo-inputs", "dropout"],
)
def test_what_is_of_numbers_does_not_go_with_texts_in_order(make: Any) -> None:
    with pytest.raises(FewhotError, match="give encoder='mlp', which reads the counts of words") as caught:
        make()
    assert_one_sentence(caught.value)


def test_recurrent_networks_refuse_numbers() -> None:
    with pytest.raises(FewhotError, match="encoder='gru' reads texts"):
        fh.VAE(2, encoder="gru", **SMALL).fit(RNG.random((30, 4)))


def test_a_fit_on_texts_resumes_bit_for_bit(tmp_path: Path) -> None:
    def make(**changes: Any) -> Any:
        return fh.HSVAE(6, l0=2, **SMALL | changes)

    whole = make(max_steps=20).fit(TEXTS)
    run = tmp_path / "run"
    stop = [0]

    class Interrupting(fh.Callback):
        def on_evaluation(self, record: dict[str, Any]) -> bool:
            stop[0] += 1
            if stop[0] == 2:
                raise KeyboardInterrupt
            return False

    with pytest.raises(KeyboardInterrupt):
        make(max_steps=20, callbacks=[fh.RunFolder(run, checkpoint_steps=3), Interrupting()]).fit(TEXTS)
    resumed = make(max_steps=20, callbacks=[fh.RunFolder(run, checkpoint_steps=3)]).fit(TEXTS)
    np.testing.assert_array_equal(resumed.score_samples(TEXTS[:6]), whole.score_samples(TEXTS[:6]))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((text for text in TEXTS), "such as list"),
        (dict.fromkeys(TEXTS).keys(), "such as list"),
        ({"sea"}, "lists of strings"),
        ("sea", "lists of strings"),
        ([], "one text"),
        ([["sea", "sun"], ["sun"]], "one string"),
        (pd.DataFrame({"text": TEXTS}), "such as X"),
    ],
    ids=["generator", "keys", "set", "string", "empty", "words", "frame"],
)
def test_what_is_nearly_texts_is_told_apart(rows: Any, said: str) -> None:
    with pytest.raises(FewhotError, match=said) as caught:
        fh.VAE(2, **SMALL).fit(rows)
    assert_one_sentence(caught.value)


def test_a_transformer_by_its_bare_name_is_told_how_to_come() -> None:
    with pytest.raises(FewhotError, match=r"fewhot\.nn\.Pretrained"):
        fh.VAE(2, encoder="bert-base-uncased", **SMALL).fit(TEXTS)


def test_drawn_texts_are_as_long_as_asked(fitted: dict[str, Any]) -> None:
    model = fitted["VSC"]
    drawn = [len(text.split()) for text in model.sample(50, random_state=0, max_length=2)]
    assert max(drawn) == 2
    assert max(len(text.split()) for text in model.sample_like(TEXTS[:20], random_state=0, max_length=1)) <= 1
    with pytest.raises(FewhotError, match=r"^max_length"):
        model.sample(1, max_length=0)
    assert model.likelihood_ == "words"
