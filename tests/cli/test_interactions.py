"""Who has what from a file: fitted, encoded, evaluated and recommended with the columns that were named once."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fewhot as fh
from fewhot.baselines import EASE
from fewhot.core.errors import DataError
from fewhot.data import read_file
from fewhot.data.files.pairs import read_interactions

from .commands import done, invoke, parsed, refused

TEA, COFFEE = ["butter", "jam", "milk", "scones", "tea"], ["beans", "cake", "coffee", "cream", "sugar"]
QUICK = ["--n-components", "4", "--max-steps", "40", "--device", "cpu", "--quiet", "--seed", "0"]


def pairs() -> list[tuple[str, str, int]]:
    """Return forty users of tea or of coffee, each of whom lacks one thing."""
    tastes = [TEA, COFFEE]
    return [
        (f"{u:03}", item, 1 + u % 5)
        for u in range(40)
        for place, item in enumerate(tastes[u % 2])
        if place != u // 2 % 5
    ]


def written(path: Path, rows: list[Any], header: str = "u,i,w", separator: str = ",") -> Path:
    """Write a table."""
    lines = [header.replace(",", separator), *(separator.join(map(str, row)) for row in rows)]
    text = "\n".join(lines) + "\n"
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished run on pairs; look, do not change."""
    folder = tmp_path_factory.mktemp("likes")
    likes = written(folder / "likes.csv", pairs())
    done("fit", likes, "--user", "u", "--item", "i", "--weight", "w", *QUICK, "--out", folder / "run")
    return folder / "run"


def test_the_model_is_an_nfa_that_knows_the_items(run: Path) -> None:
    model = fh.load(run, device="cpu")
    assert (type(model).__name__, model.recipe_, model.items_.tolist()) == ("NFA", "likes", sorted(TEA + COFFEE))
    assert model.recommend([["tea"]], 1)[0].shape == (1, 1)
    record = json.loads((run / "data.json").read_text())
    assert (record["user"], record["item"], record["weight"]) == ("u", "i", "w")


def test_another_model_may_be_named(run: Path, tmp_path: Path) -> None:
    small = ["--l0", "2", "--hidden", "4", "--max-steps", "5", "--device", "cpu", "--quiet"]
    done(
        "fit", run.parent / "likes.csv", "--user", "u", "--item", "i", "--model", "vsc", *small, "--out", tmp_path / "r"
    )
    assert type(fh.load(tmp_path / "r", device="cpu")).__name__ == "VSC"
    assert "VSC, which recommends nothing" in refused("recommend", tmp_path / "r", "--items", "tea")


def test_columns_of_the_fit_are_remembered(run: Path, tmp_path: Path) -> None:
    new = written(tmp_path / "new.tsv", [("a", "tea", 1), ("a", "rum", 2), ("b", "cake", 3)], separator="\t")
    result = done("encode", run, new, "--out", tmp_path / "codes.npz")
    assert "1 item of new.tsv, such as 'rum', was not in the fit" in result.stderr
    expected = fh.load(run, device="cpu").transform([["tea"], ["cake", "cake", "cake"]])
    codes = read_file(tmp_path / "codes.npz").X
    np.testing.assert_array_equal(codes, expected)
    assert parsed(done("evaluate", run, run.parent / "likes.csv", "--json"))["rows"].startswith("40 users of likes.csv")
    assert "Units with items" in done("evaluate", run, run.parent / "likes.csv").stdout
    done("report", run)
    other = written(tmp_path / "other.csv", [("a", "tea"), ("b", "cake")], header="who,what")
    assert "has no column 'u'" in refused("encode", run, other, "--out", tmp_path / "other.npz")


def test_codes_of_users_have_their_names(run: Path, tmp_path: Path) -> None:
    new = written(tmp_path / "new.csv", [('"zoe, b"', "tea", 1), ("al", "cake", 3), ('"zoe, b"', "milk", 1)])
    for name in ("codes.csv", "codes.parquet"):
        said = done("encode", run, new, "--out", tmp_path / name).stdout
        assert "order" not in said
    table = pl.read_csv(tmp_path / "codes.csv")
    assert table.columns == ["user", *(f"unit_{j}" for j in range(4))]
    assert table["user"].to_list() == ["zoe, b", "al"]
    expected = fh.load(run, device="cpu").transform([["tea", "milk"], ["cake", "cake", "cake"]])
    np.testing.assert_allclose(table.drop("user").to_numpy(), expected, rtol=1e-6)
    assert pl.read_parquet(tmp_path / "codes.parquet")["user"].to_list() == ["zoe, b", "al"]
    said = " ".join(done("encode", run, new, "--out", tmp_path / "codes.npy").stdout.split())
    assert "Users are in the order of their first lines in new.csv; a .csv, .parquet or .h5ad file names them." in said


def test_items_may_be_given_several_times(run: Path) -> None:
    words = ["-n", "3", "--json"]
    both = parsed(done("recommend", run, "--items", "tea", "--items", "cake", *words))
    assert both == parsed(done("recommend", run, "--items", "tea,cake", *words))
    assert both != parsed(done("recommend", run, "--items", "cake", *words))
    assert "Give either DATA or --items" in refused("recommend", run)


def test_lists_for_people(run: Path) -> None:
    shown = done("recommend", run, run.parent / "likes.csv", "-n", "1")
    assert "000" in shown.stdout
    assert "20 more users: --out writes all to a file." in shown.stderr
    one = done("recommend", run, "--items", "tea, milk", "-n", "2").stdout
    assert "score" in one
    assert not any(f" {seen} " in one for seen in ("tea", "milk"))
    assert " tea " in done("recommend", run, "--items", "tea", "-n", "10", "--seen").stdout


def test_lists_for_programs(run: Path, tmp_path: Path) -> None:
    likes = run.parent / "likes.csv"
    found = parsed(done("recommend", run, likes, "-n", "9", "--json"))
    assert [one["user"] for one in found] == [f"{u:03}" for u in range(40)]
    assert all(len(one["items"]) == 6 == len(one["scores"]) for one in found)  # four of ten are seen
    done("recommend", run, likes, "-n", "9", "--out", tmp_path / "best.csv")
    with (tmp_path / "best.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["user"], row["item"]) for row in rows] == [(one["user"], i) for one in found for i in one["items"]]
    done("recommend", run, likes, "-n", "9", "--out", tmp_path / "best.json")
    assert json.loads((tmp_path / "best.json").read_text()) == found
    assert "exists" in refused("recommend", run, likes, "--out", tmp_path / "best.csv")
    assert ".csv or .json" in refused("recommend", run, likes, "--out", tmp_path / "best.xlsx")


def test_a_saved_baseline_recommends(tmp_path: Path) -> None:
    EASE(1.0).fit([["a", "b"], ["a", "b"], ["c"]]).save(tmp_path / "named")
    assert parsed(done("recommend", tmp_path / "named", "--items", "a", "-n", "1", "--json"))[0]["items"] == ["b"]
    EASE(1.0).fit(np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]])).save(tmp_path / "plain")
    assert parsed(done("recommend", tmp_path / "plain", "--items", "0", "-n", "1", "--json"))[0]["items"] == [1]
    likes = written(tmp_path / "likes.csv", [("x", "a"), ("y", "c")], header="user,item")
    words = ["recommend", tmp_path / "named", likes, "--user", "user", "--item", "item", "-n", "1", "--json"]
    assert [one["user"] for one in parsed(done(*words))] == ["x", "y"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--user", "u"], "without --item"),
        (["--weight", "w"], "without --user"),
        (["--user", "u", "--item", "it"], "has no column 'it'. Did you mean 'i'?"),
        (["--user", "u", "--item", "u"], "named twice"),
        (["--user", "u", "--item", "i", "--label", "w"], "--label was given beside"),
        (["--user", "u", "--item", "i", "--prepare"], "--prepare was given beside"),
        (["--user", "u", "--item", "i", "--weight", "i"], "named twice"),
        (["--user", "i", "--item", "u", "--weight", "x"], "has no column 'x'"),
    ],
)
def test_columns_that_do_not_fit_are_refused(words: list[str], said: str, run: Path, tmp_path: Path) -> None:
    assert said in refused("fit", run.parent / "likes.csv", *words, *QUICK, "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "has no pairs"),
        ([("a", "x", 1), ("b", "y", -1)], "Negative values"),
        ([("a", "x", 1), ("b", "y", "much")], "has 'much' in its pair 2"),
        ([("a", "x", 1), ("b", "y", "nan")], "missing or infinite"),
        ([("a", "x", 1), ("b", "y")], "Line 3 of"),
        ([("a", "x", 1), ("a", "y", 1)], "holds 1 user, and"),
    ],
)
def test_files_that_teach_nothing_are_refused(rows: list[Any], said: str, tmp_path: Path) -> None:
    likes = written(tmp_path / "likes.csv", rows)
    words = ["fit", likes, "--user", "u", "--item", "i", "--weight", "w", *QUICK, "--out", tmp_path / "run"]
    assert said in refused(*words)
    assert not (tmp_path / "run").exists()


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "likes.csv").write_text("")
    words = ["fit", tmp_path / "likes.csv", "--user", "u", "--item", "i", *QUICK, "--out", tmp_path / "run"]
    assert "is empty" in refused(*words)
    assert "There is no file" in refused("fit", tmp_path / "no.csv", *words[2:])


@pytest.mark.parametrize("name", ["l.csv", "l.tsv", "l.csv.gz", "l.jsonl", "l.parquet"])
def test_every_table_holds_the_same_pairs(name: str, tmp_path: Path) -> None:
    rows = [("07", "tea", 2.0), ("7", "tea", 0.5), ("07", "cake", 1.0), ("07", "tea", 3.0)]
    path, columns = tmp_path / name, dict(zip("uiw", map(list, zip(*rows, strict=True)), strict=True))
    if name.endswith("jsonl"):
        path.write_text("\n".join(json.dumps(dict(zip("uiw", row, strict=True))) for row in rows))
    elif name.endswith("parquet"):
        pl.DataFrame(columns).write_parquet(path)
    else:
        written(path, rows, separator="\t" if "tsv" in name else ",")
    found = read_interactions(path, user="u", item="i", weight="w")
    assert (found.users, found.feature_names) == (["07", "7"], ["cake", "tea"])
    assert found.X.toarray().tolist() == [[1.0, 5.0], [0.0, 0.5]]
    assert found.take(np.array([1])).users == ["7"]


def test_other_files_hold_no_pairs(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is no table of pairs by its name"):
        read_interactions(tmp_path / "x.npy", user="u", item="i")


def test_splits_and_other_test_users(run: Path, tmp_path: Path) -> None:
    likes, columns = run.parent / "likes.csv", ["--user", "u", "--item", "i"]
    done("fit", likes, *columns, "--split", "train", *QUICK, "--out", tmp_path / "split")
    other = written(tmp_path / "other.csv", [("a", "tea", 1), ("b", "cake", 1)])
    done("fit", likes, *columns, "--test", other, *QUICK, "--out", tmp_path / "test")
    assert "2 users of other.csv" in json.loads((tmp_path / "test" / "metrics.json").read_text())["rows"]
    done("fit", "--config", run / "fit.yaml", "--quiet", "--out", tmp_path / "again")
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (run / "model.safetensors").read_bytes()
    assert invoke("fit", "--resume", run, "--quiet").exit_code == 0


def test_runs_with_and_without_weights_are_compared_by_their_lists(tmp_path: Path) -> None:
    rows = [(f"{u:02}", item, 1 + u % 5) for u in range(30) for item in (TEA, COFFEE)[u % 2]]
    likes = written(tmp_path / "likes.csv", rows)
    pair = ["--user", "u", "--item", "i"]
    done("fit", likes, *pair, *QUICK, "--out", tmp_path / "plain")
    done("fit", likes, *pair, "--weight", "w", *QUICK, "--out", tmp_path / "stars")
    told = parsed(done("evaluate", tmp_path / "plain", likes, "--against", tmp_path / "stars", "--json"))
    (bounds,), (ndcg,) = told["bound_against_first"], told["ndcg_against_first"]
    assert bounds["mean"] is None
    assert "not comparable" in bounds["sentence"]
    assert "as with and without weights" in bounds["sentence"]
    one, two = (next(number["value"] for number in run["numbers"] if number["name"] == "ndcg") for run in told["runs"])
    assert ndcg["mean"] == pytest.approx(two - one, abs=1e-6)
    assert "standard errors, user by user" in ndcg["sentence"]
    shown = done("evaluate", tmp_path / "plain", likes, "--against", tmp_path / "stars").stdout
    assert "The NDCG of" in shown
    assert "nats a row higher" not in shown


def test_pairs_without_a_user_or_an_item_are_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("u,i,w\neve,tea,1\n,tea,2\nbob,,3\nbob,milk,4\n")
    with pytest.warns(UserWarning, match=r"2 of 4 pairs of .*x\.csv have no user or no item, and are left out: 2, 3\."):
        found = read_interactions(tmp_path / "x.csv", user="u", item="i", weight="w")
    assert (found.users, found.feature_names, found.X.toarray().tolist()) == (
        ["eve", "bob"], ["milk", "tea"], [[0.0, 1.0], [4.0, 0.0]]
    )  # fmt: skip
    (tmp_path / "y.csv").write_text("u,i\neve,\n,tea\n")
    with pytest.raises(DataError, match="no pair with both a user and an item"):
        read_interactions(tmp_path / "y.csv", user="u", item="i")
