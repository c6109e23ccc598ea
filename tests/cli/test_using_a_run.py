"""What is done with a fitted run: encode, evaluate, sample, report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import fewhot as fh
from fewhot.cli.runs import read_rows
from fewhot.core.errors import InvalidInputError
from fewhot.data import load_dataset, read_file
from fewhot.metrics import micro_f1

from .commands import SMALL, done, parsed, refused


@pytest.mark.parametrize("ending", [".npz", ".npy", ".csv", ".mtx"])
def test_codes_are_written_in_the_format_of_the_ending(fitted: Path, tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"codes{ending}"
    result = done("encode", fitted, "digits", "--split", "test", "--device", "cpu", "--out", target)
    expected = fh.load(fitted, device="cpu").transform(load_dataset("digits", split="test").X).toarray()
    written = read_file(target).X
    written = written.toarray() if sp.issparse(written) else np.asarray(written)
    np.testing.assert_allclose(written, expected, rtol=1e-6)
    assert str(target) in result.stdout


@pytest.mark.parametrize("what", ["p_active", "variance"])
def test_the_uncertainty_of_codes_is_written_too(fitted: Path, tmp_path: Path, what: str) -> None:
    done("encode", fitted, "digits", "--what", what, "--device", "cpu", "--out", tmp_path / "u.npz")
    expected = getattr(fh.load(fitted, device="cpu").codes(load_dataset("digits").X), what)
    np.testing.assert_allclose(sp.load_npz(tmp_path / "u.npz").toarray(), expected.toarray(), rtol=1e-6)


def _table(path: Path, names: str, columns: list[int]) -> Path:
    rows = np.random.default_rng(0).random((60, 3))[:, columns]
    np.savetxt(path, rows, delimiter=",", header=names, comments="")
    return path


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table of named columns, and a run on it; look, do not change."""
    folder = tmp_path_factory.mktemp("named")
    _table(folder / "abc.csv", "a,b,c", [0, 1, 2])
    done("fit", folder / "abc.csv", *SMALL, "--l0", "2", "--quiet", "--out", folder / "run")
    return folder


def _codes(run: Path, table: Path, folder: Path) -> np.ndarray:
    target = folder / f"{table.stem}.npz"
    done("encode", run, table, "--device", "cpu", "--out", target)
    return sp.load_npz(target).toarray()


def test_columns_are_told_by_their_names(named: Path, tmp_path: Path) -> None:
    turned = _table(tmp_path / "cab.csv", "c,a,b", [2, 0, 1])
    codes = [_codes(named / "run", table, tmp_path) for table in (named / "abc.csv", turned)]
    np.testing.assert_array_equal(*codes)
    other = _table(tmp_path / "abd.csv", "a,b,d", [0, 1, 2])
    assert "lacks the column 'c'" in refused("encode", named / "run", other, "--out", tmp_path / "third.npy")


@pytest.mark.parametrize("known_to", ["model", "data"])
def test_columns_are_told_by_the_names_that_model_or_data_know(named: Path, tmp_path: Path, known_to: str) -> None:
    run = Path(shutil.copytree(named / "run", tmp_path / "run"))
    if known_to == "model":
        (run / "data.json").unlink()
    else:
        config = json.loads((run / "config.json").read_text())
        config["fitted"]["feature_names_in"] = None
        (run / "config.json").write_text(json.dumps(config))
    turned = _table(tmp_path / "cab.csv", "c,a,b", [2, 0, 1])
    expected = sp.load_npz(run / "codes.npz").toarray()
    np.testing.assert_allclose(_codes(run, turned, tmp_path), expected, rtol=1e-6)


def test_a_report_of_other_rows_stands_beside_that_of_the_fit(named: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(named / "run", tmp_path / "run"))
    before = (run / "report.html").read_text(encoding="utf-8")
    new = _table(tmp_path / "cab.csv", "c,a,b", [2, 0, 1])
    done("report", run, new)
    page = (run / "report-cab.html").read_text(encoding="utf-8")
    assert "rows of cab.csv, " in page
    assert (run / "report.html").read_text(encoding="utf-8") == before
    assert "name them after" in refused("report", run, "--label", "kind")


def test_columns_of_rows_to_judge_by_are_told_by_name_too(named: Path, tmp_path: Path) -> None:
    turned = _table(tmp_path / "cab.csv", "c,a,b", [2, 0, 1])
    words = ["--l0", "2", "--quiet", "--out", tmp_path / "run", "--json"]
    told = parsed(done("fit", named / "abc.csv", "--test", turned, *SMALL, *words))
    bound = next(number["value"] for number in told["numbers"] if number["name"] == "bound")
    X = read_file(named / "abc.csv").X
    assert bound == pytest.approx(fh.load(named / "run", device="cpu").score(pd.DataFrame(X, columns=["a", "b", "c"])))
    rows = read_rows(tmp_path / "run").judged
    np.testing.assert_array_equal(rows.X, X)


def test_python_knows_the_names_of_the_columns_too(named: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(named / "abc.csv", dtype=np.float32)
    estimator = fh.load(named / "run", device="cpu")
    assert list(estimator.feature_names_in_) == ["a", "b", "c"]
    codes = _codes(named / "run", named / "abc.csv", tmp_path)
    np.testing.assert_array_equal(estimator.transform(frame).toarray(), codes)
    with pytest.raises(InvalidInputError, match="feature names must be in the same order"):
        estimator.transform(frame[["c", "a", "b"]])


def test_rows_without_names_leave_none(fitted: Path, tmp_path: Path) -> None:
    _table(tmp_path / "bare.csv", "1.5,2,3", [0, 1, 2])
    np.save(tmp_path / "bare.npy", np.random.default_rng(0).random((60, 3)))
    for name in ("bare.csv", "bare.npy"):
        done("fit", tmp_path / name, *SMALL, "--l0", "2", "--quiet", "--out", tmp_path / f"{name}-run")
        assert not hasattr(fh.load(tmp_path / f"{name}-run"), "feature_names_in_")
    assert not hasattr(fh.load(fitted), "feature_names_in_")


@pytest.mark.parametrize("command", ["evaluate", "report"])
def test_no_command_warns_that_rows_have_lost_their_names(named: Path, tmp_path: Path, command: str) -> None:
    words = {"evaluate": [named / "abc.csv"], "report": ["--out", tmp_path / "page.html"]}
    assert "feature names" not in done(command, named / "run", *words[command]).stderr


def test_a_ceiling_on_active_units_holds(fitted: Path, tmp_path: Path) -> None:
    done("encode", fitted, "digits", "--max-active", "1", "--out", tmp_path / "codes.npz")
    most = np.diff(sp.load_npz(fitted / "codes.npz").indptr).max()
    assert np.diff(sp.load_npz(tmp_path / "codes.npz").indptr).max() == 1 < most


def test_the_file_that_is_read_is_never_the_one_written(fitted: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, load_dataset("digits", split="test").X)
    before = path.read_bytes()
    assert "is the file to read" in refused("encode", fitted, path, "--out", path, "--force")
    assert path.read_bytes() == before


def test_a_file_is_not_replaced_unasked(fitted: Path, tmp_path: Path) -> None:
    target = tmp_path / "codes.npz"
    target.write_text("precious")
    assert f"{target} exists" in refused("encode", fitted, "digits", "--out", target)
    assert target.read_text() == "precious"
    done("encode", fitted, "digits", "--out", target, "--force")
    assert sp.load_npz(target).shape == (1458, 8)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["digits", "--out", "codes.xyz"], "must end in one of"),
        (["digits", "--out", "codes.npz", "--what", "value"], "--what is 'value'"),
        (["digits", "--out", "codes.npz", "--max-active", "0"], "max_active is 0"),
        (["planted", "--out", "codes.npz"], "fitted on"),
        (["digit", "--out", "codes.npz"], "Did you mean 'digits'?"),
        (["digits"], "--out"),
    ],
)
def test_what_cannot_be_encoded_is_refused(
    fitted: Path, words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [word if word != "planted" else _other_columns(tmp_path) for word in words]
    assert said in refused("encode", fitted, *words)
    assert not (tmp_path / "codes.npz").exists()


def _other_columns(folder: Path) -> str:
    np.save(folder / "other.npy", np.zeros((3, 5), dtype=np.float32))
    return str(folder / "other.npy")


def test_a_model_of_texts_writes_texts_one_a_line(tmp_path: Path) -> None:
    small: dict[str, Any] = {"hidden_layer_sizes": (8,), "max_steps": 2, "random_state": 0}
    run = tmp_path / "run"
    fh.VAE(2, encoder="gru", **small).fit(["hot sun", "blue sea"] * 10).save(run)
    assert "3 texts" in done("sample", run, "--n", "3").output
    assert len((run / "samples.txt").read_text().splitlines()) == 3
    assert "no .txt file" in refused("sample", run, "--out", tmp_path / "samples.csv")
    fh.VAE(2, **small).fit(["hot sun", "blue sea"] * 10).save(tmp_path / "counts")
    assert "3 rows" in done("sample", tmp_path / "counts", "--n", "3").output
    assert not (tmp_path / "counts" / "samples.txt").exists()


@pytest.mark.parametrize("command", ["encode", "evaluate", "sample", "report"])
@pytest.mark.parametrize("kind", ["missing", "empty", "foreign", "file", "damaged"])
def test_a_folder_that_is_no_run_is_refused(own_run: Path, tmp_path: Path, command: str, kind: str) -> None:
    folder = tmp_path / "not-a-run"
    if kind == "damaged":
        folder = own_run
        (folder / "config.json").write_text("{")
    elif kind == "file":
        folder.write_text("text")
    elif kind != "missing":
        folder.mkdir()
    if kind == "foreign":
        (folder / "config.json").write_text('{"name": "another tool"}')
    words = {"encode": ["digits", "--out", str(tmp_path / "c.npz")], "evaluate": ["digits"]}.get(command, [])
    assert str(folder) in refused(command, folder, *words)
    assert not (tmp_path / "c.npz").exists()


def test_a_fit_that_is_not_finished_is_to_be_finished_first(own_run: Path) -> None:
    (own_run / "config.json").unlink()
    assert f"finish it first: fewhot fit --resume {own_run}" in refused("evaluate", own_run, "digits")


def test_an_evaluation_is_json_for_programs(fitted: Path) -> None:
    told = parsed(done("evaluate", fitted, "digits", "--json"))
    bound = next(number["value"] for number in told["numbers"] if number["name"] == "bound")
    test = load_dataset("digits", split="test")
    assert bound == pytest.approx(fh.load(fitted).score(test.X), abs=1e-4)
    assert told["rows"] == f"{len(test)} rows of digits, split 'test', not seen in the fit"
    assert not any(number["name"].startswith("probe") for number in told["numbers"])


def test_an_evaluation_is_a_table_for_people(fitted: Path) -> None:
    shown = done("evaluate", fitted, "digits", "--split", "validation").stdout
    assert "what it means" in shown
    assert "the evidence lower bound with exact gates" in shown


def test_an_evaluation_on_the_rows_of_the_fit_says_so(fitted: Path) -> None:
    assert "the ones it was fitted on" in done("evaluate", fitted, "digits", "--split", "train").stdout
    assert "not seen in the fit" in done("evaluate", fitted, "digits").stdout
    assert "some of which it was fitted on" in done("evaluate", fitted, "digits", "--split", "validation").stdout


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a second run on the digits, with fewer active units."""
    folder = tmp_path_factory.mktemp("runs") / "other"
    done("fit", "digits", *SMALL, "--l0", "1", "--quiet", "--out", folder)
    return folder


def test_runs_stand_side_by_side_with_the_difference_row_by_row(fitted: Path, other: Path) -> None:
    told = parsed(done("evaluate", fitted, "digits", "--against", other, "--json"))
    X = load_dataset("digits", split="test").X
    one, two = (fh.load(folder, device="cpu").score_samples(X) for folder in (fitted, other))
    (apart,) = told["bound_against_first"]
    assert [run["run"] for run in told["runs"]] == [str(fitted), str(other)]
    assert (apart["mean"], apart["se"]) == pytest.approx(
        ((two - one).mean(), (two - one).std(ddof=1) / len(X) ** 0.5), rel=1e-3
    )
    shown = done("evaluate", fitted, "digits", "--against", other).stdout
    assert "nats a row" in shown
    assert apart["sentence"] in shown
    assert told["rows"].count("not seen in the fit") == 2
    seen = parsed(done("evaluate", fitted, "digits", "--split", "train", "--against", other, "--json"))["rows"]
    assert seen.count("the ones it was fitted on") == 2


def test_a_run_is_not_compared_with_itself(fitted: Path) -> None:
    again = fitted / ".." / fitted.name
    assert "would be compared with itself" in refused("evaluate", fitted, "digits", "--against", again)


def test_a_run_of_other_columns_is_named(fitted: Path, tmp_path: Path) -> None:
    table = _table(tmp_path / "abc.csv", "a,b,c", [0, 1, 2])
    assert f"{fitted} was fitted on 64" in refused("evaluate", fitted, table)


def test_a_transposed_file_is_told(fitted: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "turned.npy", load_dataset("digits", split="test").X.T)
    assert "64: it has 64 rows and looks transposed; give" in refused("evaluate", fitted, tmp_path / "turned.npy")


def test_bounds_of_other_likelihoods_are_not_subtracted(fitted: Path, tmp_path: Path) -> None:
    done("fit", "digits", *SMALL, "--likelihood", "gaussian", "--quiet", "--out", tmp_path / "gaussian")
    told = parsed(done("evaluate", fitted, "digits", "--against", tmp_path / "gaussian", "--json"))
    assert told["bound_against_first"][0]["mean"] is None
    assert "do not compare" in told["bound_against_first"][0]["sentence"]


def test_a_probe_learns_from_the_rows_of_the_fit(fitted: Path) -> None:
    told = parsed(done("evaluate", fitted, "digits", "--probe", "--json"))
    assert {"reference_columns", "fvu", "fvu_pca", "probe_majority", "probe_columns"} <= {
        number["name"] for number in told["numbers"]
    }
    assert told["facts"]["references"]["gain"]["over"] == "reference_columns"
    probe = next(number for number in told["numbers"] if number["name"] == "probe_map")
    assert "from 1458 labels" in probe["meaning"]


def test_a_probe_needs_labels(fitted: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", load_dataset("digits", split="test").X)
    assert "x.npy has no labels" in refused("evaluate", fitted, tmp_path / "x.npy", "--probe")


def test_labels_without_a_probe_are_said_to_be_set_aside(fitted: Path, tmp_path: Path) -> None:
    digits = load_dataset("digits", split="test")
    columns = ",".join([*(f"p{i}" for i in range(64)), "kind"])
    table = np.column_stack([digits.X, digits.y])
    np.savetxt(tmp_path / "x.csv", table, delimiter=",", header=columns, comments="")
    assert "add --probe" in done("evaluate", fitted, tmp_path / "x.csv", "--label", "kind").stderr


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run of a model of labels, and files with and without labels; look, do not change."""
    folder = tmp_path_factory.mktemp("labelled")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5)).astype(np.float32)
    Y = (X[:, :3] > 0.3).astype(int)
    fh.SDLGMClassifier(max_steps=30, random_state=0, device="cpu").fit(X[:80], Y[:80]).save(folder / "run")
    np.savez(folder / "new.npz", X=X[80:], Y=Y[80:])
    np.save(folder / "rows.npy", X[80:])
    return folder


def test_a_model_of_labels_is_measured_by_them(labelled: Path) -> None:
    found = parsed(done("evaluate", labelled / "run", labelled / "new.npz", "--device", "cpu", "--json"))
    model = fh.load(labelled / "run", device="cpu")
    numbers = {number["name"]: number["value"] for number in found["numbers"]}
    with np.load(labelled / "new.npz") as new:
        assert numbers["micro_f1"] == pytest.approx(micro_f1(new["Y"], model.predict(new["X"])))
    assert {"micro_f1_shares", "micro_f1_linear", "label_likelihood"} <= set(numbers)


def test_a_model_of_labels_without_them_names_the_python_line(labelled: Path) -> None:
    said = refused("evaluate", labelled / "run", labelled / "rows.npy", "--device", "cpu")
    assert f"fewhot.metrics.summarise(fewhot.load('{labelled / 'run'}'), X_new, Y_new)" in said
    assert "np.savez('rows.npz', X=X_new, Y=Y_new)" in said


def test_models_of_labels_have_no_bounds_to_compare(labelled: Path, tmp_path: Path) -> None:
    shutil.copytree(labelled / "run", tmp_path / "other")
    words = ("evaluate", labelled / "run", labelled / "new.npz", "--against", tmp_path / "other", "--device", "cpu")
    found = parsed(done(*words, "--json"))
    assert found["bound_against_first"][0]["mean"] is None
    assert "There is no ELBO of rows to compare" in found["bound_against_first"][0]["sentence"]


def test_several_labels_a_row_are_no_classes(labelled: Path, tmp_path: Path) -> None:
    assert "Report" in done("fit", labelled / "new.npz", *SMALL, "--out", tmp_path / "run").stdout
    done("evaluate", tmp_path / "run", labelled / "new.npz", "--device", "cpu")
    said = refused("evaluate", tmp_path / "run", labelled / "new.npz", "--probe", "--device", "cpu")
    assert "several labels a row" in said


def test_samples_of_images_are_drawn(own_run: Path) -> None:
    done("sample", own_run, "--n", "3")
    assert (own_run / "samples.png").read_bytes().startswith(b"\x89PNG")
    assert "exists" in refused("sample", own_run)


def test_samples_are_those_of_the_seed(fitted: Path, tmp_path: Path) -> None:
    done("sample", fitted, "--n", "5", "--seed", "2", "--kind", "draw", "--device", "cpu", "--out", tmp_path / "s.npy")
    expected = fh.load(fitted, device="cpu").sample(5, random_state=2)
    np.testing.assert_array_equal(np.load(tmp_path / "s.npy"), expected)


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--n", "0"], "n_samples is 0"), (["--kind", "men"], "kind is 'men'"), (["--seed", "-1"], "-1")],
)
def test_what_cannot_be_sampled_is_refused(fitted: Path, tmp_path: Path, words: list[str], said: str) -> None:
    assert said in refused("sample", fitted, *words, "--out", tmp_path / "s.npy")
    assert not (tmp_path / "s.npy").exists()


def test_a_report_is_written_again(own_run: Path) -> None:
    before = (own_run / "report.html").read_text()
    (own_run / "report.html").unlink()
    assert str(own_run / "report.html") in done("report", own_run).stdout
    page = (own_run / "report.html").read_text()
    assert page.lstrip().lower().startswith("<!doctype html")
    assert abs(len(page) - len(before)) < 0.05 * len(before)


def test_a_run_saved_from_python_has_no_data_for_a_report(own_run: Path) -> None:
    (own_run / "data.json").unlink()
    assert "has no data.json" in refused("report", own_run)


def test_a_report_of_data_that_changed_is_refused(own_run: Path) -> None:
    record = json.loads((own_run / "data.json").read_text())
    (own_run / "data.json").write_text(json.dumps(record | {"digest": "0" * 64}))
    assert "has changed" in refused("report", own_run)
