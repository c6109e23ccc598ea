"""A table as a spreadsheet exports it: fitted with one flag, encoded again from a new file."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine

from tests.cli.commands import done, invoke


def write_wines(path: Path, rows: np.ndarray, tags: bool = True) -> Path:
    """Write scikit-learn's wines with decimal commas, gaps, words, dates and a text in every row."""
    wine = load_wine()
    rng = np.random.default_rng(len(rows))
    names = [name.split("/")[0] for name in wine.feature_names]
    lines = [";".join(["bottle", "tasted", "cellar", *names, *(["kind"] if tags else [])])]
    for row in rows:
        numbers = [f"{value:.2f}".replace(".", ",") for value in wine.data[row]]
        numbers[rng.integers(len(numbers))] = rng.choice(["", "n/a", numbers[0]])
        day = np.datetime64("2023-01-01") + rng.integers(300)
        cellar = rng.choice(["north", "south", ""], p=[0.6, 0.3, 0.1])
        words = [f"bottle {row}", ".".join(str(day).split("-")[::-1]), cellar]
        lines.append(";".join([*words, *numbers, *([f"cultivar {wine.target[row]}"] if tags else [])]))
    path.write_text("\n".join(lines) + "\n\n", encoding="latin-1")
    return path


def test_a_messy_table_is_listed_prepared_and_encoded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    order = np.random.default_rng(0).permutation(len(load_wine().data))
    write_wines(Path("wine.csv"), order[:140])
    write_wines(Path("new.csv"), order[140:])
    write_wines(Path("untagged.csv"), order[140:], tags=False)
    few = ["--n-components", "16", "--l0", "4", "--hidden", "64", "--max-steps", "600", "--device", "cpu", "--quiet"]

    refused = invoke("fit", "wine.csv", "--label", "kind", *few, "--out", "run")
    assert refused.exit_code == 2
    *_, command = refused.stderr.splitlines()
    done(*shlex.split(command)[1:])  # the line to copy

    summary = json.loads(Path("run/preparation.json").read_text())["columns"]
    kinds = {column["name"]: column["kind"] for column in summary}
    assert (kinds["bottle"], kinds["tasted"], kinds["cellar"]) == ("dropped", "date", "category")
    assert set(kinds.values()) == {"dropped", "date", "category", "number"}

    done("encode", "run", "new.csv", "--device", "cpu", "--out", "new.npz")
    done("encode", "run", "untagged.csv", "--device", "cpu", "--out", "untagged.npz")
    codes = [sp.load_npz(f"{name}.npz").toarray() for name in ("new", "untagged")]
    assert codes[0].shape == (38, 16)
    np.testing.assert_array_equal(*codes)

    told = json.loads(done("evaluate", "run", "new.csv", "--probe", "--device", "cpu", "--json").stdout)
    probe = next(number["value"] for number in told["numbers"] if number["name"] == "probe_mean")
    assert probe > 0.8  # the most frequent of three cultivars: .4
