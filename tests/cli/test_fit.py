"""``fewhot fit`` leaves a whole run folder, or nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import yaml

import fewhot as fh
from fewhot.cli.models import estimators
from fewhot.data import load_dataset

from .commands import SMALL, done, invoke, parsed, refused


def test_a_run_folder_holds_everything(fitted: Path) -> None:
    names = {path.name for path in fitted.iterdir()}
    wanted = {"config.json", "model.safetensors", "history.jsonl", "data.json", "metrics.json", "codes.npz"}
    assert names >= wanted | {"report.html", "checkpoints", "fit.yaml"}


def test_the_model_is_the_one_that_python_fits(fitted: Path) -> None:
    X = load_dataset("digits").X
    own = fh.VSC(8, l0=4, hidden_layer_sizes=(16,), max_steps=30, device="cpu", random_state=0).fit(X)
    np.testing.assert_array_equal(fh.load(fitted, device="cpu").transform(X).toarray(), own.transform(X).toarray())


def test_the_codes_are_those_of_the_fitted_rows(fitted: Path) -> None:
    codes = sp.load_npz(fitted / "codes.npz")
    expected = fh.load(fitted, device="cpu").transform(load_dataset("digits").X)
    assert (codes != expected).nnz == 0


def test_the_numbers_are_about_rows_not_seen(fitted: Path) -> None:
    metrics = json.loads((fitted / "metrics.json").read_text())
    bound = next(number["value"] for number in metrics["numbers"] if number["name"] == "bound")
    test = load_dataset("digits", split="test")
    assert bound == pytest.approx(fh.load(fitted, device="cpu").score(test.X))
    assert metrics["rows"] == f"{len(test)} rows of digits, split 'test', not seen in the fit"


def test_the_data_are_recorded(fitted: Path) -> None:
    record = json.loads((fitted / "data.json").read_text())
    train, test = load_dataset("digits"), load_dataset("digits", split="test")
    assert (record["data"], record["digest"], record["image_shape"]) == ("digits", train.digest, [8, 8])
    assert record["test"]["digest"] == test.digest


def test_the_resolved_settings_fit_the_same_model_again(fitted: Path, tmp_path: Path) -> None:
    done("fit", "--config", fitted / "fit.yaml", "--quiet", "--out", tmp_path / "again")
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (fitted / "model.safetensors").read_bytes()
    assert (tmp_path / "again" / "fit.yaml").read_text() == (fitted / "fit.yaml").read_text()


def test_flags_take_precedence_over_the_file(tmp_path: Path, table: Path) -> None:
    config = tmp_path / "small.yaml"
    settings = {"data": str(table), "label": "kind", "model": "vsc", "l0": 1, "n_components": 4, "max_steps": 5}
    config.write_text(yaml.safe_dump(settings | {"hidden_layer_sizes": [8], "device": "cpu"}))
    words = ["--density", "0.5", "--max-steps", "7", "--set", "max_active=3"]
    done("fit", "--config", config, *words, "--quiet", "--out", tmp_path / "run")
    estimator = fh.load(tmp_path / "run", device="cpu")
    assert (estimator.l0, estimator.density, estimator.max_steps, estimator.max_active) == (None, 0.5, 7, 3)
    assert estimator.n_components == 4


def test_pictures_are_convolved_when_asked(tmp_path: Path) -> None:
    small = ["--set", "encoder=conv", "--hidden", "4,4", "--max-steps", "5", "--device", "cpu"]
    done("fit", "digits", "--model", "vae", *small, "--quiet", "--out", tmp_path / "run")
    assert type(fh.load(tmp_path / "run", device="cpu").module_.encoder.body).__name__ == "Convolutions"


def test_a_file_with_labels_is_fitted_on_its_other_columns(tmp_path: Path, table: Path) -> None:
    result = done("fit", table, "--label", "kind", *SMALL, "--quiet", "--json", "--out", tmp_path / "run")
    told = parsed(result)
    assert told["run"] == str(tmp_path / "run")
    assert {"bound", "active", "probe_map"} <= {number["name"] for number in told["numbers"]}
    record = json.loads((tmp_path / "run" / "data.json").read_text())
    assert record["data"] == str(table.resolve())
    assert record["feature_names"] == ["a", "b", "c"]
    assert record["test"] is None


def test_a_file_can_be_judged_by_its_test_split(tmp_path: Path, table: Path) -> None:
    done("fit", table, "--label", "kind", "--split", "train", *SMALL, "--quiet", "--out", tmp_path / "run")
    record = json.loads((tmp_path / "run" / "data.json").read_text())
    assert (record["split"], record["test"]["split"]) == ("train", "test")
    assert record["n_rows"] + record["test"]["n_rows"] == 40


def test_a_dense_model_goes_the_same_way(tmp_path: Path, table: Path) -> None:
    words = ["--model", "vae", "--n-components", "2", "--hidden", "8", "--max-steps", "5"]
    done("fit", table, "--label", "kind", *words, "--quiet", "--out", tmp_path / "run")
    assert isinstance(fh.load(tmp_path / "run"), fh.VAE)
    with np.load(tmp_path / "run" / "codes.npz", allow_pickle=False) as codes:
        assert codes["X"].shape == (40, 2)


def test_a_folder_in_use_is_refused_and_stays_as_it_is(fitted: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in fitted.rglob("*")}
    assert f"{fitted} already holds a run" in refused("fit", "digits", *SMALL, "--out", fitted)
    assert {path: path.stat().st_mtime_ns for path in fitted.rglob("*")} == before


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    assert "is not empty" in refused("fit", "digits", *SMALL, "--out", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["digits"], "No folder was given"),
        ([], "No data was given"),
        (["digit", "--out", "x"], "'digit' is neither a dataset nor a file. Did you mean 'digits'?"),
        (["missing.csv", "--out", "x"], "There is no file missing.csv"),
        (["digits", "--model", "vcs", "--out", "x"], "Did you mean 'vsc'?"),
        (["digits", "--likelihood", "bernouli", "--out", "x"], "Did you mean 'bernoulli'?"),
        (["digits", "--density", "2", "--out", "x"], "density is 2.0"),
        (["digits", "--density", "0.1", "--l0", "3", "--out", "x"], "give at most one of alpha, density and l0"),
        (["digits", "--max-steps", "many", "--out", "x"], "--max-steps"),
        (["digits", "--model", "nfa", "--l0", "3", "--out", "x"], "give --set latent=spike-slab."),
        (["digits", "--set", "max_activ=3", "--out", "x"], "Did you mean 'max_active'?"),
        (["digits", "--set", "refine_steps=some", "--out", "x"], "refine_steps is 'some'; it takes a whole number."),
        (["digits", "--set", "callbacks=1", "--out", "x"], "callbacks cannot be set here"),
        (["digits", "--label", "kind", "--out", "x"], "has its own labels"),
        (["digits", "--split", "tran", "--out", "x"], "split is 'tran'"),
        (["digits", "--test", "planted.csv", "--out", "x"], "There is no file planted.csv"),
        (["digits", "--hidden", "a,b", "--out", "x"], "hidden_layer_sizes is 'a,b'; it takes a list of whole numbers"),
        (["digits", "--device", "tpu", "--out", "x"], "device is 'tpu'"),
        (["digits", "--densty", "2"], "--density"),
        (["--resume", "nowhere"], "There is no folder nowhere"),
        (["--config", "nowhere.yaml", "--out", "x"], "There is no file nowhere.yaml"),
    ],
)
def test_what_cannot_be_fitted_is_refused_and_leaves_nothing(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in refused("fit", *words)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("data: digits\nmodell: vsc\n", "Did you mean 'model'?"),
        ("data: digits\nmax_steps: many\n", "max_steps is 'many'"),
        ("data: digits\nmodel: vae\ndensity: 0.1\n", "vae has no setting 'density'"),
        ("- digits\n", "holds no settings"),
    ],
)
def test_a_file_of_settings_is_checked(content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(content)
    assert said in refused("fit", "--config", tmp_path / "c.yaml", "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_known_settings_are_listed_as_a_file_spells_them(tmp_path: Path) -> None:
    said = refused("fit", "digits", "--set", "no_such=1", "--out", tmp_path / "run")
    assert ", data_dir, " in said
    assert "--" not in said


@pytest.mark.parametrize("name", sorted(estimators()))
def test_the_help_names_every_model(name: str) -> None:
    assert re.search(rf"\b{name}\b", done("fit", "--help").stdout)


@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.csv", "x.mtx", "x.parquet", "x.h5ad"])
@pytest.mark.parametrize("content", [b"", b"\x93NUMPY\x01", b"PK\x03\x04 cut off"])
def test_a_damaged_file_is_refused(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    assert name in refused("fit", tmp_path / name, *SMALL, "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_values_of_another_type_than_the_ending_says_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([["a", "b"]]))
    assert "x.npy" in refused("fit", tmp_path / "x.npy", *SMALL, "--out", tmp_path / "run")


def test_the_likelihood_must_suit_the_data(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.full((20, 3), -1.5, dtype=np.float32))
    line = refused("fit", tmp_path / "x.npy", *SMALL, "--likelihood", "poisson", "--out", tmp_path / "run")
    assert "oisson" in line or "negative" in line
    assert not (tmp_path / "run").exists()


def test_everything_but_json_goes_to_stderr(tmp_path: Path, table: Path) -> None:
    result = invoke("fit", table, "--label", "kind", *SMALL, "--json", "--out", tmp_path / "run")
    assert result.exit_code == 0
    assert set(parsed(result)) == {"run", "report", "rows", "facts", "numbers", "alarms"}
    assert "step 30 of 30" in result.stderr


def test_a_fit_says_what_it_fits_and_where(table: Path, tmp_path: Path) -> None:
    told = done("fit", table, "--label", "kind", *SMALL, "--out", tmp_path / "run").stderr
    assert "Fitting 40 rows of 3 columns on cpu." in told
    assert "too few" not in told


def test_very_few_rows_are_fitted_with_a_warning(tmp_path: Path) -> None:
    np.savetxt(
        tmp_path / "two.csv", np.random.default_rng(0).random((2, 3)), delimiter=",", header="a,b,c", comments=""
    )
    told = done("fit", tmp_path / "two.csv", *SMALL, "--out", tmp_path / "run").stderr
    assert "2 rows are too few to learn from" in told


def test_a_table_too_small_to_be_split_is_refused_before_the_fit(tmp_path: Path) -> None:
    np.savetxt(
        tmp_path / "two.csv", np.random.default_rng(0).random((2, 3)), delimiter=",", header="a,b,c", comments=""
    )
    said = refused("fit", tmp_path / "two.csv", "--split", "train", *SMALL, "--out", tmp_path / "run")
    assert "too small to be split" in said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("value", "said"), [(-1.0, "negative values (minimum -1)"), (0.5, "fractional values")])
def test_rows_to_judge_by_are_checked_before_the_fit(value: float, said: str, tmp_path: Path) -> None:
    np.save(tmp_path / "counts.npy", np.eye(30, 4, dtype=np.float32))
    np.save(tmp_path / "other.npy", value * np.eye(8, 4, dtype=np.float32))
    small = ["--model", "nfa", "--recipe", "counts", "--max-steps", "5", "--out", tmp_path / "run"]
    line = refused("fit", tmp_path / "counts.npy", "--test", tmp_path / "other.npy", *small)
    assert f"The data of {tmp_path / 'other.npy'} hold {said}" in line
    assert not (tmp_path / "run").exists()


def test_rows_without_a_count_have_no_perplexity_and_a_report_all_the_same(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", np.eye(30, 4, dtype=np.float32))
    np.save(tmp_path / "empty.npy", np.zeros((30, 4), dtype=np.float32))
    small = ["--model", "nfa", "--n-components", "2", "--hidden", "4", "--max-steps", "5", "--device", "cpu", "--quiet"]
    tested = ("--test", tmp_path / "empty.npy")
    found = parsed(done("fit", tmp_path / "rows.npy", *tested, *small, "--out", tmp_path / "run", "--json"))
    names = [number["name"] for number in found["numbers"]]
    assert "bound" in names
    assert "perplexity" not in names
    assert (tmp_path / "run" / "report.html").is_file()
    done("evaluate", tmp_path / "run", tmp_path / "empty.npy")
    done("report", tmp_path / "run")


@pytest.mark.parametrize("patience", [1, 10_000])
def test_an_early_stop_is_said(tmp_path: Path, patience: int) -> None:
    fast = ["--model", "vae", "--n-components", "2", "--max-steps", "3000", "--learning-rate", "0.03"]
    settings = ["--set", "hidden_layer_sizes=[4]", "--set", f"n_iter_no_change={patience}"]
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((60, 3)))
    told = done("fit", tmp_path / "x.npy", *fast, *settings, "--out", tmp_path / "run").stderr
    steps = fh.load(tmp_path / "run").n_iter_
    assert (f"Stopped at step {steps:,}: the bound of held-out rows no longer rose." in told) == (steps < 3000)
    assert (steps < 3000) == (patience == 1)


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("train", "the ones it was fitted on"),
        ("all", "some of which it was fitted on"),
        ("test", "not seen in the fit"),
    ],
)
def test_numbers_say_whether_their_rows_were_fitted(test: str, said: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done("fit", "digits", "--test", test, "--n-components", "4", "--l0", "2", "--max-steps", "5", "--out", run)
    assert json.loads((run / "metrics.json").read_text(encoding="utf-8"))["rows"].endswith(said)


@pytest.mark.parametrize(("n_rows", "said"), [(240, "24 rows of rows.npy, held out of the fit"), (120, "120 rows of")])
def test_numbers_are_about_rows_that_were_held_out(n_rows: int, said: str, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(n_rows, 6)).astype(np.float32)
    np.save(tmp_path / "rows.npy", X)
    run = tmp_path / "run"
    told = done("fit", tmp_path / "rows.npy", "--l0", "2", "--max-steps", "20", "--out", run).stderr
    found = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    model = fh.load(run, device="cpu")
    assert found["rows"].startswith(said)
    held_out = model.held_out_rows(n_rows)
    judged = X[held_out] if n_rows == 240 else X
    bound = next(number["value"] for number in found["numbers"] if number["name"] == "bound")
    assert bound == pytest.approx(model.score(judged), rel=1e-5)
    assert len(np.load(run / "codes.npz")["indptr"]) == n_rows + 1
    assert ("which flatters it" in told) == (n_rows == 120)
    page = (run / "report.html").read_text(encoding="utf-8")
    assert f"This page looks at {said}" in page
    done("report", run)
    assert (run / "report.html").read_text(encoding="utf-8") == page


def test_held_out_rows_are_those_that_the_fit_did_not_learn_from() -> None:
    X = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    model = fh.VAE(2, hidden_layer_sizes=(8,), max_steps=5, device="cpu", random_state=0).fit(X)
    held_out = model.held_out_rows(200)
    rest = np.setdiff1d(np.arange(200), held_out)
    assert len(held_out) == 20
    assert model.references_.n_rows == 180
    np.testing.assert_allclose(model.references_.columns.loc, X[rest].mean(0), atol=1e-6)
