"""Commands on texts: from a file of them to codes, numbers and a report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import yaml

import fewhot as fh
from fewhot.data import load_dataset, open_data, text_dataset
from fewhot.metrics import marginal_probe, top_words

from .commands import SMALL, done, invoke, parsed, refused

SAYINGS = {"sea": ["The sea is blue!", "Waves, of the sea"], "sun": ["The sun is hot.", "hot dry air"]}
TEXTS = ["--text", "review", "--label", "kind"]
IN_ORDER = ["--set", "encoder=gru"]
pytestmark = pytest.mark.filterwarnings("ignore:.*texts have more than")


def reviews(folder: Path, name: str = "reviews.csv", n: int = 120, seed: int = 0) -> Path:
    """Write a table of texts about two things."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(list(SAYINGS), n)
    lines = [f'{kind},"{rng.choice(SAYINGS[kind])}",{row}' for row, kind in enumerate(kinds)]
    (folder / name).write_text("\n".join(["kind,review,id", *lines]) + "\n", encoding="utf-8")
    return folder / name


@pytest.fixture(scope="session")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished run on texts; look, do not change."""
    folder = tmp_path_factory.mktemp("spoken")
    options = ["--split", "train", "--n-words", "6", "--max-length", "3", "--quiet"]
    done("fit", reviews(folder), *TEXTS, *SMALL, *IN_ORDER, *options, "--out", folder / "run")
    return folder / "run"


@pytest.fixture(scope="session")
def table(spoken: Path) -> Path:
    """Return the table of that run."""
    return spoken.parent / "reviews.csv"


def test_a_fit_on_texts_leaves_a_whole_folder(spoken: Path, table: Path) -> None:
    wanted = {"config.json", "model.safetensors", "history.jsonl", "data.json", "metrics.json", "codes.npz"}
    assert {path.name for path in spoken.iterdir()} >= wanted | {"report.html", "checkpoints", "fit.yaml"}
    train = open_data(table, "train", text="review", label="kind")
    model = fh.load(spoken, device="cpu")
    assert (model.vocabulary_.tokeniser, model.vocabulary_.max_length, len(model.vocabulary_.known)) == ("plain", 3, 6)
    assert (sp.load_npz(spoken / "codes.npz") != model.transform(train.X)).nnz == 0


def test_the_words_of_units_are_told_beside_the_numbers(spoken: Path, table: Path) -> None:
    told = done("evaluate", spoken, table, "--text", "review")
    model = fh.load(spoken, device="cpu")
    said = [words for words in top_words(model, 6).in_words() if words]
    assert said
    assert "Units with words" in told.stdout
    for words in said:
        for side in words.values():
            assert side[0] in told.stdout.partition("Units with words")[2]
    found = parsed(done("evaluate", spoken, table, "--text", "review", "--json"))
    assert [unit["words"].keys() for unit in found["words"] if unit["words"]] == [words.keys() for words in said]
    assert -1 <= next(number["value"] for number in found["numbers"] if number["name"] == "coherence") <= 1


def test_the_model_is_the_one_that_python_fits(spoken: Path, table: Path) -> None:
    texts = open_data(table, "train", text="review").X
    own = fh.VSC(8, l0=4, encoder="gru", hidden_layer_sizes=(16,), max_steps=30, device="cpu", random_state=0)
    own.fit(text_dataset(texts, n_words=6, max_length=3))
    np.testing.assert_array_equal(fh.load(spoken, device="cpu").score_samples(texts), own.score_samples(texts))


def test_texts_are_bags_of_words_unless_set_otherwise(spoken: Path, tmp_path: Path) -> None:
    done("fit", reviews(tmp_path), *TEXTS, *SMALL, "--split", "train", "--quiet", "--out", tmp_path / "run")
    counted = fh.load(tmp_path / "run", device="cpu")
    own = fh.VSC(8, l0=4, hidden_layer_sizes=(16,), max_steps=30, device="cpu", random_state=0)
    texts = open_data(tmp_path / "reviews.csv", "train", text="review").X
    np.testing.assert_array_equal(counted.score_samples(texts), own.fit(texts).score_samples(texts))
    assert (counted.likelihood_, counted.says_texts) == ("multinomial", False)
    assert fh.load(spoken, device="cpu").says_texts


def test_settings_and_data_are_recorded(spoken: Path, table: Path) -> None:
    settings = yaml.safe_load((spoken / "fit.yaml").read_text())
    known = {name: settings[name] for name in ("text", "texts", "label", "tokeniser", "n_words", "max_length")}
    assert known == {
        "text": "review", "texts": False, "label": "kind", "tokeniser": None, "n_words": 6, "max_length": 3
    }  # fmt: skip
    record = json.loads((spoken / "data.json").read_text())
    train, test = (open_data(table, split, text="review", label="kind") for split in ("train", "test"))
    assert (record["text"], record["texts"], record["n_columns"]) == ("review", False, None)
    assert (record["digest"], record["test"]["digest"]) == (train.digest, test.digest)
    metrics = json.loads((spoken / "metrics.json").read_text())
    assert metrics["rows"] == f"{len(test)} texts of reviews.csv, split 'test', not seen in the fit"
    assert "probe_map" in {number["name"] for number in metrics["numbers"]}


def test_the_settings_fit_the_same_model_again(spoken: Path, tmp_path: Path) -> None:
    done("fit", "--config", spoken / "fit.yaml", "--quiet", "--out", tmp_path / "again")
    for name in ("model.safetensors", "fit.yaml", "data.json", "metrics.json"):
        assert (tmp_path / "again" / name).read_bytes() == (spoken / name).read_bytes(), name


def test_the_program_says_what_it_reads(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("Few, hot days\n\nhot\n" * 4, encoding="utf-8")
    told = done("fit", path, *SMALL, "--max-steps", "2", "--out", tmp_path / "run").stderr
    assert told.startswith(
        "Fitting 12 texts of 16 words, 3 different ones known, on cpu.\nwarning: 12 texts are too few"
    )


def test_a_cut_is_warned_of_once_for_the_rows_of_the_fit(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("one two three\nfour five\n" * 20, encoding="utf-8")
    with pytest.warns(UserWarning, match="have more than") as said:
        done("fit", path, *SMALL, "--max-steps", "2", "--max-length", "2", "--quiet", "--out", tmp_path / "run")
    of_cut, of_few_steps = (str(warning.message) for warning in said)
    assert of_cut == "20 of 40 texts have more than 2 words and were cut there."
    assert of_few_steps.startswith("4 active units a row were asked for")


def test_a_text_of_ten_thousand_words_is_fitted_and_coded(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("hot sun\nblue sea\n" * 30 + "word " * 10_000 + "\n", encoding="utf-8")
    done("fit", path, *SMALL, "--max-steps", "2", "--max-length", "50", "--quiet", "--out", tmp_path / "run")
    assert "61 texts in 8 units" in done("encode", tmp_path / "run", path, "--out", tmp_path / "codes.npz").output


@pytest.mark.parametrize("read", [[], IN_ORDER], ids=["counted", "in order"])
def test_texts_of_any_file_and_model_are_fitted(tmp_path: Path, read: list[str]) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(
        "".join(
            json.dumps({"body": f"{word} sea", "n": i}) + "\n" for i, word in enumerate(["ai", "bo", "cy", "do"] * 6)
        )
    )
    small = ["--n-components", "4", "--hidden", "8", "--max-steps", "3", "--device", "cpu", "--quiet"]
    for model, options in (("vae", read), ("nfa", [])):
        done("fit", path, "--text", "body", "--model", model, *small, *options, "--out", tmp_path / model)
        assert "24 texts" in (tmp_path / model / "report.html").read_text()
    done("sample", tmp_path / "nfa", "--n", "3", "--out", tmp_path / "s.csv")
    assert sorted((tmp_path / "s.csv").read_text().splitlines()[0].split(",")) == ["ai", "bo", "cy", "do", "sea"]


def test_other_texts_are_judged_by_their_own_file(tmp_path: Path) -> None:
    train, other = reviews(tmp_path), tmp_path / "held-out.txt"
    other.write_text("the sea is hot\n" * 5)
    told = done("fit", train, *TEXTS, *SMALL, "--test", other, "--quiet", "--json", "--out", tmp_path / "run")
    assert parsed(told)["rows"] == "5 texts of held-out.txt, not seen in the fit"


@pytest.mark.parametrize("read", [[], IN_ORDER], ids=["counted", "in order"])
def test_a_stopped_fit_goes_on_to_the_same_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: list[str]
) -> None:
    words = [reviews(tmp_path), *TEXTS, *SMALL, *read, "--max-length", "3", "--checkpoint-seconds", "0.0001", "--quiet"]
    done("fit", *words, "--out", tmp_path / "whole")
    write, written = fh.RunFolder.write, []

    def interrupt(self: fh.RunFolder, step: int, state: Any) -> None:
        write(self, step, state)
        written.append(step)
        if len(written) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(fh.RunFolder, "write", interrupt)
    assert invoke("fit", *words, "--out", tmp_path / "stopped").exit_code == 130
    monkeypatch.undo()
    assert "Going on from step " in done("fit", "--resume", tmp_path / "stopped").stderr
    for name in ("model.safetensors", "history.jsonl", "codes.npz", "metrics.json", "fit.yaml", "data.json"):
        assert (tmp_path / "stopped" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


def test_new_texts_are_encoded(spoken: Path, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("the sea\n\nsomething else altogether\n")
    assert "3 texts in 8 units" in done("encode", spoken, tmp_path / "new.txt", "--out", tmp_path / "codes.npz").output
    codes = fh.load(spoken, device="cpu").transform(["the sea", "", "something else altogether"])
    assert (sp.load_npz(tmp_path / "codes.npz") != codes).nnz == 0
    table = reviews(tmp_path, n=7)
    done("encode", spoken, table, "--text", "review", "--what", "p_active", "--out", tmp_path / "p.npz")
    assert sp.load_npz(tmp_path / "p.npz").shape == (7, 8)


def test_the_probe_of_texts_is_the_marginal_one(spoken: Path, table: Path) -> None:
    found = parsed(done("evaluate", spoken, table, *TEXTS, "--split", "test", "--probe", "--json"))
    values = {number["name"]: number for number in found["numbers"]}
    assert {"marginal_probe_sample", "marginal_probe_map", "marginal_probe_mean"} <= set(values)
    assert "probe_map" not in values
    train, test = (open_data(table, split, text="review", label="kind") for split in ("train", "test"))
    model = fh.load(spoken, device="cpu")
    for kind in ("sample", "map", "mean"):
        number = values[f"marginal_probe_{kind}"]
        expected = marginal_probe(model, train.X, train.y, test.X, test.y, kind=kind)
        assert number["value"] == pytest.approx(expected.accuracy)
        assert number["meaning"].endswith(f"from {len(train)} labels")
        assert number["unit"] == "share of rows"


def test_a_probe_learns_from_no_row_it_is_tested_on(spoken: Path, table: Path) -> None:
    told = done("evaluate", spoken, table, *TEXTS, "--probe", "--json")
    assert "some of which it was fitted on" in parsed(told)["rows"]
    assert "learns from one half of these rows" in told.stderr
    number = next(number for number in parsed(told)["numbers"] if number["name"] == "marginal_probe_map")
    assert number["meaning"].endswith("from 60 labels")  # of 120


def test_labels_of_one_class_allow_no_probe(table: Path, tmp_path: Path) -> None:
    done("fit", table, "--text", "review", *SMALL, "--max-steps", "2", "--quiet", "--out", tmp_path / "run")
    (tmp_path / "one.csv").write_text("kind,review\n" + "sea,the sea\n" * 10)
    assert "allow no --probe" in refused("evaluate", tmp_path / "run", tmp_path / "one.csv", *TEXTS, "--probe")


def test_labels_of_two_files_are_told_by_their_words(spoken: Path, tmp_path: Path) -> None:
    """A file with one class alone numbers it 0, whatever the file of the fit called it."""
    both = reviews(tmp_path, "both.csv", n=60, seed=1)
    head, *lines = both.read_text().splitlines()
    (tmp_path / "sun.csv").write_text("\n".join([head, *(line for line in lines if line.startswith("sun"))]) + "\n")
    found = parsed(done("evaluate", spoken, tmp_path / "sun.csv", *TEXTS, "--probe", "--json"))
    value = next(number["value"] for number in found["numbers"] if number["name"] == "marginal_probe_map")
    train = open_data(spoken.parent / "reviews.csv", "train", text="review", label="kind")
    sun = open_data(tmp_path / "sun.csv", text="review").X
    expected = marginal_probe(
        fh.load(spoken, device="cpu"),
        train.X,
        np.array(train.label_names)[train.y],
        sun,
        np.full(len(sun), "sun"),
        kind="map",
    )
    assert value == pytest.approx(expected.accuracy)


def test_runs_on_texts_stand_side_by_side(spoken: Path, table: Path, tmp_path: Path) -> None:
    done("fit", "--config", spoken / "fit.yaml", "--seed", "1", "--quiet", "--out", tmp_path / "second")
    shown = done("evaluate", spoken, table, "--text", "review", "--split", "test", "--against", tmp_path / "second")
    assert "nats a row" in shown.stdout
    assert "than two standard errors, row by row" in shown.stdout
    other = ("--n-words", "2", "--quiet", "--out", tmp_path / "other")
    done("fit", "--config", spoken / "fit.yaml", *other)
    told = done("evaluate", spoken, table, "--text", "review", "--split", "test", "--against", tmp_path / "other")
    assert "The bounds do not compare" in told.stdout
    assert "by other words" in told.stdout


def test_a_report_is_written_again(spoken: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(spoken, tmp_path / "run"))
    (run / "report.html").unlink()
    done("report", run)
    assert "What units answer to" in (run / "report.html").read_text(encoding="utf-8")


def test_texts_that_changed_are_refused(tmp_path: Path) -> None:
    path = reviews(tmp_path, n=30)
    done("fit", path, *TEXTS, *SMALL, "--max-steps", "2", "--quiet", "--out", tmp_path / "run")
    path.write_text(path.read_text().replace("sea", "lake"))
    assert "has changed since the run was fitted on it" in refused("report", tmp_path / "run")


def test_texts_and_numbers_do_not_mix(spoken: Path, fitted: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((5, 64), dtype=np.float32))
    (tmp_path / "t.txt").write_text("the sea\n" * 5)
    for command in (["encode", "--out", str(tmp_path / "c.npz")], ["evaluate"]):
        name, *rest = command
        said = refused(name, spoken, tmp_path / "x.npy", *rest)
        assert said == f"{spoken} was fitted on texts, and x.npy holds rows of numbers; give texts."
        said = refused(name, fitted, tmp_path / "t.txt", *rest)
        assert said == f"{fitted} was fitted on rows of numbers, and t.txt holds texts; give rows of numbers."
    assert not (tmp_path / "c.npz").exists()
    said = refused("fit", tmp_path / "t.txt", "--test", tmp_path / "x.npy", *SMALL, "--out", tmp_path / "run")
    assert said == "t.txt holds texts and x.npy holds rows of numbers; give --test rows of the same kind."


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--text", "body"], "has no column 'body'; its first line has 'kind', 'review', 'id': name one by --text."),
        (["--texts"], "--texts is for datasets, and"),
        (["--text", "review", "--label", "stars"], "has no column 'stars' for the labels."),
        ([*TEXTS, "--tokeniser", "bytes"], "tokeniser is 'bytes'; "),
        ([*TEXTS, "--n-words", "0"], "n_words is 0"),
        ([*TEXTS, "--max-length", "-1"], "max_length is -1"),
        ([*TEXTS, "--set", "max_length=many"], "max_length is 'many'; it takes"),
        ([*TEXTS, *IN_ORDER, "--set", "prior=pseudo-inputs"], "the encoder reads texts; give --set encoder=mlp"),
    ],
)
def test_what_cannot_be_fitted_is_refused(tmp_path: Path, words: list[str], said: str) -> None:
    assert said in refused("fit", reviews(tmp_path, n=30), *words, *SMALL, "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "t.txt is empty; write it again."),
        (b"\n\n", "The texts have no words to choose from; give texts with words, or --tokeniser spaces: 'words'"),
        ("caf\xe9\n".encode("latin-1"), "is not text in UTF-8; get the published file, or save it in UTF-8."),
    ],
)
def test_files_without_texts_are_refused(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "t.txt").write_bytes(content)
    assert said in refused("fit", tmp_path / "t.txt", *SMALL, "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("flag", ["--tokeniser plain", "--n-words 5", "--max-length 5"])
def test_settings_of_texts_are_refused_for_numbers(tmp_path: Path, flag: str) -> None:
    said = refused("fit", "digits", *flag.split(), *SMALL, "--out", tmp_path / "run")
    assert "which is for texts, and digits holds rows of numbers; leave it out." in said


def test_a_dataset_without_texts_says_so(tmp_path: Path) -> None:
    said = refused("fit", "digits", "--texts", *SMALL, "--out", tmp_path / "run")
    assert said == "digits has no texts; leave out --texts, or name a dataset of texts."
    said = refused("fit", "digits", "--text", "review", *SMALL, "--out", tmp_path / "run")
    assert said == "text is 'review', and the dataset digits has no columns; give --texts instead."


def test_a_corpus_is_read_by_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    digits = load_dataset("digits")
    texts = [f"few hot {'sea' if row % 2 else 'sun'}" for row in range(len(digits))]
    words = ["few", "hot", "sea", "sun", "never", "_UNK"]
    corpus = replace(digits, name="corpus", image_shape=None, feature_names=words, texts=texts)
    monkeypatch.setattr("fewhot.data.opening.dataset_names", lambda: ["corpus"])
    monkeypatch.setattr("fewhot.data.dataset_names", lambda: ["corpus"])
    monkeypatch.setattr("fewhot.data.opening.load_dataset", lambda name, split, *_, **__: replace(corpus, split=split))
    small = [*SMALL, "--max-steps", "2", "--split", "validation", "--quiet"]
    done("fit", "corpus", "--texts", *small, "--out", tmp_path / "run")
    known = fh.load(tmp_path / "run", device="cpu").vocabulary_
    assert (known.tokeniser, known.known) == ("spaces", ["few", "hot", "sea", "sun", "never"])
    done("fit", "corpus", "--texts", "--n-words", "3", *small, "--out", tmp_path / "few")
    assert fh.load(tmp_path / "few", device="cpu").vocabulary_.known == ["few", "hot", "sea"]
    assert json.loads((tmp_path / "run" / "data.json").read_text())["texts"] is True
    assert "give texts, or add --texts." in refused("evaluate", tmp_path / "run", "corpus")
    done("evaluate", tmp_path / "run", "corpus", "--texts", "--split", "validation")
    done("report", tmp_path / "run")
