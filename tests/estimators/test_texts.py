"""Estimators on texts: strings in, codes and strings out."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from torch import Tensor, nn

import fewhot as fh
from fewhot import FewhotError
from fewhot.core.records import Dense
from fewhot.data import text_dataset
from fewhot.features import TfIdf
from fewhot.likelihoods import MultinomialLikelihood
from fewhot.likelihoods.words import WordLikelihood
from fewhot.models.defaults import WORDS_LEFT_OUT
from fewhot.models.sequence_decoder import SequenceDecoder
from fewhot.nn import RowsMLP, WordGRU
from tests.estimators.cases import assert_one_sentence

RNG = np.random.default_rng(0)
KINDS = {
    "sea": ["the sea is blue", "waves of the sea", "one boat on the sea"],
    "sun": ["the sun is hot", "hot dry air"],
}
TEXTS = [str(RNG.choice(KINDS[kind])) for kind in RNG.choice(list(KINDS), 120)]
SMALL: dict[str, Any] = {"hidden_layer_sizes": (16,), "batch_size": 20, "max_steps": 12, "random_state": 0}
IN_ORDER: dict[str, Any] = SMALL | {"encoder": "gru"}
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
N_COLUMNS = text_dataset(TEXTS).spec.n_columns
every_model = pytest.mark.parametrize("name", MODELS)
both_kinds = pytest.mark.parametrize("encoder", ["auto", "gru"])


@pytest.fixture(scope="module")
def bags() -> dict[str, Any]:
    """Return models that count words, as they are by default."""
    return {name: make().fit(TEXTS) for name, make in MODELS.items()}


@pytest.fixture(scope="module")
def spoken() -> dict[str, Any]:
    """Return models that say texts word by word."""
    return {name: make(encoder="gru").fit(TEXTS) for name, make in MODELS.items()}


@pytest.fixture(params=["bags", "spoken"])
def fitted(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return models of either kind."""
    return request.getfixturevalue(request.param)


class MeanOfWords(nn.Module):
    """A module that reads ids, and no part of the library."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(N_COLUMNS, 8)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        weights = mask.float()[..., None]
        return (self.words(ids) * weights).sum(1) / weights.sum(1).clamp(min=1)


def assert_a_bag(model: Any) -> None:
    """Check that a perceptron reads the texts of a model and a log-linear decoder says how often words occur."""
    module = model.module_
    assert isinstance(module.encoder.features, TfIdf)
    assert not isinstance(module.decoder, SequenceDecoder)
    assert module.decoder.hidden_layer_sizes == []
    assert isinstance(module.decoder.head, MultinomialLikelihood)
    assert model.likelihood_ == "multinomial"
    assert not model.says_texts


def assert_coded(model: Any) -> Any:
    """Return the codes of seven texts, once they and their bounds are checked."""
    Z = model.transform(TEXTS[:7])
    assert Z.shape == (7, model.n_components)
    bounds = model.score_samples(TEXTS[:7])
    assert bounds.shape == (7,)
    assert np.isfinite(bounds).all()
    assert (bounds < 0).all()
    assert len(model.sample(3, random_state=0)) == len(model.sample_like(TEXTS[:3], random_state=0)) == 3
    return Z


@every_model
def test_texts_are_bags_of_words_unless_told_otherwise(bags: dict[str, Any], name: str) -> None:
    model = bags[name]
    assert_a_bag(model)
    assert isinstance(model.module_.encoder.body, RowsMLP)
    assert model.module_.encoder.dropout == WORDS_LEFT_OUT == 0.3
    means = model.inverse_transform(assert_coded(model))
    assert means.shape == (7, N_COLUMNS)
    assert (means >= 0).all()


@every_model
def test_strings_are_fitted_coded_and_said_again(spoken: dict[str, Any], name: str) -> None:
    model = spoken[name]
    assert isinstance(model.module_.encoder.body, WordGRU)
    assert isinstance(model.module_.decoder, SequenceDecoder)
    assert model.module_.decoder.shares_words
    assert model.likelihood_ == "words"
    said = model.inverse_transform(assert_coded(model))
    assert said.shape == (7,)
    assert all(isinstance(text, str) for text in said)


@every_model
def test_an_encoder_called_mlp_reads_the_same_bags(bags: dict[str, Any], name: str) -> None:
    model = MODELS[name](encoder="mlp").fit(TEXTS)
    assert_a_bag(model)
    np.testing.assert_array_equal(model.score_samples(TEXTS[:5]), bags[name].score_samples(TEXTS[:5]))


def test_a_part_of_the_users_reads_a_bag() -> None:
    model = fh.VSC(4, l0=2, encoder=RowsMLP(N_COLUMNS, [8]), **SMALL).fit(TEXTS)
    assert_a_bag(model)
    assert model.transform(TEXTS[:3]).shape == (3, 4)


def test_a_module_of_the_users_that_is_no_part_reads_in_order() -> None:
    model = fh.VSC(4, l0=2, encoder=MeanOfWords(), **SMALL).fit(TEXTS)
    assert isinstance(model.module_.decoder, SequenceDecoder)
    assert not model.module_.decoder.shares_words
    assert model.says_texts


@pytest.mark.parametrize(("encoder", "body"), [("auto", WordGRU), ("mlp", RowsMLP)])
def test_a_recipe_of_texts_says_words(encoder: str, body: type) -> None:
    model = fh.HSVAE(4, recipe="prokhorov2021", **SMALL | {"encoder": encoder}).fit(TEXTS)
    assert isinstance(model.module_.encoder.body, body)
    assert isinstance(model.module_.decoder, SequenceDecoder)
    assert model.module_.decoder.shares_words == (encoder == "auto")
    assert all(isinstance(text, str) for text in model.decode(model.transform(TEXTS[:3])))


@every_model
def test_a_bag_of_words_is_no_text_to_decode(bags: dict[str, Any], name: str) -> None:
    model = bags[name]
    sentence = (
        "decode says texts, and this model makes rows of numbers; fit with encoder='gru' for one that says texts "
        "instead."
    )
    with pytest.raises(FewhotError, match=f"^{re.escape(sentence)}$"):
        model.decode(model.transform(TEXTS[:2]))


def test_words_are_left_out_in_training_alone(bags: dict[str, Any]) -> None:
    encoder = bags["VAE"].module_.encoder
    rows = Dense(torch.ones(400, N_COLUMNS))
    keys = encoder.noise(400, torch.Generator().manual_seed(0))["dropout"]
    read: list[torch.Tensor] = []
    handle = encoder.body.register_forward_pre_hook(lambda _, given: read.append(given[0].dense()))
    encoder(rows, keys)
    encoder(rows)
    handle.remove()
    seen = encoder.features(rows).dense() != 0
    assert float((read[0][seen] == 0).float().mean()) == pytest.approx(0.3, abs=0.03)
    assert torch.equal(read[1], encoder.features(rows).dense())


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


@both_kinds
@every_model
def test_held_out_texts_are_watched(name: str, encoder: str) -> None:
    model = MODELS[name](encoder=encoder, n_iter_no_change=None).fit(TEXTS[:80], X_val=TEXTS[80:])
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
    model = fh.VAE(4, **IN_ORDER | {"max_steps": 400, "hidden_layer_sizes": (32,), "learning_rate": 5e-3}).fit(TEXTS)
    short = fh.VAE(4, **IN_ORDER | {"max_steps": 1}).fit(TEXTS)
    assert model.score(TEXTS) > short.score(TEXTS) + 5
    assert set(model.decode(model.transform(TEXTS))) & set(TEXTS)


@pytest.mark.parametrize("how", ["greedy", "beam", "sample"])
def test_codes_are_decoded_in_three_ways(spoken: dict[str, Any], how: str) -> None:
    model = spoken["VSC"]
    Z = model.transform(TEXTS[:5])
    texts = model.decode(Z, how, max_length=4, random_state=1)
    assert all(len(text.split()) <= 4 for text in texts)
    np.testing.assert_array_equal(texts, model.decode(Z, how, max_length=4, random_state=1))


def test_more_beams_than_can_be_looked_at_are_refused(spoken: dict[str, Any]) -> None:
    model = spoken["VSC"]
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


def test_words_can_be_counted_though_they_are_read_in_order() -> None:
    asked = fh.VAE(4, likelihood="multinomial", **SMALL).fit(TEXTS)
    assert_a_bag(asked)
    assert asked.inverse_transform(asked.transform(TEXTS[:3])).shape == (3, len(asked.vocabulary_))
    topics = fh.NFA(4, **SMALL).fit(TEXTS)
    assert topics.likelihood_ == "multinomial"
    assert np.isfinite(topics.perplexity(TEXTS))
    mixed = fh.VAE(4, likelihood="multinomial", **IN_ORDER).fit(TEXTS)
    assert isinstance(mixed.module_.encoder.body, WordGRU)
    assert mixed.module_.decoder.hidden_layer_sizes == []
    assert np.isfinite(mixed.score(TEXTS))


def test_words_can_be_said_though_they_are_counted() -> None:
    model = fh.VAE(4, likelihood=WordLikelihood(N_COLUMNS), **SMALL).fit(TEXTS)
    assert isinstance(model.module_.encoder.body, RowsMLP)
    assert isinstance(model.module_.decoder, SequenceDecoder)
    assert not model.module_.decoder.shares_words
    assert all(isinstance(text, str) for text in model.decode(model.transform(TEXTS[:3])))


@pytest.mark.filterwarnings("ignore:.*texts have more than", "ignore:All words of . of . texts", "ignore:.*not ASCII")
@pytest.mark.parametrize(
    "texts",
    [[""], ["sea"], ["zzz qqq"], ["", "sea", "x" * 5000], ["café “naïve”", "\udce4 sea"], [" ".join(["sea"] * 3000)]],
)
def test_odd_texts_are_coded(fitted: dict[str, Any], texts: list[str]) -> None:
    model = fitted["VSC"]
    assert np.isfinite(model.score_samples(texts)).all()
    assert model.transform(texts).shape == (len(texts), 8)


@both_kinds
def test_a_vocabulary_of_one_word_and_texts_of_one_word_are_fitted(encoder: str) -> None:
    model = fh.VAE(2, encoder=encoder, **SMALL).fit(["sea"] * 10)
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
        lambda: fh.VSC(4, prior="pseudo-inputs", alpha=0.2, **IN_ORDER).fit(TEXTS),
        lambda: fh.SDLGMClassifier(4, dropout=0.2, **IN_ORDER).fit(TEXTS, np.eye(2)[np.arange(120) % 2]),
    ],
    ids=["features of counts", "pseudo-inputs", "dropout"],
)
def test_what_is_of_numbers_does_not_go_with_texts_in_order(make: Any) -> None:
    with pytest.raises(FewhotError, match="give encoder='mlp', which reads the counts of words") as caught:
        make()
    assert_one_sentence(caught.value)


def test_what_is_of_numbers_goes_with_bags_of_words() -> None:
    mixture = fh.VSC(4, prior="pseudo-inputs", alpha=0.2, **SMALL).fit(TEXTS)
    assert_a_bag(mixture)
    assert np.isfinite(mixture.score_samples(TEXTS[:5])).all()
    tagger = fh.SDLGMClassifier(4, dropout=0.2, **SMALL).fit(TEXTS, np.eye(2)[np.arange(120) % 2])
    assert not tagger.module_.encoder.reads_texts
    assert tagger.module_.encoder.dropout == 0.2


def test_recurrent_networks_refuse_numbers() -> None:
    with pytest.raises(FewhotError, match="encoder='gru' reads texts"):
        fh.VAE(2, encoder="gru", **SMALL).fit(RNG.random((30, 4)))


@both_kinds
def test_a_fit_on_texts_resumes_bit_for_bit(tmp_path: Path, encoder: str) -> None:
    def make(**changes: Any) -> Any:
        return fh.HSVAE(6, l0=2, encoder=encoder, **SMALL | changes)

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


def test_drawn_texts_are_as_long_as_asked(spoken: dict[str, Any]) -> None:
    model = spoken["VSC"]
    drawn = [len(text.split()) for text in model.sample(50, random_state=0, max_length=2)]
    assert max(drawn) == 2
    assert max(len(text.split()) for text in model.sample_like(TEXTS[:20], random_state=0, max_length=1)) <= 1
    with pytest.raises(FewhotError, match=r"^max_length"):
        model.sample(1, max_length=0)
    assert model.likelihood_ == "words"
