"""Texts from files, one at a time."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fewhot.core.errors import DataError, InvalidParameterError
from fewhot.data import stream_texts, text_dataset

TEXTS = ["few, but hot", "", 'a "quoted" caf\xe9', "last"]
printable = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters="\ufeff"), max_size=12
)


def as_csv(texts: list[str], separator: str = ",") -> str:
    quoted = ['"' + text.replace('"', '""') + '"' for text in texts]
    return "\n".join([f"id{separator}text", *(f"{i}{separator}{text}" for i, text in enumerate(quoted))]) + "\n"


def as_jsonl(texts: list[str]) -> str:
    return "\n".join(json.dumps({"id": i, "text": text}) for i, text in enumerate(texts)) + "\n"


WRITERS: dict[str, Callable[[list[str]], str]] = {
    ".txt": lambda texts: "\n".join(texts) + "\n",
    ".csv": as_csv,
    ".tsv": lambda texts: as_csv(texts, "\t"),
    ".jsonl": as_jsonl,
}
PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("packed", PACKERS)
@pytest.mark.parametrize("ending", WRITERS)
def test_texts_come_back_from_every_kind_of_file(tmp_path: Path, ending: str, packed: str) -> None:
    path = tmp_path / f"texts{ending}{packed}"
    path.write_bytes(PACKERS[packed](WRITERS[ending](TEXTS).encode()))
    assert list(stream_texts(path)) == TEXTS


@pytest.mark.parametrize("ending", WRITERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(texts=st.lists(printable, min_size=1, max_size=5))
def test_what_was_written_is_read(tmp_path: Path, ending: str, texts: list[str]) -> None:
    path = tmp_path / f"texts{ending}"
    path.write_text("\ufeff" + WRITERS[ending](texts), encoding="utf-8", newline="")
    assert list(stream_texts(path)) == texts


def test_a_cell_may_span_lines_and_a_column_have_a_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('title,body\r\nx,"one\r\ntwo"\r\n\r\ny,three\r\n')
    assert list(stream_texts(tmp_path / "a.csv", "body")) == ["one\ntwo", "three"]
    (tmp_path / "a.jsonl").write_text('{"body": "one"}\n\n{"body": "two"}')
    assert list(stream_texts(tmp_path / "a.jsonl", "body")) == ["one", "two"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_encodings_of_wide_letters_are_read(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.txt").write_bytes("one\u2028\r\ncaf\xe9\n".encode(encoding))
    assert list(stream_texts(tmp_path / "a.txt", encoding=encoding)) == ["one\u2028", "caf\xe9"]
    with gzip.open(tmp_path / "b.txt.gz", "wb") as file:
        file.write("one\ntwo\n".encode("utf-16"))
    assert list(stream_texts(tmp_path / "b.txt.gz")) == ["one", "two"]  # told by its mark
    (tmp_path / "c.txt").write_bytes(b"\xff\xfeo\x00\n")
    with pytest.raises(DataError, match=r"is not text in UTF-16"):
        list(stream_texts(tmp_path / "c.txt"))


def test_cells_may_be_long_and_separated_otherwise(tmp_path: Path) -> None:
    long = "word " * 40_000
    (tmp_path / "a.csv").write_text(f'id;review\n1;"{long}"\n2;"few; hot, so"\n')
    assert list(stream_texts(tmp_path / "a.csv", "review")) == [long, "few; hot, so"]
    assert csv.field_size_limit() == 131_072  # as it was
    (tmp_path / "b.csv").write_text("a;b,review\n1,few;hot\n")
    assert list(stream_texts(tmp_path / "b.csv", "review")) == ["few;hot"]


def test_other_encodings_may_be_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("caf\xe9\n".encode("latin-1"))
    assert list(stream_texts(tmp_path / "a.txt", encoding="latin-1")) == ["caf\xe9"]
    with pytest.raises(DataError, match=r"^Line 1 of .*a\.txt is not text in UTF-8; .* save it in UTF-8\.$"):
        list(stream_texts(tmp_path / "a.txt"))
    with pytest.raises(InvalidParameterError, match="encoding is 'klingon', which Python does not know"):
        list(stream_texts(tmp_path / "a.txt", encoding="klingon"))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.txt", b"", r"a\.txt has no texts; give a file with at least one\.$"),
        ("a.jsonl", b"\n", r"a\.jsonl has no texts; give a file with at least one\.$"),
        ("a.csv", b"", r"a\.csv has no texts; give a file with at least one\.$"),
        ("a.tsv", b"id\ttext\n", r"a\.tsv has no texts; give a file with at least one\.$"),
        (
            "a.csv",
            b"id,body\n1,few\n",
            r"has no column 'text'; its first line has 'id', 'body': name one by column=\.$",
        ),
        ("a.csv", b"id,text\n1,few,hot\n", r"^Line 2 of .* has 3 cells where the first line has 2; write it again"),
        ("a.csv", b'id,text\n1,"few\n', r"^Line 2 of .* cannot be read as a table \(unexpected end of data\); write"),
        ("a.jsonl", b'{"text": "few"}\n{"body": "hot"}', r"^Line 2 of .* has no field 'text' that is a string; give"),
        ("a.jsonl", b'["few"]', r"^Line 1 of .* has no field 'text' that is a string; give"),
        ("a.jsonl", b'{"text": "few', r"^Line 1 of .* is not JSON; write one object a line\.$"),
        (
            "a.txt.gz",
            gzip.compress(b"few\nhot\n" * 99, mtime=0)[:-9],
            r"a\.txt\.gz is cut off or damaged after line \d+; get it",
        ),
    ],
)
def test_what_cannot_be_read_is_told_in_a_sentence(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=reason):
        list(stream_texts(tmp_path / name))


def test_files_of_other_kinds_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.pdf is no file of texts by its name; give one that ends in \.txt, "):
        stream_texts(tmp_path / "a.pdf")
    with pytest.raises(DataError, match=r"a\.txt cannot be opened \(No such file or directory\); name a file"):
        list(stream_texts(tmp_path / "a.txt"))


def test_a_file_becomes_a_data_set_as_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"few hot\n\nfew\n"))
    data = text_dataset(stream_texts(tmp_path / "a.txt.gz"))
    assert [data.words(row) for row in range(3)] == [["few", "hot"], [], ["few"]]
