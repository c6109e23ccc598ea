"""The catalogue: names, places, splits and checks."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from fewhot.core.errors import DataError, DuplicateNameError, InvalidParameterError, UnknownNameError
from fewhot.core.plugins import plugins
from fewhot.data import (
    SPLITS,
    DataFile,
    Loaded,
    Table,
    cache_folder,
    catalogue,
    dataset_names,
    describe,
    fetch_dataset,
    forget_dataset,
    load_dataset,
    register_dataset,
)

from .server import Server

N_TRAIN, N_TEST = 200, 50
PARTS = {
    "train.bin.gz": np.arange(N_TRAIN * 3, dtype=np.float32).tobytes(),
    "test.bin.gz": np.arange(N_TEST * 3, dtype=np.float32).tobytes(),
}
FILES = [
    DataFile(name=name, sha256=hashlib.sha256(content).hexdigest(), part=name.partition(".")[0])
    for name, content in PARTS.items()
]


def read(part: str, files: Mapping[str, Path]) -> tuple[np.ndarray, np.ndarray]:
    content = files[f"{part}.bin.gz"].read_bytes()
    content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    X = np.frombuffer(content, np.float32).reshape(-1, 3)
    return X, np.arange(len(X)) % 2


@pytest.fixture
def remote(server: Server, cache: Path) -> Iterator[Server]:
    """Register a dataset "remote" that the server holds."""
    server.files = {f"/{name}": gzip.compress(content) for name, content in PARTS.items()}
    register_dataset(
        "remote",
        read,
        title="A small one",
        licence="public domain",
        shapes={"train": (N_TRAIN, 3), "test": (N_TEST, 3)},
        addresses=[server.url],
        files=FILES,
        image_shape=(1, 3),
    )
    yield server
    forget_dataset("remote")


def put(folder: Path, *, plain: bool = False) -> Path:
    for name, content in PARTS.items():
        path = folder / "remote" / (name.removesuffix(".gz") if plain else name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if plain else gzip.compress(content, compresslevel=1))
    return folder


def test_the_catalogue_lists_its_names() -> None:
    assert sorted(set(dataset_names()) - set(plugins("fewhot.datasets"))) == [
        *("bibtex", "birds", "cal500", "delicious", "digits", "emotions", "fashion_mnist", "mnist"),
        *("movielens_100k", "movielens_1m", "movielens_1m_implicit", "newsgroups_nvdm", "newsgroups_posts", "planted"),
    ]


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let another package have the dataset "added"; return what it was asked for."""
    asked: list[str] = []

    def register() -> None:
        asked.append("added")
        register_dataset("added", read_two, title="Two", licence="x", shapes={"all": (2, 1)})

    def read_two(part: str, files: Mapping[str, Path]) -> tuple[np.ndarray, None]:
        return np.ones((2, 1)), None

    point = SimpleNamespace(name="added", dist=None, load=lambda: register)
    monkeypatch.setattr(catalogue, "plugins", lambda group: {"added": point})
    monkeypatch.setattr(catalogue, "_ENTRIES", dict(catalogue._ENTRIES))
    return asked


def test_a_dataset_of_another_package_is_loaded_by_its_name(added: list[str]) -> None:
    assert "added" in dataset_names()
    assert added == []
    assert load_dataset("added", split="all").X.tolist() == [[1], [1]]
    assert describe("added").title == "Two"
    assert added == ["added"]


def test_a_name_typed_wrong_is_answered_with_the_right_one() -> None:
    with pytest.raises(
        UnknownNameError, match=r"^No dataset is called 'mnits'\. Did you mean 'mnist'\? Known: bibtex, birds, "
    ):
        load_dataset("mnits")


def test_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(DuplicateNameError, match=r"^The dataset name 'digits' is taken by Handwritten digits"):
        register_dataset("digits", read, title="x", licence="x", shapes={"all": (1, 1)})
    assert describe("digits").image_shape == (8, 8)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (
            {"shapes": {"train": (1, 1)}},
            r"shapes has the parts \['train'\]; give 'train' and 'test', with published validation rows 'fit', "
            r"'validation' and 'test', or 'all' alone",
        ),
        ({"files": [DataFile(name="a", sha256="abc")]}, "The SHA-256 of a is 'abc'; give 64 hexadecimal digits"),
        ({"addresses": ["ftp://x"]}, "must begin with http:// or https://"),
        ({"feature_names": ["a", "b"]}, "feature_names has 2 names for 1 columns; give one name a column"),
        ({"shapes": {"train": (1, 1), "test": (1, 1)}, "n_test": 1}, "the test rows are published; leave n_test out"),
        (
            {"shapes": {"fit": (1, 1), "validation": (1, 1), "test": (1, 1)}, "n_validation": 1},
            "n_validation is 1, and the validation rows are published; leave n_validation out",
        ),
    ],
)
def test_a_registration_is_checked(wrong: dict, words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        register_dataset("wrong", read, **{"title": "x", "licence": "x", "shapes": {"all": (1, 1)}, **wrong})
    assert "wrong" not in dataset_names()


def test_a_remote_dataset_is_fetched_once_into_the_cache(remote: Server, cache: Path) -> None:
    first, second = load_dataset("remote"), load_dataset("remote")
    np.testing.assert_array_equal(first.X, np.arange(N_TRAIN * 3, dtype=np.float32).reshape(-1, 3))
    assert first.digest == second.digest
    assert [path for path, _ in remote.requests] == ["/train.bin.gz"]
    assert (cache / "remote" / "train.bin.gz").is_file()


def test_a_split_fetches_the_files_it_needs(remote: Server, cache: Path) -> None:
    assert len(load_dataset("remote", split="test")) == N_TEST
    assert [path for path, _ in remote.requests] == ["/test.bin.gz"]
    assert set(fetch_dataset("remote")) == set(PARTS)


def test_progress_reaches_the_caller(remote: Server) -> None:
    told: list[str] = []
    load_dataset("remote", split="all", progress=lambda name, done, total: told.append(name))
    assert set(told) == set(PARTS)


@pytest.mark.parametrize("plain", [False, True], ids=["compressed", "plain"])
def test_data_dir_comes_before_the_network(remote: Server, tmp_path: Path, plain: bool) -> None:
    loaded = load_dataset("remote", data_dir=put(tmp_path / "mine", plain=plain))
    assert len(loaded) == N_TRAIN
    assert remote.requests == []


def test_the_environment_comes_after_data_dir_and_before_the_cache(
    remote: Server, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEWHOT_DATA", str(put(tmp_path / "environment")))
    put(cache)
    assert describe("remote").folder == tmp_path / "environment" / "remote"
    assert describe("remote", put(tmp_path / "mine")).folder == tmp_path / "mine" / "remote"
    monkeypatch.setenv("FEWHOT_DATA", str(tmp_path / "nowhere"))
    assert describe("remote").folder == cache / "remote"


def test_an_environment_that_names_no_folder_is_refused_before_a_download(
    remote: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEWHOT_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"^\$FEWHOT_DATA is .*nowhere', which is no folder; .* or unset it\.$"):
        load_dataset("remote")
    assert not remote.requests


def test_a_data_dir_without_the_file_falls_through(remote: Server, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    assert len(load_dataset("remote", data_dir=tmp_path / "mine")) == N_TRAIN
    assert len(remote.requests) == 1


def test_a_data_dir_that_is_no_folder_is_refused(remote: Server, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"^data_dir is .*nowhere', which is no folder; name the folder that holds remote/\.$"
    ):
        load_dataset("remote", data_dir=tmp_path / "nowhere")


def test_a_file_of_the_users_own_with_other_content_is_refused_and_kept(remote: Server, tmp_path: Path) -> None:
    folder = put(tmp_path / "mine")
    bad = folder / "remote" / "train.bin.gz"
    bad.write_bytes(gzip.compress(b"other"))
    with pytest.raises(
        DataError, match=r"train\.bin\.gz is not the published file \(SHA-256 .*\); replace it, or remove"
    ):
        load_dataset("remote", data_dir=folder)
    assert bad.exists()
    assert remote.requests == []


def test_a_damaged_file_in_the_cache_is_fetched_again(remote: Server, cache: Path) -> None:
    put(cache)
    (cache / "remote" / "train.bin.gz").write_bytes(b"damaged")
    assert len(load_dataset("remote")) == N_TRAIN
    assert len(remote.requests) == 1


def test_without_download_the_places_are_named(remote: Server, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(DataError) as caught:
        load_dataset("remote", data_dir=tmp_path / "mine", download=False)
    message = str(caught.value)
    assert message.startswith("train.bin.gz of remote is not on disk (looked in ")
    assert str(tmp_path / "mine" / "remote") in message
    assert str(cache / "remote") in message
    assert remote.requests == []


def test_a_dataset_without_an_address_says_so(cache: Path) -> None:
    register_dataset("by-hand", read, title="x", licence="x", shapes={"all": (1, 1)}, files=[FILES[0]])
    try:
        with pytest.raises(DataError, match="get it by hand, for it has no public address"):
            fetch_dataset("by-hand")
    finally:
        forget_dataset("by-hand")


@pytest.fixture
def pictures(tmp_path: Path, cache: Path) -> Iterator[Path]:
    """Register a dataset "pictures" of a file and a folder that only people can get, and return where they belong."""
    register_dataset(
        "pictures",
        lambda part, files: (np.full((len(part), 2), len(list(files["many"].iterdir()))), None),
        title="x",
        licence="x",
        shapes={"fit": (3, 2), "validation": (10, 2), "test": (4, 2)},
        files=[DataFile(name="list.txt", sha256=hashlib.sha256(b"a list").hexdigest())],
        folders=["many"],
        page="https://example.org/pictures",
    )
    place = tmp_path / "mine" / "pictures"
    place.mkdir(parents=True)
    yield place
    forget_dataset("pictures")


def test_a_folder_is_found_beside_the_files(pictures: Path) -> None:
    (pictures / "list.txt").write_bytes(b"a list")
    (pictures / "many").mkdir()
    (pictures / "many" / "1.jpg").touch()
    assert fetch_dataset("pictures", pictures.parent)["many"] == pictures / "many"
    assert load_dataset("pictures", "fit", pictures.parent).X.tolist() == [[1, 1]] * 3
    info = describe("pictures", pictures.parent)
    assert (info.on_disk, info.folder, info.folders) == (True, pictures, ("many",))


@pytest.mark.parametrize(("there", "missing"), [([], "list.txt"), (["list.txt"], "many/")])
def test_what_must_be_got_by_hand_is_said_whole(pictures: Path, there: list[str], missing: str) -> None:
    for name in there:
        (pictures / name).write_bytes(b"a list")
    assert not describe("pictures", pictures.parent).on_disk
    with pytest.raises(DataError) as caught:
        load_dataset("pictures", data_dir=pictures.parent)
    message = str(caught.value)
    assert message.startswith(f"{missing} of pictures is not on disk (looked in {pictures}, ")
    assert "(from https://example.org/pictures put list.txt and many/ there)" in message


def test_published_validation_rows_stay(pictures: Path) -> None:
    (pictures / "list.txt").write_bytes(b"a list")
    (pictures / "many").mkdir()
    lengths = {split: len(load_dataset("pictures", split, pictures.parent)) for split in SPLITS}
    assert lengths == {"train": 13, "validation": 10, "fit": 3, "test": 4, "all": 17}
    assert lengths == {split: shape[0] for split, shape in describe("pictures").shapes.items()}


def test_what_is_known_is_described(remote: Server, tmp_path: Path) -> None:
    info = describe("remote")
    assert (info.title, info.licence, info.address) == ("A small one", "public domain", remote.url)
    assert (info.on_disk, info.folder) == (False, None)
    assert describe("remote", put(tmp_path)).on_disk
    assert {split: shape[0] for split, shape in info.shapes.items()} == {
        split: len(load_dataset("remote", split=split)) for split in SPLITS
    }


def test_published_parts_stay_and_validation_is_cut_from_train(remote: Server) -> None:
    rows = {split: {tuple(row) for row in load_dataset("remote", split=split).X.tolist()} for split in SPLITS}
    assert len(rows["train"]) == N_TRAIN
    assert rows["validation"] < rows["train"]
    assert rows["fit"] == rows["train"] - rows["validation"]
    assert 0 < len(rows["validation"]) < N_TRAIN // 4
    assert len(load_dataset("remote", split="all")) == N_TRAIN + N_TEST


def test_labels_follow_their_rows(remote: Server) -> None:
    for split in ("validation", "fit", "test"):
        loaded = load_dataset("remote", split=split)
        np.testing.assert_array_equal(loaded.y, loaded.X[:, 0] // 3 % 2)


def test_every_split_has_a_digest_of_its_own(remote: Server) -> None:
    assert len({load_dataset("remote", split=split).digest for split in SPLITS}) == len(SPLITS)


def test_an_unknown_split_is_answered_with_the_known_ones() -> None:
    with pytest.raises(InvalidParameterError, match=r"split is 'dev'; it must be one of 'train', 'validation', 'fit'"):
        load_dataset("digits", split="dev")


def test_a_reader_must_keep_its_promise(cache: Path) -> None:
    register_dataset(
        "liar", lambda part, files: (np.ones((3, 2)), None), title="x", licence="x", shapes={"all": (9, 2)}
    )
    try:
        with pytest.raises(DataError, match=r"The part 'all' of liar has shape \(3, 2\) where \(9, 2\) is published"):
            load_dataset("liar")
    finally:
        forget_dataset("liar")


def test_sparse_datasets_stay_sparse() -> None:
    matrix = sp.random_array((40, 30), density=0.1, rng=0)
    register_dataset("sparse", lambda part, files: (matrix, None), title="x", licence="x", shapes={"all": (40, 30)})
    try:
        loaded = load_dataset("sparse")
    finally:
        forget_dataset("sparse")
    assert isinstance(loaded.X, sp.csr_array)
    assert loaded.X.dtype == np.float32


WORDS = {"train": ["iris", "rose", "tulip", "iris"], "test": ["rose", "tulip"], "all": ["rose", "iris"]}


def _flowers(parts: Sequence[str], split: str, **names: Any) -> Loaded:
    shapes = {part: (len(WORDS[part]), 3) for part in parts}
    about: Any = {"title": "x", "licence": "x", "shapes": shapes, **names}
    register_dataset("flowers", lambda part, files: (np.ones((len(WORDS[part]), 3)), WORDS[part]), **about)
    try:
        return load_dataset("flowers", split=split)
    finally:
        forget_dataset("flowers")


def _counts(**about: Any) -> None:
    def read_counts(part: str, files: Mapping[str, Path]) -> Table:
        X = sp.csr_array(np.arange(300, dtype=np.float64).reshape(100, 3))
        return Table(X=X, y=np.arange(100) % 2, feature_names=["a", "b", "c"], label_names=["no", "yes"])

    register_dataset("counts", read_counts, **{"title": "x", "licence": "x", "shapes": {"all": (None, 3)}, **about})


@pytest.fixture
def forgotten() -> Iterator[None]:
    yield
    forget_dataset("counts")


@pytest.mark.usefixtures("forgotten")
def test_a_table_brings_its_names() -> None:
    _counts()
    loaded = load_dataset("counts", split="all")
    assert (loaded.feature_names, loaded.label_names) == (["a", "b", "c"], ["no", "yes"])
    assert (loaded.X.dtype, loaded.y.tolist()[:3]) == (np.float32, [0, 1, 0])


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize("sizes", [{}, {"n_test": 30, "n_validation": 7}, {"n_test": 30}])
def test_rows_that_are_known_after_reading_are_split_like_others(sizes: dict[str, int]) -> None:
    _counts(**sizes)
    rows = {split: set(load_dataset("counts", split=split).X.toarray()[:, 0].tolist()) for split in SPLITS}
    assert rows["train"] | rows["test"] == rows["all"]
    assert rows["validation"] | rows["fit"] == rows["train"]
    assert (len(rows["all"]), len(rows["train"] & rows["test"]), len(rows["fit"] & rows["validation"])) == (100, 0, 0)
    assert len(rows["test"]) == sizes.get("n_test", len(rows["test"]))
    described = describe("counts").shapes
    assert described["all"] == (None, 3)
    assert described["test"] == (sizes.get("n_test"), 3)
    forget_dataset("counts")
    _counts(**sizes, shapes={"all": (100, 3)})
    assert {split: shape[0] for split, shape in describe("counts").shapes.items()} == {
        split: len(found) for split, found in rows.items()
    }


@pytest.mark.usefixtures("forgotten")
def test_so_many_training_rows_may_be_for_validation() -> None:
    _counts(shapes={"train": (100, 3), "test": (100, 3)}, n_validation=7)
    assert len(load_dataset("counts", split="validation")) == 7
    assert len(load_dataset("counts", split="fit")) == 93
    assert describe("counts").shapes["fit"] == (93, 3)


@pytest.fixture
def unchecked(server: Server, cache: Path, tmp_path: Path) -> Iterator[Path]:
    """Register a dataset of a file without a checksum, and return the folder it belongs to."""
    server.files = {"/numbers.txt": b"1 2\n"}
    register_dataset(
        "unchecked",
        lambda part, files: (np.loadtxt(files["numbers.txt"], ndmin=2), None),
        title="x",
        licence="x",
        shapes={"all": (None, None)},
        addresses=[server.url],
        files=[DataFile(name="numbers.txt", sha256=None)],
        folder="family/member",
        page="https://example.org/numbers",
    )
    yield tmp_path / "mine" / "family" / "member"
    forget_dataset("unchecked")


def test_a_file_without_a_checksum_is_never_fetched(unchecked: Path, server: Server) -> None:
    with pytest.raises(
        DataError, match=r"for it has no published checksum \(from https://example\.org/numbers put num"
    ):
        load_dataset("unchecked")
    assert not server.requests


@pytest.mark.parametrize("name", ["numbers.txt", "numbers.txt.gz"])
def test_a_dataset_may_lie_in_a_folder_of_another_name(unchecked: Path, name: str) -> None:
    unchecked.mkdir(parents=True)
    text = b"1 2\n3 4\n"
    (unchecked / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    assert load_dataset("unchecked", "all", data_dir=unchecked.parents[1]).X.tolist() == [[1, 2], [3, 4]]
    assert describe("unchecked", unchecked.parents[1]).folder == unchecked


def test_names_of_columns_and_words_of_labels_are_kept() -> None:
    flowers = _flowers(["all"], "all", feature_names=["a", "b", "c"])
    assert flowers.feature_names == ["a", "b", "c"]
    assert (flowers.y.tolist(), flowers.label_names) == ([1, 0], ["iris", "rose"])


def test_a_word_has_the_same_number_in_every_part() -> None:
    known = ["tulip", "rose", "iris"]
    for split, y in (("train", [2, 1, 0, 2]), ("test", [1, 0]), ("all", [2, 1, 0, 2, 1, 0])):
        flowers = _flowers(["train", "test"], split, label_names=known)
        assert (flowers.y.tolist(), flowers.label_names) == (y, known)


@pytest.mark.parametrize("names", [{}, {"label_names": ["iris", "rose"]}])
def test_a_word_that_other_parts_might_number_otherwise_is_refused(names: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"the label '\w+', which is not in label_names"):
        _flowers(["train", "test"], "test", **names)


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {"FEWHOT_CACHE": "/c"}, Path("/c")),
        ("linux", {"XDG_CACHE_HOME": "/x"}, Path("/x/fewhot")),
        ("linux", {}, Path("/somewhere/.cache/fewhot")),
        ("darwin", {}, Path("/somewhere/Library/Caches/fewhot")),
        ("win32", {"LOCALAPPDATA": "/local"}, Path("/local/fewhot/Cache")),
    ],
)
def test_the_cache_is_where_the_system_keeps_caches(
    platform: str, environment: dict[str, str], expected: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FEWHOT_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/somewhere", **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", platform)
    assert cache_folder() == expected


def test_texts_stay_with_their_rows_in_every_split() -> None:
    def read(part: str, files: Mapping[str, Path]) -> Table:
        return Table(X=np.arange(20.0)[:, None], texts=[f"text {row}" for row in range(20)])

    register_dataset("some_texts", read, title="Texts", licence="none", shapes={"all": (20, 1)})
    try:
        for split in ("train", "validation", "fit", "test", "all"):
            loaded = load_dataset("some_texts", split)
            assert loaded.texts == [f"text {row:g}" for row in np.asarray(loaded.X)[:, 0]]
    finally:
        forget_dataset("some_texts")
    assert load_dataset("digits", "test").texts is None
