"""Images are images: arrays of pictures go in, pictures come out, and defaults reconstruct them better than PCA."""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import fewhot as fh
from fewhot import plots
from fewhot.cli.runs import read_rows
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.data import open_data
from tests.cli.commands import done, refused

from .faces import faces, gray

N_TEST = 360


def digits() -> np.ndarray:
    """Return small pictures as bytes, (1797, 8, 8), shuffled."""
    images = (load_digits().images * 255 / 16).round().astype(np.uint8)
    return images[np.random.default_rng(0).permutation(len(images))]


def colored(grey: np.ndarray) -> np.ndarray:
    """Return pictures (n, 8, 6, 3), each in a color of its own."""
    hues = np.random.default_rng(1).random((len(grey), 1, 1, 3))
    return (grey[:, :, 1:-1, None] * hues).astype(np.uint8)


def fvu_and_pca(model: Any, train: np.ndarray, test: np.ndarray) -> tuple[float, float]:
    """Return what the model leaves unexplained of pixels in [0, 1], and what as many principal axes do."""
    Z = model.transform(test)
    k = max(1, round(float((Z != 0).sum()) / Z.shape[0]))
    train, test = (images.reshape(len(images), -1) / 255 for images in (train, test))
    found = model.inverse_transform(Z).reshape(len(test), -1)
    pca = PCA(k, random_state=0).fit(train)
    whole = ((test - train.mean(0)) ** 2).sum()
    linear = pca.inverse_transform(pca.transform(test))
    return float(((found - test) ** 2).sum() / whole), float(((linear - test) ** 2).sum() / whole)


def quick(X: Any, **options: Any) -> fh.VSC:
    return fh.VSC(16, l0=3, max_steps=5, random_state=0, **options).fit(X)


def test_a_default_fit_of_pictures_reconstructs_better_than_principal_axes() -> None:
    images = digits()
    train, test = images[N_TEST:], images[:N_TEST]
    vsc = fh.VSC(l0=8, max_steps=600, random_state=0).fit(train)
    fvu, pca = fvu_and_pca(vsc, train, test)
    assert fvu < 0.7 * pca, (fvu, pca)  # 0.16 and 0.33; Bernoulli columns had 0.35


@pytest.mark.parametrize("shape", [(8, 8), (8, 8, 1), (8, 6, 3)])
def test_pictures_come_back_in_their_shape_and_range(shape: tuple[int, ...], tmp_path: Path) -> None:
    X = colored(digits()) if shape[-1] == 3 else digits().reshape(-1, *shape)
    vsc = quick(X)
    Z = vsc.transform(X[:5])
    vsc.save(tmp_path / "run")
    for model in (vsc, fh.load(tmp_path / "run")):
        assert model.image_shape_ == shape
        for made in (model.inverse_transform(Z), model.sample(5, 0), model.sample_like(X[:5], 0)):
            assert made.shape == (5, *shape)
            assert made.min() >= 0
            assert made.max() <= 1
        np.testing.assert_array_equal(model.transform(X[:5]).toarray(), Z.toarray())


def test_bytes_and_the_same_pixels_as_fractions_or_flat_are_one() -> None:
    X = digits()
    vsc = quick(X)
    Z = vsc.transform(X[:20]).toarray()
    for same in (X[:20] / 255, X[:20].reshape(20, -1), list(X[:20]), X[:20].astype(int), X[:20, ..., None]):
        np.testing.assert_allclose(vsc.transform(same).toarray(), Z, atol=1e-5)


def test_bytes_of_pictures_are_pixels() -> None:
    X = digits()
    assert quick(X).likelihood_ == "gaussian"
    assert quick(X > 100).likelihood_ == "bernoulli"
    own = quick(load_digits().images)
    assert own.inverse_transform(own.transform(load_digits().images[:50])).max() > 2  # in the units of the fit


def test_flat_bytes_that_spread_as_pixels_do_are_such_and_that_is_said(tmp_path: Path) -> None:
    X = digits()
    flat = X.reshape(len(X), -1)
    with pytest.warns(UserWarning, match=r"X holds bytes from 0 to 255, which are taken as pixels and divided by 255"):
        vsc = quick(flat)
    assert (vsc.likelihood_, vsc.image_shape_) == ("gaussian", None)
    vsc.save(tmp_path / "run")
    for model in (vsc, fh.load(tmp_path / "run")):
        Z = model.transform(flat[:20]).toarray()
        np.testing.assert_allclose(Z, quick(X).transform(X[:20]).toarray(), atol=1e-5)
        np.testing.assert_allclose(model.transform(flat[:20] / 255).toarray(), Z, atol=1e-5)
        assert model.inverse_transform(Z).shape == (20, 64)
        assert model.inverse_transform(Z).max() <= 1
    with pytest.raises(InvalidInputError, match=r"pixels up to 255, and the model was fitted on pixels in \[0, 1\]"):
        vsc.transform(flat.astype(float))


def test_bytes_that_are_counts_stay_counts() -> None:
    rng = np.random.default_rng(0)
    words = (rng.gamma(0.05, 40, (300, 64))).clip(0, 255).astype(np.uint8)  # heavy tails: most counts are 1 or 2
    assert words.max() > 128
    assert quick(words).likelihood_ == "negative-binomial"
    flat = digits().reshape(-1, 64)
    assert quick(flat.astype(int)).likelihood_ == "negative-binomial"
    assert quick(flat, likelihood="poisson").likelihood_ == "poisson"
    assert fh.NFA(4, max_steps=3, random_state=0).fit(flat).likelihood_ == "multinomial"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda X: X[:, :4], r"images of shape \(4, 8\), and the model was fitted on images of shape \(8, 8\)"),
        (lambda X: X.astype(float), r"pixels up to 255, and the model was fitted on pixels in \[0, 1\]"),
        (lambda X: X.astype(int) * 2, "whole-number pixels run from 0 to 255"),
        (lambda X: np.stack([X] * 3, axis=1), "channels come last"),
        (lambda X: [X[0], X[1, :4]], "resize them to one shape first"),
    ],
)
def test_other_pictures_are_refused_in_a_sentence(change: Any, sentence: str) -> None:
    X = digits()
    with pytest.raises(InvalidInputError, match=sentence):
        quick(X).transform(change(X))


def test_a_model_of_rows_refuses_pictures() -> None:
    X = digits().astype(int)
    with pytest.raises(InvalidInputError, match="fitted on rows that are no images"):
        quick(X.reshape(len(X), -1)).transform(X)


@pytest.mark.parametrize("name", ["VAE", "BetaTCVAE", "MATVAE", "HSVAE", "SDLGM", "GumbelVAE", "NFA"])
def test_every_model_takes_pictures(name: str) -> None:
    X = digits()[:200]
    model = getattr(fh, name)(n_components=8, max_steps=3, random_state=0).fit(X)
    Z = model.transform(X[:5])
    assert model.inverse_transform(Z).shape == model.sample(5).shape == (5, 8, 8)
    assert np.isfinite(model.score(X[:20]))
    assert model.partial_fit(X).image_shape_ == (8, 8)


def test_rows_and_pictures_are_read_by_what_the_last_fit_was() -> None:
    X = digits()[:200]
    vsc = quick(X)
    rows = X.reshape(200, -1)
    Z = vsc.transform(X[:20]).toarray()
    np.testing.assert_allclose(vsc.transform(sp.csr_array(rows[:20])).toarray(), Z, atol=1e-5)
    vsc.fit(sp.csr_array(rows.astype(float)))
    assert vsc.image_shape_ is None
    assert vsc.inverse_transform(vsc.transform(rows[:20].astype(float))).shape == (20, 64)


@pytest.mark.parametrize("shape", [(16, 9), (12, 12, 4)])
def test_convolutions_refuse_pictures_they_would_take_for_others(shape: tuple[int, ...]) -> None:
    X = np.random.default_rng(0).random((40, *shape))  # 16 x 9 = 12 x 12
    sentence = rf"square pictures of one or three channels, and the images are {'x'.join(map(str, shape))}; crop"
    with pytest.raises(InvalidParameterError, match=sentence):
        quick(X, encoder="conv", hidden_layer_sizes=(4,))


def test_figures_take_pictures_and_show_them_in_their_shape() -> None:
    X = colored(digits())[:200]
    vsc = quick(X)
    figures = {
        "reconstructions": plots.reconstructions(vsc, X, max_rows=2),
        "samples": plots.samples(vsc, X, max_rows=2),
        "traversals": plots.traversals(vsc, X[0], [0]),
        "units": plots.units(vsc, X, [0]),
        "interpolation": plots.interpolation(vsc, X[0], X[1]),
        "images": plots.images(vsc.sample(3)),
    }
    for name, figure in figures.items():
        drawn = [axes.images[0].get_array() for axes in figure.axes if axes.images]
        in_color = [picture for picture in drawn if picture.shape == (8, 6, 3)]
        assert len(in_color) >= len(drawn) - (name == "units") > 0, name  # what a unit adds is drawn by its brightness
    original = figures["reconstructions"].axes[0].images[0].get_array()
    np.testing.assert_allclose(original, X[0] / 255, atol=1e-6)


# ---------------------------------------------------------------------------------------------- the command line

SMALL = ["--l0", "8", "--hidden", "100", "--max-steps", "250", "--device", "cpu", "--quiet"]


def write(folder: Path, images: np.ndarray, people: np.ndarray, ending: str = "png") -> Path:
    """Write pictures to a folder a person."""
    for at, (image, person) in enumerate(zip(images, people, strict=True)):
        (folder / f"p{person}").mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / f"p{person}" / f"{at:04d}.{ending}")
    return folder


def number(run: Path, name: str) -> float:
    """Return one of the numbers of a run."""
    found = json.loads((run / "metrics.json").read_text())["numbers"]
    return next(entry["value"] for entry in found if entry["name"] == name)


def shown(run: Path, section: str) -> list[np.ndarray]:
    """Return the pictures in a section of a run's report, (h, w, 3), as a browser decodes them."""
    page = (run / "report.html").read_text()
    part = page[page.index(f'<section id="{section}"') :]
    found = re.findall(r'href="data:image/png;base64,([^"]+)"', part[: part.index("</section>")])
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")) for png in found]


def check_shown(run: Path, test: np.ndarray) -> None:
    """Check that a report shows pictures of the right shape, and that its originals are pictures of the test rows."""
    wanted = np.broadcast_to(test if test.ndim == 4 else test[..., None], (*test.shape[:3], 3)).astype(int)
    for section in ("units", "traversals", "reconstructions"):
        drawn = shown(run, section)
        assert len(drawn) >= 16
        assert {picture.shape[:2] for picture in drawn} == {test.shape[1:3]}
    drawn = shown(run, "reconstructions")
    for original, decoded in zip(drawn[::2], drawn[1::2], strict=True):
        apart = np.abs(wanted - original).max(axis=(1, 2, 3))
        assert apart.min() <= 1  # a level, by rounding
        near = np.abs(wanted[apart.argmin()] - decoded.astype(int)).mean()
        assert near < np.abs(wanted[apart.argmin()] - wanted.mean(0)).mean()


@pytest.fixture(scope="module")
def portraits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of 250 small faces in color, a folder a person."""
    return write(tmp_path_factory.mktemp("pictures") / "faces", *faces(250, 28, 20, n_people=5))


@pytest.fixture(scope="module")
def run(portraits: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run on them; look, do not change."""
    folder = tmp_path_factory.mktemp("runs") / "faces"
    done("fit", portraits, "--split", "train", *SMALL, "--out", folder)
    return folder


def test_a_folder_of_faces_is_coded_better_than_by_principal_axes(run: Path) -> None:
    assert number(run, "fvu") < 0.8 * number(run, "fvu_pca")  # 0.23 and 0.36 after so few steps
    assert number(run, "bound") > number(run, "reference_factors")


def test_the_report_of_a_folder_shows_its_pictures(run: Path, portraits: Path) -> None:
    test = open_data(portraits, "test")
    assert read_rows(run).judged.digest == test.digest
    check_shown(run, (test.X.reshape(-1, 28, 20, 3) * 255).round().astype(np.uint8))
    page = (run / "report.html").read_text()
    assert "pictures of 28 × 20 × 3" in page
    assert all(f">p{person}<" in page for person in range(5))


def test_new_pictures_are_read_as_those_of_the_fit(run: Path, tmp_path: Path) -> None:
    images, people = faces(20, 28, 20, n_people=2)
    write(tmp_path / "new", images, people)
    np.save(tmp_path / "new.npy", images[np.argsort(people, kind="stable")])  # in the order of the folder
    np.save(tmp_path / "flat.npy", images.reshape(20, -1)[np.argsort(people, kind="stable")])
    known = fh.load(run, device="cpu").transform(images[np.argsort(people, kind="stable")]).toarray()
    assert known.any()
    for name in ("new", "new.npy", "flat.npy"):
        done("encode", run, tmp_path / name, "--out", tmp_path / "codes.npz", "--force")
        np.testing.assert_allclose(sp.load_npz(tmp_path / "codes.npz").toarray(), known, atol=1e-4)
    assert "20 rows of new" in done("evaluate", run, tmp_path / "new", "--probe").stdout
    write(tmp_path / "other", faces(4, 30, 20)[0], np.zeros(4, dtype=int))
    sentence = refused("encode", run, tmp_path / "other", "--out", tmp_path / "codes.npz", "--force")
    assert "has 30x20 pixels, and the run was fitted on pictures of 28x20" in sentence
    np.save(tmp_path / "other.npy", images[:, :, :10])
    sentence = refused("encode", run, tmp_path / "other.npy", "--out", tmp_path / "codes.npz", "--force")
    assert "images of shape (28, 10, 3), and the model was fitted on images of shape (28, 20, 3)" in sentence


def test_samples_are_pictures_in_color(run: Path, tmp_path: Path) -> None:
    done("sample", run, "--n", "12", "--out", tmp_path / "s.npy")
    drawn = np.load(tmp_path / "s.npy")
    assert drawn.shape == (12, 28, 20, 3)
    skin, hair = drawn[:, 12:24, 8:12].mean(axis=(1, 2)), drawn[:, :, :2].mean(axis=(1, 2))
    assert (skin[:, 0] > skin[:, 2] + 0.1).all()  # faces are warm, what is around them is gray
    assert (np.ptp(hair, axis=1) < 0.1).all()
    assert "12 pictures of 28 x 20 pixels" in done("sample", run, "--n", "12", "--out", tmp_path / "s.png").stdout
    sheet = np.asarray(Image.open(tmp_path / "s.png").convert("RGB")).astype(int)
    assert (np.ptp(sheet, axis=-1) > 40).mean() > 0.1


@pytest.mark.parametrize("kind", ["folder", "npy", "npz", "flat npy", "flat npz", "flat csv", "flat parquet"])
def test_every_kind_of_file_gives_the_same_pixels(kind: str, tmp_path: Path) -> None:
    images = gray(faces(30, 28, 20)[0])
    wanted = images.reshape(30, -1) / 255
    flat, path = images.reshape(30, -1), tmp_path / f"x.{kind.split()[-1]}"
    if kind == "folder":
        write(path, images, np.zeros(30, dtype=int))
    elif kind.endswith("npy"):
        np.save(path, flat if "flat" in kind else images)
    elif kind.endswith("npz"):
        np.savez(path, X=flat if "flat" in kind else images)
    elif kind.endswith("csv"):
        np.savetxt(path, flat, fmt="%d", delimiter=",")
    else:
        pytest.importorskip("polars").DataFrame(flat).write_parquet(path)
    found = open_data(path, image_shape="28x20" if "flat" in kind else None)
    assert found.image_shape == (28, 20)
    np.testing.assert_allclose(found.X, wanted, atol=1e-6)


def test_flat_rows_are_shown_as_pictures_when_told(tmp_path: Path) -> None:
    images = gray(faces(60, 28, 20)[0])
    np.savetxt(tmp_path / "x.csv", images.reshape(60, -1), fmt="%d", delimiter=",")
    quickly = ["--l0", "3", "--n-components", "16", "--hidden", "16", "--max-steps", "20", "--quiet"]
    done("fit", tmp_path / "x.csv", "--image-shape", "28x20", *quickly, "--out", tmp_path / "run")
    record = json.loads((tmp_path / "run" / "data.json").read_text())
    assert (record["image_shape"], record["asked_image_shape"]) == ([28, 20], "28x20")
    assert fh.load(tmp_path / "run", device="cpu").image_shape_ == (28, 20)
    assert {picture.shape for picture in shown(tmp_path / "run", "reconstructions")} == {(28, 20, 3)}
    assert read_rows(tmp_path / "run").train.image_shape == (28, 20)  # as for a report that is written again
    done("encode", tmp_path / "run", tmp_path / "x.csv", "--out", tmp_path / "codes.npz")
    codes, known = sp.load_npz(tmp_path / "codes.npz"), sp.load_npz(tmp_path / "run" / "codes.npz")
    np.testing.assert_allclose(codes.toarray(), known.toarray(), atol=1e-4)


def test_pictures_of_several_sizes_are_brought_to_the_one_that_is_asked_for(tmp_path: Path) -> None:
    images = faces(6, 40, 32)[0]
    write(tmp_path / "x", images[:4], np.zeros(4, dtype=int))
    write(tmp_path / "x", images[4:, :, :20], np.ones(2, dtype=int))
    sentence = refused("fit", tmp_path / "x", "--out", tmp_path / "run")
    assert "2 sizes, height x width: 40x32 (4 of 6, such as p0/0000.png), 40x20 (2 of 6" in sentence
    assert sentence.endswith("add --image-shape 40x32 to bring all to one size.")
    quickly = ["--l0", "2", "--n-components", "4", "--hidden", "8", "--max-steps", "3", "--quiet"]
    done("fit", tmp_path / "x", "--image-shape", "20x16", *quickly, "--out", tmp_path / "run")
    assert fh.load(tmp_path / "run", device="cpu").image_shape_ == (20, 16, 3)
    done("encode", tmp_path / "run", tmp_path / "x", "--out", tmp_path / "codes.npz")  # resizes, as the fit did


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:A step takes")  # on a slow machine
def test_the_first_command_on_faces_of_112_by_92(tmp_path: Path) -> None:
    images, people = faces(400)
    write(tmp_path / "faces", gray(images), people)
    done("fit", tmp_path / "faces", "--l0", "8", "--split", "train", "--quiet", "--out", tmp_path / "run")
    assert number(tmp_path / "run", "fvu") < 0.6 * number(tmp_path / "run", "fvu_pca")
    drawn = shown(tmp_path / "run", "reconstructions")
    test = open_data(tmp_path / "faces", "test").X.reshape(-1, 112, 92)
    assert np.abs(test[..., None] * 255 - drawn[0]).max(axis=(1, 2, 3)).min() <= 1


@pytest.mark.slow
def test_the_first_command_on_clothes_in_color(tmp_path: Path) -> None:
    folder = os.environ.get("FEWHOT_DATA")
    if folder is None:
        pytest.skip("FEWHOT_DATA names no folder of real pictures")
    content = gzip.decompress((Path(folder) / "fashion_mnist" / "t10k-images-idx3-ubyte.gz").read_bytes())
    clothes = np.frombuffer(content, np.uint8, offset=16).reshape(-1, 28, 28)[:2000, :, 4:24]
    hues = np.random.default_rng(0).uniform(0.3, 1, (2000, 1, 1, 3))
    np.save(tmp_path / "clothes.npy", (clothes[..., None] * hues).astype(np.uint8))
    run = tmp_path / "run"
    done("fit", tmp_path / "clothes.npy", "--l0", "8", "--split", "train", "--quiet", "--out", run)
    assert number(run, "fvu") < number(run, "fvu_pca")
    assert {picture.shape for picture in shown(run, "reconstructions")} == {(28, 20, 3)}
