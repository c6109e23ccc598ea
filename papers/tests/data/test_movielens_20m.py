"""MovieLens 20M: its archive and its users."""

from __future__ import annotations

import zipfile
from pathlib import Path

from fewhot.data import describe
from fewhot_papers.data import movielens_20m


def test_the_dataset_reads_its_archive(tmp_path: Path) -> None:
    lines = ["userId,movieId,rating,timestamp", *(f"7,{film},4,0" for film in range(6))]
    with zipfile.ZipFile(tmp_path / "ml-20m.zip", "w") as archive:
        archive.writestr("ml-20m/ratings.csv", "\n".join(lines) + "\n")
    table = movielens_20m._read("all", {"ml-20m.zip": tmp_path / "ml-20m.zip"})
    assert (table.X.toarray().tolist(), table.feature_names) == ([[1] * 6], list("012345"))


def test_the_published_users_are_described() -> None:
    rows = {split: shape[0] for split, shape in describe("movielens_20m").shapes.items()}
    assert rows == {"train": 126_677, "validation": 10_000, "fit": 116_677, "test": 10_000, "all": 136_677}
