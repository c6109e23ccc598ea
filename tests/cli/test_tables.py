"""Tables as they come on the command line: listed, prepared, and read again as they were in the fit."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import fewhot as fh

from .commands import SMALL, done, invoke, refused

N = 120


def write_customers(path: Path, seed: int = 0, n: int = N, tiers: str = "gold silver") -> Path:
    """Write a table as spreadsheets do: semicolons, decimal commas, Latin letters, dates, gaps and rare mistakes."""
    rng = np.random.default_rng(seed)
    lines = ["id;name;tier;joined;income;visits;kind"]
    for i in range(n):
        k = int(rng.integers(2))
        income = "" if i % 10 == 4 else f"{1000 * (k + 1) + rng.random() * 100:.2f}".replace(".", ",")
        day = np.datetime64("2024-01-01") + int(rng.integers(100))
        tier = tiers.split()[k]
        lines.append(f"{i};Müller {i};{tier};{day};{income};{rng.poisson(3)};{'ab'[k]}")
    path.write_text("\n".join(lines) + "\n\n", encoding="latin-1")
    return path


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with such a table and a run on it; look, do not change."""
    folder = tmp_path_factory.mktemp("prepared")
    path = write_customers(folder / "customers.csv")
    words = ["--prepare", "--label", "kind", "--split", "train", "--quiet", "--out", folder / "run"]
    done("fit", path, *SMALL, *words)
    return folder


def test_all_columns_are_listed_with_a_line_to_copy(tmp_path: Path) -> None:
    path = write_customers(tmp_path / "my customers.csv")
    result = invoke("fit", path, "--l0", "4", "--out", tmp_path / "run")
    assert result.exit_code == 2
    heading, *lines, flags, command = result.stderr.splitlines()
    assert heading == f"fewhot: 5 of 7 columns of {path} are not plain numbers:"
    assert [line.split()[0] for line in lines] == ["name", "tier", "joined", "income", "kind"]
    assert flags.startswith("--prepare does what stands on the right; --drop leaves columns out, --columns keeps")
    assert command == f"  fewhot fit '{path}' --l0 4 --out {tmp_path / 'run'} --prepare"
    assert not (tmp_path / "run").exists()


def test_one_flag_prepares_and_says_what_it_did(tmp_path: Path) -> None:
    path = write_customers(tmp_path / "customers.csv")
    told = done("fit", path, "--prepare", *SMALL, "--out", tmp_path / "run").stderr
    assert "Prepared 7 columns as 5 of numbers:" in told
    assert "  numbers: income (decimal commas), visits" in told
    assert "  missing values filled: income (12: median" in told
    assert "  left out: id (a number for each row), name (text, 120 different values in 120 rows)" in told
    estimator = fh.load(tmp_path / "run", device="cpu")
    assert estimator.feature_names_in_.tolist() == ["tier_silver", "joined_days", "income", "visits", "kind_b"]
    assert estimator.likelihood_ == "gaussian"  # days and levels are whole numbers, and no counts
    assert "most frequent" not in (page := (tmp_path / "run" / "report.html").read_text())
    assert "name (text, 120 different values in 120 rows)" in page


def test_preparation_is_learned_on_the_rows_of_the_fit(prepared: Path) -> None:
    stored = json.loads((prepared / "run" / "preparation.json").read_text())
    reasons = [column.get("reason", "") for column in stored["columns"]]
    record = json.loads((prepared / "run" / "data.json").read_text())
    assert record["n_rows"] < N
    assert f"text, {record['n_rows']} different values in {record['n_rows']} rows" in reasons


def test_new_rows_are_prepared_as_those_of_the_fit(prepared: Path, tmp_path: Path) -> None:
    new = write_customers(tmp_path / "new.csv", seed=1, n=30, tiers="gold platinum")
    with pytest.warns(UserWarning, match=r"^tier: levels that the fit did not have in \d+ cells \('platinum'\)"):
        done("encode", prepared / "run", new, "--device", "cpu", "--out", tmp_path / "codes.npz")
    rows = [line.split(";") for line in new.read_text("latin-1").split("\n")[1:31]]
    shuffled = tmp_path / "shuffled.csv"  # other order of columns, no label, no columns that were left out
    keep = [5, 3, 2, 4]
    lines = [["visits", "joined", "tier", "income"], *([row[j] for j in keep] for row in rows)]
    shuffled.write_text("\n".join(";".join(line) for line in lines))
    with pytest.warns(UserWarning, match="platinum"):
        done("encode", prepared / "run", shuffled, "--device", "cpu", "--out", tmp_path / "again.npz")
    codes = [sp.load_npz(tmp_path / f"{name}.npz").toarray() for name in ("codes", "again")]
    np.testing.assert_array_equal(*codes)


def test_the_label_of_the_fit_is_remembered(prepared: Path, tmp_path: Path) -> None:
    new = write_customers(tmp_path / "new.csv", seed=1, n=60)
    numbers = json.loads(done("evaluate", prepared / "run", new, "--probe", "--json").stdout)["numbers"]
    assert any(number["name"] == "probe_map" for number in numbers)
    bare = tmp_path / "bare.csv"
    bare.write_text("\n".join(line.rpartition(";")[0] for line in new.read_text("latin-1").split("\n")[:61]))
    done("evaluate", prepared / "run", bare)
    assert "has no labels, and --probe needs them" in refused("evaluate", prepared / "run", bare, "--probe")


def test_the_label_of_a_plain_table_is_remembered_by_place_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{b:.3f},{'rose' if a > 0.5 else 'iris'}" for a, b in rng.random((40, 2))]
    (tmp_path / "bare.csv").write_text("\n".join(lines))
    run = tmp_path / "run"
    done("fit", tmp_path / "bare.csv", "--label", "-1", *SMALL, "--l0", "2", "--quiet", "--out", run)
    done("encode", run, tmp_path / "bare.csv", "--out", tmp_path / "with.npz")
    (tmp_path / "without.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines))
    done("encode", run, tmp_path / "without.csv", "--out", tmp_path / "without.npz")
    codes = [sp.load_npz(tmp_path / f"{name}.npz").toarray() for name in ("with", "without")]
    np.testing.assert_array_equal(*codes)


def test_columns_that_were_left_out_may_stay_in_new_files(tmp_path: Path) -> None:
    path = write_customers(tmp_path / "customers.csv")
    words = ["--columns", "visits,id", "--quiet", "--out", tmp_path / "run"]
    done("fit", path, *SMALL, "--l0", "2", *words)
    done("encode", tmp_path / "run", path, "--out", tmp_path / "codes.npz")
    said = refused("fit", path, "--drop", "nam", "--out", tmp_path / "x")
    assert "has no column 'nam', which --drop names. Did you mean 'name'?" in said


def test_a_plain_run_lists_what_it_cannot_read(tmp_path: Path) -> None:
    (tmp_path / "plain.csv").write_text("a,b\n" + "\n".join(f"{i / 40},{1 - i / 50}" for i in range(40)))
    done("fit", tmp_path / "plain.csv", *SMALL, "--l0", "2", "--quiet", "--out", tmp_path / "run")
    (tmp_path / "new.csv").write_text("a,b\n0.5,\n0.25,1\n")
    result = invoke("encode", tmp_path / "run", tmp_path / "new.csv", "--out", tmp_path / "codes.npz")
    assert result.exit_code == 2
    assert "b  1 of 2 missing" in result.stderr
    assert result.stderr.endswith("mend the file, or fit again with --prepare.\n")


def test_a_run_on_prepared_columns_is_resumed(prepared: Path) -> None:
    assert "is finished" in done("fit", "--resume", prepared / "run").stderr


def test_samples_are_rows_of_the_table(prepared: Path, tmp_path: Path) -> None:
    done("sample", prepared / "run", "--n", "5", "--out", tmp_path / "samples.csv")
    with (tmp_path / "samples.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 5
    assert all(row["tier"] in ("gold", "silver") and row["joined"].startswith("202") for row in rows)
    assert list(rows[0]) == ["tier", "joined", "income", "visits"]


@pytest.mark.parametrize("content", ["a,b\n1,2\n", "1,2\n"])
def test_a_single_row_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text(content)
    said = refused("fit", tmp_path / "one.csv", *SMALL, "--out", tmp_path / "run")
    assert "one.csv holds 1 row, and a model learns how rows differ; give at least 2" in said
    assert not (tmp_path / "run").exists()


def test_what_is_for_tables_is_refused_elsewhere(tmp_path: Path) -> None:
    assert "prepare" in refused("fit", "digits", "--prepare", *SMALL, "--out", tmp_path / "run")
    np.save(tmp_path / "x.npy", np.eye(30))
    assert "is for tables" in refused("fit", tmp_path / "x.npy", "--drop", "a", *SMALL, "--out", tmp_path / "run")


def test_rows_without_a_label_are_fitted_encoded_and_left_out_of_probes(tmp_path: Path) -> None:
    lines = write_customers(tmp_path / "customers.csv").read_text(encoding="latin-1").splitlines()
    some = [line if i % 4 else line[: line.rindex(";") + 1] for i, line in enumerate(lines[:-1])]
    none = [lines[0], *(line[: line.rindex(";") + 1] for line in lines[1:-1])]
    for name, rows in (("some", [lines[0], *some[1:]]), ("none", none)):
        (tmp_path / f"{name}.csv").write_text("\n".join(rows) + "\n", encoding="latin-1")
    run = tmp_path / "run"
    told = done("fit", tmp_path / "some.csv", "--prepare", "--label", "kind", *SMALL, "--out", run).stderr
    assert "30 of 120 rows of some.csv have no label; probes leave them out." in told
    for name in ("some", "none", "customers"):
        done("encode", run, tmp_path / f"{name}.csv", "--out", tmp_path / f"{name}.npz")
    codes = {name: sp.load_npz(tmp_path / f"{name}.npz").toarray() for name in ("some", "none", "customers")}
    np.testing.assert_array_equal(codes["some"], codes["customers"])
    np.testing.assert_array_equal(codes["none"], codes["customers"])
    found = done("evaluate", run, tmp_path / "some.csv", "--probe", "--json")
    assert "30 of 120 rows" in found.stderr
    numbers = {number["name"]: number for number in json.loads(found.stdout)["numbers"]}
    assert "from 45 labels" in numbers["probe_map"]["meaning"]
