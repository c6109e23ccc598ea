"""Multi-label datasets of the Mulan project: ARFF files, with the names of the labels in an XML file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import scipy.sparse as sp

from fewhot.core.errors import DataError
from fewhot.data.catalogue import DataFile, register_dataset
from fewhot.data.fetch import open_content
from fewhot.data.files.table import Table

ADDRESS = "https://raw.githubusercontent.com/tsoumakas/mulan/master/data/multi-label/"
_NAME = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+)""", re.IGNORECASE)


def read_mulan(data: Path, labels: Path) -> Table:
    """Read a multi-label ARFF file, dense or sparse, compressed or not.

    Parameters
    ----------
    data
        The ARFF file; all attributes are numbers, or nominal ones written as numbers.
    labels
        The XML file that names those of the attributes that are labels.

    Returns
    -------
    Table
        Features, CSR where the file is sparse; labels (n, K), 0 or 1; and the names of both.
    """
    names, rows = _read_arff(data)
    wanted = _label_names(labels)
    missing = wanted - set(names)
    if missing:
        raise DataError(
            f"{labels} names the label {min(missing)!r}, which {data} does not have; give files that match."
        )
    is_label = np.array([name in wanted for name in names])
    matrix: Any = _matrix(rows, len(names), data)
    X, y = matrix[:, ~is_label], matrix[:, is_label]
    return Table(
        X=X,
        y=(y.toarray() if sp.issparse(y) else y).astype(np.int64),
        feature_names=[name for name in names if name not in wanted],
        label_names=[name for name in names if name in wanted],
    )


def _read_arff(path: Path) -> tuple[list[str], list[str]]:
    """Return the names of the attributes, and the lines of the data."""
    with open_content(path) as file:
        lines = [line.strip() for line in file.read().decode("latin1").splitlines()]
    lines = [line for line in lines if line and not line.startswith("%")]
    begin = next((i for i, line in enumerate(lines) if line.lower() == "@data"), None)
    if begin is None:
        raise DataError(f"{path} has no line '@data'; it is not an ARFF file.")
    found = [_NAME.match(line) for line in lines[:begin] if line.lower().startswith("@attribute")]
    names = [_unquoted(match.group(1)) for match in found if match is not None]
    return names, lines[begin + 1 :]


def _matrix(lines: list[str], n_columns: int, path: Path) -> np.ndarray | sp.csr_array:
    try:
        if not any(line.startswith("{") for line in lines):
            matrix = np.array([line.split(",") for line in lines], dtype=np.float32)
            if matrix.shape != (len(lines), n_columns):
                raise ValueError(f"rows of {matrix.shape[-1]} values for {n_columns} attributes")
            return matrix
        entries = [[pair.split() for pair in line.strip("{} ").split(",") if pair.strip()] for line in lines]
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in entries])])
        columns = np.array([int(pair[0]) for row in entries for pair in row], dtype=np.int32)
        values = np.array([float(pair[1]) for row in entries for pair in row], dtype=np.float32)
        if len(columns) and not 0 <= columns.min() <= columns.max() < n_columns:
            raise ValueError(f"attribute {columns.max()} of {n_columns}")
        return sp.csr_array((values, columns, offsets), shape=(len(lines), n_columns))
    except (ValueError, IndexError) as error:
        raise DataError(f"{path} holds values that are not numbers or not in their place ({error}).") from error


def _label_names(path: Path) -> set[str]:
    try:
        with open_content(path) as file:
            root = ElementTree.fromstring(file.read())
    except ElementTree.ParseError as error:
        raise DataError(f"{path} is no XML file of labels ({error}).") from error
    return {_unquoted(element.attrib["name"]) for element in root.iter() if "name" in element.attrib}


def _unquoted(name: str) -> str:
    if name[:1] in "'\"" and name[-1:] == name[:1] and len(name) > 1:
        name = name[1:-1]
    return re.sub(r"\\(.)", r"\1", name)


def _read(name: str, part: str, files: Mapping[str, Path]) -> Table:
    data = f"{name}.arff" if part == "all" else f"{name}-{part}.arff"
    return read_mulan(files[data], files[f"{name}.xml"])


_DATASETS: dict[str, tuple[str, str, dict[str, tuple[int, int]], dict[str, str]]] = {
    "emotions": (
        "Emotions: 593 songs by 72 features, each with some of 6 moods",
        "Trohidis et al. 2008",
        {"train": (391, 72), "test": (202, 72)},
        {
            "emotions-train.arff": "bbe704106c79bb8fb99c1d1d2e9bde081d6a2daeb01f100862f11fd91a3c1f98",
            "emotions-test.arff": "f13d4b746b7b5c8eb484bd751d6ac463d4560dff998a93516a5c1fe35daf6c8f",
            "emotions.xml": "dbce8e6ccbbb2fcbfd9e9edbb230d7ed12692c6e13f59fdbc0161fa9b6cf2dc0",
        },
    ),
    "birds": (
        "Birds: 645 recordings by 260 features, each with those of 19 kinds of birds that are heard",
        "Briggs et al. 2013",
        {"train": (322, 260), "test": (323, 260)},
        {
            "birds-train.arff": "8f215db6ee163149901e753977f631ba8bea0e0e8e1abc42b234414822f8ae36",
            "birds-test.arff": "51ba6326d65ccdd7c755b6461280eb6d2769c7f59d8e12fd4250f91e6ca28326",
            "birds.xml": "0f4ea547b2b3d538c8402662daf689e0d4520cc8b4f5ba113c2e7c01700f010f",
        },
    ),
    "cal500": (
        "CAL500: 502 songs by 68 features, each with some 26 of 174 tags",
        "Turnbull et al. 2008",
        {"all": (502, 68)},
        {
            "cal500.arff": "cfe6097ba5fd6e8584e54911ab9783dcab34e898446b7c9370c71d477eae56d3",
            "cal500.xml": "877e128531268d7661faa3e44f7bb43cbcda829c0895e49879168775b192728c",
        },
    ),
    "bibtex": (
        "Bibtex: 7,395 entries of references by 1,836 words, each with some of 159 tags",
        "Katakis et al. 2008",
        {"train": (4880, 1836), "test": (2515, 1836)},
        {
            "bibtex-train.arff": "8dcc9de6e0b2cebaec8c1f4fac78431adeeb73cfd3ab879b530a66d366e59174",
            "bibtex-test.arff": "9b03329cde64d3f994bdf7fbbac3f3b10fe185c311cb9ae725475f59c7f3f922",
            "bibtex.xml": "08fe20013c1e75dcf1888c185f5187c95e76495b8518ce289b4d3afce38d1232",
        },
    ),
    "delicious": (
        "Delicious: 16,105 pages by 500 words, each with some 19 of 983 tags",
        "Tsoumakas et al. 2008",
        {"train": (12920, 500), "test": (3185, 500)},
        {
            "delicious-train.arff": "030186cdb542ebdd32052fcdbb1ebe30115b3a22518c1b4b198c45eb827aebe1",
            "delicious-test.arff": "2dfb01723a819914b0ca83361177ed413ce3f2169851d9f228d4692915d63944",
            "delicious.xml": "4e0c0f93c7d86a39b9fca4aaefaa00e9428f2c80277732dfbf03ca48e2c14da2",
        },
    ),
}
"""Titles, sources, shapes of parts, and files with their SHA-256."""

for _known, (_title, _source, _shapes, _files) in _DATASETS.items():
    register_dataset(
        _known,
        partial(_read, _known),
        title=_title,
        licence=f"none stated by the Mulan project; cite {_source}",
        shapes=_shapes,
        addresses=[f"{ADDRESS}{_known}/"],
        files=[DataFile(name=name, sha256=sha256) for name, sha256 in _files.items()],
        folder=f"mulan/{_known}",
    )
