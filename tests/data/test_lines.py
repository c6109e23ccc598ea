"""Lines of text files: compressions, encodings, and files that are cut off."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest

from fewhot.core.errors import DataError
from fewhot.data.lines import lines_of

TEXT = "one\ntwo\r\n\nfour"
PACK = {"plain": lambda content: content, "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("pack", PACK.values(), ids=PACK)
def test_lines_have_numbers_and_no_ends(tmp_path: Path, pack) -> None:
    (tmp_path / "file").write_bytes(pack(TEXT.encode()))
    assert list(lines_of(tmp_path / "file")) == [(1, "one"), (2, "two"), (3, ""), (4, "four")]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_file_that_is_cut_off_says_so(tmp_path: Path, pack) -> None:
    content = pack("".join(f"line {i}\n" for i in range(5000)).encode())
    (tmp_path / "file").write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=r"file is cut off or damaged after line \d+; get it again\.$"):
        list(lines_of(tmp_path / "file"))


def test_the_line_in_another_encoding_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes("plain\ncafé\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"^Line 2 of .*file is not text in UTF-8; get the published file, or save it"):
        list(lines_of(tmp_path / "file"))
    assert [line for _, line in lines_of(tmp_path / "file", "latin-1")] == ["plain", "café"]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere cannot be opened \(No such file or directory\); name a file"):
        list(lines_of(tmp_path / "nowhere"))
