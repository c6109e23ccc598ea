from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from fewhot_papers.reproduction import measuring
from fewhot_papers.reproduction.iclr2019 import ENTRIES, fitting
from fewhot_papers.reproduction.iclr2019.grid import fit
from fewhot_papers.reproduction.measurements import Measurements, Row


@pytest.fixture
def digits(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Embedded digits in the place of the real files."""
    X, y = load_digits(return_X_y=True)
    loaded = SimpleNamespace(X=(X / 16).astype(np.float32)[:400], y=y[:400])
    monkeypatch.setattr(fitting, "dataset", lambda name, split, data_dir: loaded)
    return loaded


def small(data: str = "fashion_mnist", alpha: float = 0.1, n_units: int = 200, **changes: Any) -> dict[str, Any]:
    settings = dict(fit(data, alpha, n_units, 0, steps=200, quick=True).settings)
    return {
        **settings,
        "hidden": 20,
        "n_train": 200,
        "n_test": 100,
        "labels": [60] if settings["labels"] else [],
    } | changes


def test_a_large_sparse_fit_measures_what_any_figure_asks(digits):
    measured = fitting.fit_and_measure(small(steps=20), None)
    assert set(measured.numbers) >= {
        *("bound", "bound_relaxed", "bound_median", "training_objective", "bound_train"),
        *("posterior_rate", "active_share", "used", "always_on", "reconstruction_r2"),
        *("accuracy_sample_60", "accuracy_mean_60", "accuracy_map_60"),
        *("distance_ancestral", "distance_conditional", "distance_test", "agreement", "agreement_chance"),
    }
    assert {name: array.shape[0] for name, array in measured.arrays.items()} == {
        **{"original": 6, "code": 6, "reconstruction": 6},
        **{"ancestral": 36, "conditional": 48},
    }


def test_a_small_vae_measures_bounds_and_probes_only(digits):
    measured = fitting.fit_and_measure(small(alpha=1.0, n_units=8, steps=20), None)
    assert "accuracy_mean_60" in measured.numbers
    assert measured.numbers["posterior_rate"] == 1.0
    assert not set(measured.numbers) & {"bound_train", "distance_test"}
    assert not measured.arrays


def test_the_same_cell_gives_the_same_numbers(digits):
    one, two = (fitting.fit_and_measure(small(n_units=8, steps=20), None).numbers for _ in range(2))
    assert one == two


def test_the_recipe_is_the_published_one():
    vsc = fitting.estimator(small(), 64)
    assert (vsc.recipe, vsc.alpha, vsc.observation, vsc.n_iter_no_change) == ("iclr2019", 0.1, "unit-norm", None)
    assert (vsc.batch_size, vsc.learning_rate, vsc.max_steps) == (100, 1e-3, 200)


def test_vae_and_vsc_are_trained_alike(digits):
    vae, vsc = (fitting.estimator(small(alpha=alpha, steps=5), 64).fit(digits.X) for alpha in (1.0, 0.5))
    assert vae.module_.schedules == {}
    assert set(vsc.module_.schedules) == {"sharpness"}
    assert vae.module_.decoder.head.to_config() == vsc.module_.decoder.head.to_config()


def test_the_relaxed_bound_of_a_vae_is_its_bound(digits):
    vae = fitting.estimator(small(alpha=1.0, n_units=8, steps=50), 64).fit(digits.X)
    found = measuring.bounds(vae, digits.X)
    assert found["bound_relaxed"] == found["bound"] == pytest.approx(vae.score(digits.X))


def test_the_relaxed_bound_of_soft_gates_is_another_number(digits):
    vsc = fitting.estimator(small(alpha=0.1, n_units=8), 64).fit(digits.X)
    found = measuring.bounds(vsc, digits.X)
    assert found["bound_relaxed"] != pytest.approx(found["bound"], rel=1e-4)


def test_the_posterior_rate_is_the_mean_of_all_on_probabilities(digits):
    vsc = fitting.estimator(small(n_units=8, steps=50), 64).fit(digits.X)
    found = measuring.sparsity(vsc, digits.X)
    kept = vsc.codes(digits.X).p_active.sum() / (len(digits.X) * 8)
    assert kept <= found["posterior_rate"] <= kept + 0.01  # codes leave out rates below 0.01
    assert found["active_share"] == pytest.approx((vsc.transform(digits.X) != 0).sum() / (len(digits.X) * 8))


def test_perfect_reconstructions_explain_everything():
    X = np.random.default_rng(0).random((20, 5)).astype(np.float32)
    perfect = SimpleNamespace(transform=measuring.unit_norm, inverse_transform=lambda Z: Z)
    average = SimpleNamespace(
        transform=measuring.unit_norm, inverse_transform=lambda Z: np.repeat(Z.mean(0)[None], 20, 0)
    )
    assert measuring.explained(perfect, X) == pytest.approx(1.0)
    assert measuring.explained(average, X) == pytest.approx(0.0, abs=1e-6)


def test_copies_of_real_images_are_their_own_neighbours():
    images = np.eye(4, dtype=np.float32)
    distance, at = measuring.nearest(images[[2, 0]], images)
    assert at.tolist() == [2, 0]
    np.testing.assert_allclose(distance, 0, atol=1e-3)


def test_every_figure_can_be_drawn_from_quick_cells(digits):
    cells = {}
    for entry in ENTRIES:
        rows = []
        for cell in entry.cells(True):
            key = (cell.settings["alpha"], cell.settings["n_units"], bool(cell.settings["measure"]))
            if key not in cells:
                quick = {**cell.settings, "hidden": 10, "steps": 3, "n_train": 200, "n_test": 100, "labels": [60]}
                cells[key] = fitting.fit_and_measure(quick, None)
            made = cells[key]
            numbers = {name.replace("_60", f"_{n}"): v for name, v in made.numbers.items() for n in (100, 300)}
            rows.append(Row(cell.settings, numbers, made.arrays))
        figures = entry.draw(Measurements(rows)) if rows else {}
        assert entry.missing or figures, entry.id
        for figure in figures.values():
            assert all(axes.has_data() for axes in figure.axes), entry.id


@pytest.mark.parametrize("alpha", [1.0, 0.1])
def test_real_images_run_through_a_quick_cell(alpha: float):
    from fewhot_papers.reproduction.cells import dataset, digest_of

    folder = _data_folder()
    settings = {**fit("fashion_mnist", alpha, 200, 0, steps=200, quick=True).settings, "steps": 10, "hidden": 20}
    measured = fitting.fit_and_measure(settings, folder)
    assert dataset("fashion_mnist", "train", folder).X.shape == (60_000, 784)
    assert len(digest_of("fashion_mnist", folder)) == 64
    assert np.isfinite(measured.numbers["bound"])


def _data_folder() -> Path:
    import os

    folder = Path(os.environ.get("FEWHOT_DATA", "missing"))
    if not (folder / "fashion_mnist").is_dir():
        pytest.skip("the real files are not on this machine; set FEWHOT_DATA")
    return folder
