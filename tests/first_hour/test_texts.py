"""Texts: the first command on headlines gives useful codes in two minutes, and slow models say so first."""

from __future__ import annotations

import csv
import gzip
import os
import re
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import fewhot as fh
from fewhot.cli.app import app

Headlines = tuple[list[str], list[str]]
N_TRAIN, N_TEST = 8000, 4000


def planted(n: int = 1500, n_topics: int = 6, seed: int = 0) -> Headlines:
    """Return headlines of six words, two or three of them from one of a few topics and the others from none."""
    rng = np.random.default_rng(seed)
    topics = rng.integers(n_topics, size=n)
    common = rng.zipf(1.3, size=(n, 6)) % 2000
    own = rng.random((n, 6)) < 0.45
    words = np.where(own, 2000 + 40 * topics[:, None] + rng.integers(40, size=(n, 6)), common)
    return [" ".join(f"word{word}" for word in row) for row in words], [f"topic {topic}" for topic in topics]


def in_data(*path: str) -> Path:
    """Return a file of the data folder, or skip."""
    folder = os.environ.get("FEWHOT_DATA")
    file = Path(folder or ".").joinpath(*path)
    if folder is None or not file.is_file():
        pytest.skip(f"FEWHOT_DATA names no folder with {'/'.join(path)}")
    return file


def subjects() -> Headlines:
    """Return subject lines of 20 Newsgroups, those of replies without their mark, and their groups."""
    titles, groups = [], []
    with tarfile.open(in_data("20newsgroups_raw", "20news-bydate.tar.xz")) as archive:
        for member in archive:
            if member.isfile():
                head = archive.extractfile(member).read(3000).decode("latin1")
                found = re.search(r"^Subject:\s*(?:re:\s*)*(.*\S)", head, re.MULTILINE | re.IGNORECASE)
                if found is not None:
                    titles.append(found[1])
                    groups.append(member.name.split("/")[-2])
    return titles, groups


def beginnings() -> Headlines:
    """Return the first eight words of DBpedia's abstracts, and what they are about."""
    with gzip.open(in_data("dbpedia14_sample", "train.csv.gz"), "rt", encoding="utf8") as file:
        rows = list(csv.reader(file))
    return [" ".join(row[1].split()[:8]) for row in rows], [row[0] for row in rows]


def questions() -> Headlines:
    """Return questions put to Yahoo, and their topics."""
    texts, topics = (in_data("hsvae_yahoo", f"valid{part}.txt.gz") for part in ("", "_class_label"))
    with gzip.open(texts, "rt", encoding="utf8") as lines, gzip.open(topics, "rt") as labels:
        return [line.strip() for line in lines], [label.strip() for label in labels]


def written(folder: Path, headlines: Headlines, rows: np.ndarray, name: str) -> Path:
    """Write some headlines as a table with their labels."""
    with (folder / name).open("w", encoding="utf8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["title", "about"])
        table.writerows([headlines[0][row], headlines[1][row]] for row in rows)
    return folder / name


def accuracy(Z: Any, y: Any, Z_test: Any, y_test: Any) -> float:
    """Return how often a linear classifier on such columns is right."""
    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    return float(probe.fit(Z, y).score(Z_test, y_test))


def first_command(folder: Path, headlines: Headlines, n_train: int, n_test: int) -> dict[str, float]:
    """Fit headlines as the README says; return how long it took, how codes are, and accuracies of codes and LSA."""
    rows = np.random.default_rng(0).permutation(len(headlines[0]))[: n_train + n_test]
    train, test = rows[:n_train], rows[n_train:]
    table = written(folder, headlines, train, "news.csv")
    began = time.perf_counter()
    result = CliRunner().invoke(app, ["fit", str(table), "--text", "title", "--out", str(folder / "news")])
    seconds = time.perf_counter() - began
    assert result.exit_code == 0, result.output
    assert (folder / "news" / "report.html").is_file()
    titles, topics = (np.array(part, dtype=object) for part in headlines)
    model: Any = fh.load(folder / "news", device="cpu")
    Z, Z_test = (model.transform(titles[part].tolist()).toarray() for part in (train, test))
    n_on = (Z_test != 0).sum(1)
    weights = TfidfVectorizer()
    X = weights.fit_transform(titles[train])
    lsa = TruncatedSVD(max(1, round(n_on.mean())), random_state=0).fit(X)
    reduced = lsa.transform(X), lsa.transform(weights.transform(titles[test]))
    y, y_test = topics[train].astype(str), topics[test].astype(str)
    return {
        "seconds": seconds,
        "active": n_on.mean(),
        "empty": float((n_on == 0).mean()),
        "codes": accuracy(Z, y, Z_test, y_test),
        "lsa": accuracy(reduced[0], y, reduced[1], y_test),
    }


def test_planted_topics_are_found_by_the_first_command(tmp_path: Path) -> None:
    found = first_command(tmp_path, planted(), 1000, 500)
    assert found["codes"] >= found["lsa"]
    assert found["codes"] > 0.5
    assert found["empty"] < 0.3


@pytest.mark.slow
@pytest.mark.parametrize("headlines", [subjects, beginnings, questions])
def test_thousands_of_headlines_in_two_minutes(headlines: Callable[[], Headlines], tmp_path: Path) -> None:
    found = first_command(tmp_path, headlines(), N_TRAIN, N_TEST if headlines is not questions else 2000)
    assert found["seconds"] <= 120
    assert found["codes"] >= found["lsa"]
    assert found["active"] >= 2
    assert found["empty"] <= 0.3


class Stopped(Exception):
    """Raised where training would begin."""


def before_training() -> fh.Callback:
    """Return a callback that ends a fit before its first step."""

    class Stop(fh.Callback):
        def on_start(self, max_steps: int) -> None:
            raise Stopped

    return Stop()


def test_a_recurrent_model_says_how_long_it_takes_before_it_starts() -> None:
    model = fh.VSC(8, encoder="gru", max_steps=10**6, callbacks=[before_training()], random_state=0)
    said = r"a step takes [\d.e-]+ s here, and the 1,000,000 steps of this fit up to [\d,]+ hours\. Give fewer"
    with pytest.warns(UserWarning, match=said), pytest.raises(Stopped):
        model.fit(planted(60)[0])


@pytest.mark.filterwarnings("error")
def test_quick_fits_say_nothing_of_time() -> None:
    bags = fh.VSC(8, max_steps=1000, callbacks=[before_training()], random_state=0)
    words = fh.VSC(8, encoder="gru", hidden_layer_sizes=(4,), max_steps=20, callbacks=[before_training()])
    for model in (bags, words):
        with pytest.raises(Stopped):
            model.fit(planted(60)[0])
