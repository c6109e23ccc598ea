"""Smiley: the faces are those of the equations, the sources follow their laws, and one seed decides all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fewhot.core.errors import InvalidParameterError
from fewhot.data import describe, load_dataset
from fewhot.metrics import source_correlation
from fewhot_papers.data import Smiley, smiley
from fewhot_papers.data.smiley import SOURCES, _draw

N = 20_000


@pytest.fixture(scope="module")
def faces() -> Smiley:
    return smiley(N)


def inside(sources: list[float], presence: list[bool], c: float, px: int, py: int) -> bool:
    """Say whether the pixel at column ``px`` and row ``py``, counted from 1, belongs to the face."""
    bowtie, hat, eyes, mouth = presence
    value = (px - 16.5) ** 2 + (py - 16.5) ** 2 <= 100
    if bowtie:
        v1, v2, v3, v4 = sources[:4]
        dx, dy = abs(px - (16.5 + 0.5 * v1)), abs(py - (29 + v2))
        half_width, half_height = (12 + 3 * v3) / 2, (5 + 2 * v4) / 2
        if 0 <= dx <= half_width and dy <= half_height * dx / half_width:
            value = True
    if hat:
        v1, v2, v3, v4, v5, v6 = sources[4:10]
        brim = max(2 + 2 * v4, 0)
        top = 6 + v2 - brim / 2
        if abs(px - 16.5 - v1) <= (15 + 3 * v3) / 2 and top <= py <= top + brim:
            value = True
        if abs(px - 16.5 - v1) <= (10 + 2 * v5) / 2 and top - (2 + v6) <= py <= top:
            value = True
    if eyes:
        v1, v2, v3 = sources[10:13]
        for centre in (16.5 - (4 + v1), 16.5 + (4 + v1)):
            if np.hypot(px - centre, py - (14 + v2)) <= 2 + v3:
                value = False
    if mouth:
        v1, v2, v3, v4, v5 = sources[13:18]
        x, y, half = 16 + c * v3, 22 + c * v4, (4 + v1) / 2
        if abs(px - x) <= half and abs(py - y) <= (2 + v2) / 2:
            value = False
        for near, below in ((0, v5), (1, 1.4 * v5)):
            beside = x + half + near <= px <= x + half + near + 1 or x - half - near - 1 <= px <= x - half - near
            if beside and y + below - 0.5 <= py <= y + below + 0.5:
                value = False
    return value


@pytest.mark.parametrize("mouth_std", [0.5, 0.25])
def test_every_pixel_is_where_the_equations_put_it(mouth_std: float) -> None:
    made = smiley(200, mouth_std=mouth_std, normalise=False, random_state=3)
    for face, sources, presence in zip(made.X, made.sources.tolist(), made.presence.tolist(), strict=True):
        expected = [[inside(sources, presence, mouth_std / 0.5, px, py) for px in range(1, 33)] for py in range(1, 33)]
        np.testing.assert_array_equal(face.reshape(32, 32), expected)


def test_attributes_are_where_a_face_has_them() -> None:
    plain = _draw(np.zeros((1, 18)), np.zeros((1, 4), dtype=bool), 1.0)[0]
    added = {}
    for place, attribute in enumerate(SOURCES):
        changed = _draw(np.zeros((1, 18)), np.arange(4)[None] == place, 1.0)[0] != plain
        rows, columns = np.nonzero(changed)
        added[attribute] = (rows.mean(), columns.mean())
        np.testing.assert_allclose(columns.mean(), 15.5, atol=0.51)
    assert added["hat"][0] < added["eyes"][0] < added["mouth"][0] < added["bowtie"][0]


@pytest.mark.parametrize("shift", [-2.5, -5.0])
def test_shapes_of_negative_size_are_empty(shift: float) -> None:
    sources = np.full((1, 18), shift)
    eyes = np.array([[False, False, True, False]])
    np.testing.assert_array_equal(_draw(sources, eyes, 1.0), _draw(sources, eyes & False, 1.0))


def test_a_mouth_bends_both_ways() -> None:
    smile, frown = np.zeros((2, 1, 18))
    smile[0, 17], frown[0, 17] = -1.0, 1.0
    mouth = np.array([[False, False, False, True]])
    heights = [
        np.nonzero(~_draw(face, mouth, 1.0)[0][18:26, 10:22])[0].mean() for face in (smile, np.zeros((1, 18)), frown)
    ]
    assert heights[0] < heights[1] < heights[2]


def test_attributes_are_there_half_of_the_time_and_do_not_know_of_each_other(faces: Smiley) -> None:
    standard_error = 0.5 / np.sqrt(N)
    assert np.abs(faces.presence.mean(axis=0) - 0.5).max() < 4 * standard_error
    between = np.corrcoef(faces.presence.T)[np.triu_indices(4, 1)]
    assert np.abs(between).max() < 4 / np.sqrt(N)


def test_sources_are_normal_where_their_attribute_is_there_and_zero_elsewhere(faces: Smiley) -> None:
    there = np.repeat(faces.presence, [4, 6, 3, 5], axis=1)
    assert (faces.sources[~there] == 0).all()
    for k in range(18):
        values = faces.sources[there[:, k], k].astype(np.float64)
        n = len(values)
        assert abs(values.mean()) < 4 * 0.5 / np.sqrt(n)
        assert abs(values.std() - 0.5) < 4 * 0.5 / np.sqrt(2 * n)
        assert abs(np.mean(np.abs(values) < 0.5) - 0.6827) < 4 * np.sqrt(0.6827 * 0.3173 / n)


def test_sources_do_not_know_of_each_other(faces: Smiley) -> None:
    between = np.corrcoef(faces.sources.T)[np.triu_indices(18, 1)]
    assert np.abs(between).max() < 4.5 * np.sqrt(2 / N)  # values of one attribute are there together


def test_the_mouth_moves_as_far_as_it_is_told() -> None:
    still, paper, code = (smiley(500, mouth_std=std, normalise=False) for std in (0.0, 0.5, 0.25))
    np.testing.assert_array_equal(still.sources, paper.sources)
    differs = [(still.X != moved.X).any(axis=1)[still.presence[:, 3]].mean() for moved in (code, paper)]
    assert 0 < differs[0] < differs[1]
    assert not (still.X != paper.X).any(axis=1)[~still.presence[:, 3]].any()


def test_rows_have_norm_1_unless_told(faces: Smiley) -> None:
    np.testing.assert_allclose(np.linalg.norm(faces.X, axis=1), 1, rtol=1e-5)
    plain = smiley(300, normalise=False)
    assert set(np.unique(plain.X)) == {0.0, 1.0}
    np.testing.assert_array_equal(plain.X, faces.X[:300] > 0)


def test_shapes_types_and_names(faces: Smiley) -> None:
    assert (faces.X.shape, faces.sources.shape, faces.presence.shape) == ((N, 1024), (N, 18), (N, 4))
    assert (faces.X.dtype, faces.sources.dtype, faces.presence.dtype) == (np.float32, np.float32, np.bool_)
    assert len(set(faces.source_names)) == 18
    assert [name.partition("_")[0] for name in faces.source_names] == ["bowtie"] * 4 + ["hat"] * 6 + ["eyes"] * 3 + [
        "mouth"
    ] * 5
    assert faces.image_shape == (32, 32)


def test_one_seed_decides_all() -> None:
    first, again, other = (smiley(50, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.sources, again.sources)
    assert not np.array_equal(first.sources, other.sources)
    assert first.seed == 1


def test_more_rows_leave_the_earlier_ones(faces: Smiley) -> None:
    few = smiley(1100)
    np.testing.assert_array_equal(few.X, faces.X[:1100])
    np.testing.assert_array_equal(few.sources, faces.sources[:1100])


def test_the_named_dataset_is_the_generator_with_two_seeds() -> None:
    test = load_dataset("smiley", split="test")
    np.testing.assert_array_equal(test.X, smiley(10_000, random_state=1).X)
    info = describe("smiley")
    assert (info.on_disk, info.files, info.image_shape) == (True, (), (32, 32))
    assert (info.shapes["train"], info.shapes["test"]) == ((60_000, 1024), (10_000, 1024))


def test_the_record_is_as_every_other_dataset(faces: Smiley) -> None:
    loaded = replace(faces, X=faces.X[:20]).loaded()
    assert (loaded.name, loaded.y, len(loaded), loaded.image_shape) == ("smiley", None, 20, (32, 32))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_rows": 0}, "n_rows is 0; it must be a whole number of at least 1"),
        ({"mouth_std": -1}, "mouth_std is -1; it must be a number at least 0 and at most 32"),
        ({"normalise": "yes"}, "normalise is 'yes'; it must be True or False"),
        ({"random_state": "x"}, "random_state is 'x'"),
    ],
)
def test_arguments_are_checked(options: dict, words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        smiley(**options)


def test_the_sources_of_faces_are_told_apart() -> None:
    faces = smiley(3000)
    found = source_correlation(faces.sources, faces.sources)
    assert found.best.tolist() == list(range(18))
    assert found.contrast > 0.9
