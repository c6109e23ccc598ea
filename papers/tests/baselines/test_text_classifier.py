"""A classifier of texts: what it learns, what it leaves alone, and what it refuses."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from torch import Tensor, nn

import fewhot as fh
from fewhot.core.errors import DivergedError, FewhotError, InvalidInputError, NotSavableError, RunFolderError
from fewhot.core.records import Tokens
from fewhot.data import text_dataset
from fewhot.data.length_order import LengthOrder
from fewhot.metrics.marginal_classifier import Answers
from fewhot.nn import Pretrained
from fewhot_papers.baselines import TextClassifier, text_network
from fewhot_papers.baselines.text_network import TextNetwork, train
from tests.estimators.cases import assert_one_sentence

SMALL: dict[str, Any] = {
    "n_hidden": 12, "learning_rate": 1e-2, "batch_size": 32, "max_epochs": 8, "random_state": 0, "device": "cpu",
}  # fmt: skip
WORDS = {"sea": ["wave", "boat", "salt"], "sky": ["cloud", "bird", "wind"], "soil": ["root", "worm", "stone"]}


def corpus(n: int = 240, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Return texts of 2 to 12 common words, with two words of their class among them."""
    rng = np.random.default_rng(seed)
    y = np.array(list(WORDS))[np.arange(n) % len(WORDS)]
    texts = []
    for label in y:
        words = [f"w{i}" for i in rng.integers(20, size=rng.integers(2, 12))] + list(rng.choice(WORDS[label], 2))
        texts.append(" ".join(rng.permutation(words)))
    return texts, y


def small(encoder: Any = "gru", **changes: Any) -> TextClassifier:
    return TextClassifier(encoder, **(SMALL | changes))


class MeanOfWords(nn.Module):
    """The mean of the vectors of words; it counts how often it was called, and on how many texts."""

    def __init__(self, trained: bool = True, dropout: float = 0.0) -> None:
        super().__init__()
        self.trained = trained
        self.dropout = dropout
        self.words = nn.Embedding(60, 16)
        with torch.no_grad():
            self.words.weight.copy_(torch.randn(60, 16, generator=torch.Generator().manual_seed(0)))
        self.drop = nn.Dropout(dropout)
        self.requires_grad_(trained)
        self.n_texts = 0

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        self.n_texts += len(ids)
        weights = mask.float()[..., None]
        return self.drop((self.words(ids) * weights).sum(1) / weights.sum(1).clamp(min=1))


def test_it_learns_which_words_belong_to_a_class() -> None:
    (texts, y), (others, truth) = corpus(), corpus(seed=1)
    model = small().fit(texts, y)
    assert model.score(others, truth) > 0.9
    p = model.predict_proba(others)
    assert p.shape == (240, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-5)
    assert model.predict(others).tolist() == model.classes_[p.argmax(axis=1)].tolist()


def test_it_is_no_better_than_chance_where_labels_say_nothing() -> None:
    texts, y = corpus()
    shuffled = np.random.default_rng(5).permutation(y)
    others, truth = corpus(seed=1)
    assert small(max_epochs=4).fit(texts, shuffled).score(others, truth) < 0.6


def test_the_network_is_the_published_one() -> None:
    texts, y = corpus(60)
    head = small(max_epochs=1).fit(texts, y).module_.head
    assert [type(layer).__name__ for layer in head] == ["Linear", "LeakyReLU", "Linear", "LeakyReLU", "Linear"]
    assert [layer.out_features for layer in head if isinstance(layer, nn.Linear)] == [32, 32, 3]
    assert {layer.negative_slope for layer in head if isinstance(layer, nn.LeakyReLU)} == {0.01}
    assert TextClassifier().get_params() == {
        "encoder": "gru", "n_hidden": 512, "n_words": 20_000, "tokeniser": "plain", "max_length": None,
        "learning_rate": 8e-4, "batch_size": 256, "max_epochs": 60, "n_iter_no_change": 5, "validation_fraction": 0.1,
        "random_state": None, "device": "auto",
    }  # fmt: skip


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["b", "a"])[np.arange(60) % 2],
        np.array(["b", "a"], dtype=object)[np.arange(60) % 2],
        [7, -2] * 30,
        [True, False] * 30,
        [0.5, 4.0] * 30,
        pd.Series(["b", "a"] * 30),
    ],
    ids=["words", "objects", "numbers", "truths", "halves", "series"],
)
def test_labels_come_back_as_they_were_given(labels: Any, tmp_path: Path) -> None:
    texts = ["sea waves", "sun and sky"] * 30
    model = small().fit(texts, labels)
    assert model.classes_.tolist() == sorted(set(labels))
    assert model.predict(texts).tolist() == list(labels)
    assert model.score(texts, labels) == 1.0
    model.save(tmp_path / "run")
    again = fh.load(tmp_path / "run", device="cpu")
    assert again.classes_.dtype == model.classes_.dtype
    assert np.array_equal(again.predict(texts), model.predict(texts))


def test_a_seed_gives_the_same_classifier_and_leaves_global_generators_alone() -> None:
    texts, y = corpus(120)
    encoders = ("gru", MeanOfWords(dropout=0.5), MeanOfWords(trained=False))
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    for encoder in encoders:
        torch.manual_seed(1)
        one = small(encoder, max_epochs=2, random_state=3).fit(texts, y)
        torch.set_rng_state(before[0])
        other, third = (small(encoder, max_epochs=2, random_state=seed).fit(texts, y) for seed in (3, 4))
        assert np.array_equal(one.predict_proba(texts), other.predict_proba(texts))
        assert one.history_ == other.history_
        assert not np.array_equal(one.predict_proba(texts), third.predict_proba(texts))
        assert torch.equal(torch.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002


def test_dropout_of_a_module_is_for_training_alone() -> None:
    texts, y = corpus(60)
    model = small(MeanOfWords(dropout=0.5), max_epochs=2).fit(texts, y)
    assert np.array_equal(model.predict_proba(texts), model.predict_proba(texts))


def test_a_clone_is_unfitted_and_learns_the_same() -> None:
    texts, y = corpus(90)
    model = small(MeanOfWords(), max_epochs=2).fit(texts, y)
    again = clone(model)
    assert not hasattr(again, "classes_")
    assert np.array_equal(again.fit(texts, y).predict_proba(texts), model.predict_proba(texts))
    assert model.encoder.n_texts == 0  # what was given is copied, and stays
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(texts), model.predict_proba(texts))


def test_a_score_is_the_share_of_texts_that_are_right() -> None:
    model = small().fit(TEXTS, Y)
    assert model.score(TEXTS[:4], ["a", "b", "b", "unheard of"]) == 0.5
    assert model.score(TEXTS[:2], ["a", "a"], sample_weight=[3, 1]) == 0.75
    with pytest.raises(FewhotError, match=r"y has shape \(1,\) and X has 2 rows") as caught:
        model.score(TEXTS[:2], ["a"])
    assert_one_sentence(caught.value)


def test_it_goes_through_scikit_learns_tools() -> None:
    texts, y = corpus(120)
    assert cross_val_score(small(), texts, y, cv=2).mean() > 0.6


def test_a_frozen_encoder_reads_every_text_once_and_stays_as_it_was() -> None:
    texts, y = corpus(120)
    encoder = MeanOfWords(trained=False, dropout=0.5)
    before = encoder.words.weight.clone()
    model = small(encoder, max_epochs=12, n_iter_no_change=12).fit(texts, y)
    body = model.module_.encoder.body.module
    assert model.n_iter_ == 12
    assert body.n_texts == 120 + 2  # and the two that it is tried on
    assert torch.equal(body.words.weight, before)
    assert model.score(texts, y) > 0.6
    val = corpus(30, seed=2)
    model.fit(texts, y, *val)
    assert model.module_.encoder.body.module.n_texts == 120 + 30 + 2


def test_a_frozen_encoder_is_as_good_as_a_classifier_of_its_vectors() -> None:
    (texts, y), (others, truth) = corpus(), corpus(seed=1)
    model = small(MeanOfWords(trained=False), max_epochs=60, n_iter_no_change=20).fit(texts, y)

    def vectors(of: list[str]) -> np.ndarray:
        return text_network.vectors_of(model.module_.encoder, text_dataset(of, model.vocabulary_), 7).array.numpy()

    reference = LogisticRegression(max_iter=1000).fit(vectors(texts), y).score(vectors(others), truth)
    assert model.score(others, truth) > reference - 0.1


def test_an_encoder_that_learns_moves() -> None:
    texts, y = corpus(60)
    encoder = MeanOfWords()
    model = small(encoder, max_epochs=1).fit(texts, y)
    assert not torch.equal(model.module_.encoder.body.module.words.weight, encoder.words.weight)


def test_training_goes_through_texts_of_similar_length(monkeypatch: pytest.MonkeyPatch) -> None:
    widths = []
    taken = TextNetwork.forward

    def forward(self: TextNetwork, x: Any) -> Tensor:
        if self.training:
            widths.append(x.ids.shape)
        return taken(self, x)

    monkeypatch.setattr(TextNetwork, "forward", forward)
    texts, y = ["few words"] * 64 + ["many " * 60] * 64, [0, 1] * 64
    assert isinstance(text_dataset(texts).order(16, 0), LengthOrder)
    small(batch_size=16, max_epochs=1, validation_fraction=0.0).fit(texts, y)
    assert sorted(widths) == [(16, 8)] * 4 + [(16, 64)] * 4


def test_probabilities_do_not_depend_on_the_texts_beside() -> None:
    texts, y = corpus(90)
    model = small(max_epochs=2).fit(texts, y)
    alone = np.concatenate([model.predict_proba([text]) for text in texts[:5]])
    np.testing.assert_allclose(model.predict_proba([*texts[:5], "many " * 100])[:5], alone, atol=1e-5)
    backwards = model.predict_proba(texts[::-1])[::-1]
    np.testing.assert_allclose(backwards, model.predict_proba(texts), atol=1e-5)


def test_the_best_epoch_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, y = corpus(60)
    told = [Answers(0.5, 1.0), Answers(0.6, 1.0), Answers(0.6, 0.9), Answers(0.6, 0.95), Answers(0.5, 0.1)]
    seen: list[Tensor] = []

    def answers(network: TextNetwork, *_: Any) -> Answers:
        seen.append(network.head[0].weight.detach().clone())
        return told[len(seen) - 1]

    monkeypatch.setattr(text_network, "answers", answers)
    for encoder in ("gru", MeanOfWords(trained=False)):
        seen.clear()
        model = small(encoder, max_epochs=20, n_iter_no_change=2).fit(texts, y)
        assert model.n_iter_ == len(model.history_) == 5
        assert torch.equal(model.module_.head[0].weight, seen[2])
        assert not torch.equal(seen[2], seen[4])
        assert [record["val_accuracy"] for record in model.history_] == [0.5, 0.6, 0.6, 0.6, 0.5]


def test_kept_weights_answer_as_the_history_says() -> None:
    (texts, y), (others, truth) = corpus(120), corpus(60, seed=1)
    model = small(n_iter_no_change=2, learning_rate=0.03).fit(texts, y, others, truth)
    best = max(record["val_accuracy"] for record in model.history_)
    assert model.score(others, truth) == pytest.approx(best)


def test_held_out_texts_are_a_share_of_every_class(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = []

    def look(network: Any, learned: Any, held_out: Any, settings: Any) -> Any:
        parts.append((learned, held_out))
        return train(network, learned, held_out, settings)

    monkeypatch.setattr("fewhot_papers.baselines.text_classifier.train", look)
    texts, y = corpus(120)
    small(max_epochs=1, validation_fraction=0.25).fit(texts, y)
    small(max_epochs=1, n_iter_no_change=None).fit(texts, y)
    small(max_epochs=1, validation_fraction=0.0).fit(texts, y)
    (learned, held_out), *others = parts
    assert torch.bincount(held_out.places).tolist() == [10, 10, 10]
    assert learned.rows.n_rows == len(learned.places) == 90
    assert [(a.rows.n_rows, b) for a, b in others] == [(120, None)] * 2


def test_prepared_texts_are_read_by_their_own_vocabulary() -> None:
    texts, y = corpus(90)
    data = text_dataset(texts, tokeniser="spaces", n_words=15)
    model = small(max_epochs=2, n_words=3).fit(data, y)
    assert model.vocabulary_ == data.vocabulary
    np.testing.assert_allclose(model.predict_proba(data), model.predict_proba(texts))
    with pytest.raises(FewhotError, match="another vocabulary") as caught:
        model.predict(text_dataset(["other words"]))
    assert_one_sentence(caught.value)
    with pytest.raises(FewhotError, match=r"^X_val has another vocabulary"):
        model.fit(data, y, text_dataset(["other words"]), ["sea"])


def test_strings_are_cut_as_asked() -> None:
    texts, y = ["Few, so few."] * 20 + ["many words here"] * 20, [0, 1] * 20
    with pytest.warns(UserWarning, match="texts have more than 2 words"):
        model = small(max_epochs=1, tokeniser="spaces", n_words=4, max_length=2).fit(texts, y)
    assert model.vocabulary_.known == ["Few,", "many", "so", "words"]
    assert (model.vocabulary_.tokeniser, model.vocabulary_.max_length) == ("spaces", 2)


def test_a_text_without_words_has_a_class_too() -> None:
    texts, y = corpus(60)
    assert small(max_epochs=1).fit([*texts, ""], [*y, "sea"]).predict([""]).shape == (1,)


@pytest.mark.parametrize("encoder", ["gru", MeanOfWords(trained=False)], ids=["gru", "frozen"])
def test_it_learns_inside_inference_mode_and_in_another_default_precision(encoder: Any) -> None:
    texts, y = corpus(60)
    usual = small(encoder, max_epochs=2).fit(texts, y).predict_proba(texts)
    torch.set_default_dtype(torch.float64)
    try:
        with torch.inference_mode():
            assert np.array_equal(small(encoder, max_epochs=2).fit(texts, y).predict_proba(texts), usual)
    finally:
        torch.set_default_dtype(torch.float32)


def test_it_is_saved_and_loaded_without_drawing_globally(tmp_path: Path) -> None:
    texts, y = corpus(60)
    model = small(max_epochs=2).fit(texts, y)
    model.save(tmp_path / "run")
    before = torch.get_rng_state()
    again = fh.load(tmp_path / "run", device="cpu")
    assert torch.equal(torch.get_rng_state(), before)
    assert again.get_params() == model.get_params()
    assert again.history_ == model.history_
    assert again.vocabulary_ == model.vocabulary_
    assert np.array_equal(again.predict_proba(texts), model.predict_proba(texts))
    config = (tmp_path / "run" / "config.json").read_text()
    (tmp_path / "run" / "config.json").write_text(config.replace('"n_hidden": 12', '"n_hidden": 13'))
    with pytest.raises(RunFolderError, match="is damaged") as caught:
        fh.load(tmp_path / "run", device="cpu")
    assert_one_sentence(caught.value)


def test_a_module_of_the_users_is_saved_where_it_is_registered(tmp_path: Path) -> None:
    texts, y = corpus(60)
    model = small(MeanOfWords(), max_epochs=1).fit(texts, y)
    with pytest.raises(NotSavableError, match="not registered"):
        model.save(tmp_path / "run")
    fh.register_part("mean-of-words")(MeanOfWords)
    try:
        model.save(tmp_path / "run")
    finally:
        fh.core.registry.USER_PARTS.remove("mean-of-words")
    again = fh.load(tmp_path / "run", parts={"mean-of-words": MeanOfWords}, device="cpu")
    assert np.array_equal(again.predict_proba(texts), model.predict_proba(texts))


TEXTS, Y = ["sea waves", "blue sky"] * 10, ["a", "b"] * 10
BAD_INPUT: dict[str, tuple[tuple[Any, ...], str]] = {
    "fewer labels": ((TEXTS, Y[:-1]), r"y has shape \(19,\) and X has 20 rows"),
    "no labels": ((TEXTS,), "y is None; give a class a row"),
    "a matrix of labels": ((TEXTS, np.eye(20)), r"y has shape \(20, 20\)"),
    "one class": ((TEXTS, ["a"] * 20), "all of one class; a classifier needs at least two"),
    "a label that is NaN": ((TEXTS, [np.nan, *range(19)]), "1 of 20 labels in y are missing"),
    "a label that is None": ((TEXTS, [None, *Y[1:]]), "1 of 20 labels in y are missing"),
    "a masked label": ((TEXTS, np.ma.masked_equal(np.arange(20), 3)), "y has 1 masked of 20"),
    "no texts": (([], []), "X is no list of strings; give at least one text"),
    "no prepared texts": ((text_dataset(TEXTS).subset(np.array([], dtype=int)), []), "X has no texts; give at least"),
    "numbers": ((np.eye(20), Y), "X is no list of strings"),
    "one string": (("sea", ["a"]), "X is no list of strings"),
    "something else among the texts": (([*TEXTS[:-1], 3.5], Y), "Text 19 of X"),
    "no words": (([" "] * 20, Y), "no words to choose from"),
    "held-out texts alone": ((TEXTS, Y, TEXTS), "X_val was given without y_val; give both"),
    "held-out labels alone": ((TEXTS, Y, None, Y), "y_val was given without X_val; give both"),
    "fewer held-out labels": ((TEXTS, Y, TEXTS, Y[:3]), r"y_val has shape \(3,\) and X_val has 20 rows"),
    "another class held out": ((TEXTS, Y, TEXTS[:1], ["c"]), "y_val has the class 'c', which no training row has"),
    "no held-out texts": ((TEXTS, Y, [], []), "X_val is no list of strings"),
}


@pytest.mark.parametrize("kind", BAD_INPUT)
def test_texts_and_labels_that_make_no_sense_are_refused(kind: str) -> None:
    given, sentence = BAD_INPUT[kind]
    with pytest.raises(FewhotError, match=sentence) as caught:
        small(max_epochs=1).fit(*given)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("X", [[], np.eye(3), text_dataset(TEXTS).subset(np.array([], dtype=int))])
def test_no_classes_are_given_to_what_is_no_text(X: Any) -> None:
    model = small(max_epochs=1).fit(TEXTS, Y)
    with pytest.raises(FewhotError) as caught:
        model.predict(X)
    assert_one_sentence(caught.value)


BAD_ARGUMENTS = [
    *({"encoder": value} for value in ("bert", None, 3)),
    *({name: 0} for name in ("n_hidden", "n_words", "max_length", "batch_size", "max_epochs", "n_iter_no_change")),
    *({"learning_rate": value} for value in (0, "fast", np.nan)),
    *({"validation_fraction": value} for value in (-0.1, 1.0)),
    {"tokeniser": "letters"},
    {"random_state": "seed"},
    {"device": "abacus"},
]


@pytest.mark.parametrize("argument", BAD_ARGUMENTS, ids=str)
def test_arguments_out_of_range_are_refused(argument: dict[str, Any]) -> None:
    with pytest.raises(FewhotError, match=f"^{next(iter(argument))} is ") as caught:
        small(**argument).fit(TEXTS, Y)
    assert_one_sentence(caught.value)


def test_modules_that_read_no_texts_are_refused() -> None:
    with pytest.raises(FewhotError, match="The encoder could not read ids") as caught:
        small(nn.Linear(3, 2)).fit(TEXTS, Y)
    assert_one_sentence(caught.value)


def test_nothing_is_predicted_or_saved_before_a_fit(tmp_path: Path) -> None:
    for verb in (small().predict, small().predict_proba):
        with pytest.raises(NotFittedError):
            verb(TEXTS)
    with pytest.raises(NotFittedError):
        small().save(tmp_path / "run")


def test_a_fit_that_fails_leaves_the_model_as_it_was() -> None:
    model = small(max_epochs=1).fit(TEXTS, Y)
    before = model.predict_proba(TEXTS)
    with pytest.raises(FewhotError):
        model.fit(["other words"] * 20, ["c"] * 20)
    assert np.array_equal(model.predict_proba(TEXTS), before)


def test_a_loss_that_is_not_finite_is_named() -> None:
    with pytest.raises(DivergedError, match="lower learning_rate"):
        small(learning_rate=1e30, max_epochs=5).fit(TEXTS, Y)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a transformer of a few weights, with pieces of its own."""
    pytest.importorskip("transformers", reason="the package transformers is not installed")
    from tests.nn.tiny_transformer import write_transformer

    return write_transformer(tmp_path_factory.mktemp("tiny"))


SENTENCES, KINDS = ["the sea is blue", "hot sun", "the sun is hot and dry", "blue of the sea"] * 15, [0, 1, 1, 0] * 15


@pytest.mark.parametrize("trained", [True, False])
def test_a_transformer_learns_or_is_read_once(folder: Path, trained: bool, tmp_path: Path) -> None:
    encoder = Pretrained(folder, trained=trained)
    calls: list[int] = []
    encoder.transformer.register_forward_hook(lambda module, args, out: calls.append(1))
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    model = small(encoder, batch_size=10, max_epochs=4, n_iter_no_change=None).fit(SENTENCES, KINDS)
    assert len(calls) == (24 if trained else 6)  # of ten texts each: 4 epochs, or one pass
    now = model.module_.encoder.body.state_dict()
    assert any(not torch.equal(now[name], before[name]) for name in before) == trained
    assert all(torch.equal(encoder.state_dict()[name], before[name]) for name in before)
    assert model.score(SENTENCES, KINDS) > 0.7
    model.save(tmp_path / "run")
    again = fh.load(tmp_path / "run", device="cpu")
    assert np.array_equal(again.predict_proba(SENTENCES), model.predict_proba(SENTENCES))
    assert again.fit(SENTENCES, KINDS).n_iter_ == 4  # fitted again, from the transformer of the run


def test_a_transformer_reads_texts_as_it_read_those_of_the_fit(folder: Path) -> None:
    model = small(Pretrained(folder), max_epochs=1).fit(text_dataset(SENTENCES), KINDS)
    prepared = text_dataset(SENTENCES[:4], model.vocabulary_)
    np.testing.assert_allclose(model.predict_proba(prepared), model.predict_proba(SENTENCES[:4]))
    with pytest.raises(InvalidInputError, match=r"^X was read by a vocabulary, and the pretrained encoder was fitted"):
        model.fit(SENTENCES, KINDS).predict_proba(prepared)


def test_a_transformer_learns_at_its_own_rate(folder: Path) -> None:
    encoder = Pretrained(folder, learning_rate=1e-5)
    arguments = {"batch_size": 60, "max_epochs": 1, "n_iter_no_change": None}
    model = small(encoder, **arguments).fit(SENTENCES, KINDS)
    still = small(encoder, **arguments, **{"learning_rate": 1e-12}).fit(SENTENCES, KINDS)
    now, before = model.module_.encoder.body.state_dict(), encoder.state_dict()
    assert max(float((now[name] - before[name]).abs().max()) for name in before) == pytest.approx(1e-5, rel=0.05)
    heads = (m.module_.head[0].weight for m in (model, still))
    assert float((next(heads) - next(heads)).detach().abs().max()) == pytest.approx(1e-2, rel=0.05)


def test_vectors_are_those_of_the_encoder_in_the_order_of_the_texts(folder: Path) -> None:
    model = small(Pretrained(folder, trained=False), max_epochs=1).fit(SENTENCES, KINDS)
    encoder, texts = model.module_.encoder, ["the sun is hot and dry", "hot", "sea"]
    data = text_dataset(texts, model.vocabulary_).with_pieces(model.encoder.cut(texts))
    found = text_network.vectors_of(encoder, data, 2).array
    for row in range(3):
        x = data.batch(torch.tensor([row])).x
        assert isinstance(x, Tokens)
        torch.testing.assert_close(found[row], encoder(x)[0].detach(), atol=1e-5, rtol=1e-4)
