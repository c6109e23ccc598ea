from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from fewhot_papers.reproduction.aistats2018 import users
from fewhot_papers.reproduction.aistats2018.recommendation import TABLE_2, chosen, paired
from fewhot_papers.reproduction.measurements import Measurements, Row
from fewhot_papers.reproduction.verdicts import CHANGED, NOT_REPRODUCED, Progressed, decide

LIKE = {
    "popularity": (0.23, 0.23), "WMF": (0.484, 0.484), "SLIM": (0.475, 0.475), "CDAE": (0.475, 0.475),
    "EASE": (0.484, 0.484), "Mult-VAE": (0.45, 0.45), "2-ψ(x)-norm": (0.43, 0.435), "2-ψ*-norm": (0.44, 0.45),
    "2-ψ(x)-tfidf": (0.44, 0.45), "2-ψ*-tfidf": (0.45, 0.46), "NFA, tuned": (0.478, 0.47),
}  # fmt: skip


def rows(changes: dict[str, tuple[float, float]] | None = None) -> list[Row]:
    """A cell's first option is best on validation users, and another one on test users."""
    measured, levels = [], LIKE | (changes or {})
    seen: dict[tuple[str, str, int], int] = {}
    for cell in TABLE_2.cells(False):
        s = cell.settings
        key = s["data"], s["model"], s["seed"]
        place = seen[key] = seen.get(key, -1) + 1
        rng = np.random.default_rng([s["seed"], 0])
        user = rng.normal(0, 0.2, 500)  # users are easy or hard for all models
        numbers, arrays = {}, {}
        for suffix, level in zip(("", "_refined"), levels[s["model"]], strict=True):
            values = level + user + 0.3 * (place == 1) + rng.normal(0, 0.01, 500)
            numbers |= {f"validation{suffix}": level - 0.01 * place, f"ndcg_100{suffix}": float(values.mean())}
            arrays[f"users{suffix}"] = values
        measured.append(Row(s, numbers, arrays))
    return measured


def verdict(measured: list[Row]) -> str:
    return decide(TABLE_2, Measurements(measured), Progressed(len(measured), len(measured)), quick=False).verdict


def test_an_order_like_the_published_one_is_reproduced_with_the_stand_in() -> None:
    assert verdict(rows()) == CHANGED


@pytest.mark.parametrize(
    "changes",
    [{"2-ψ*-tfidf": (0.43, 0.43)}, {"Mult-VAE": (0.47, 0.47)}, {"NFA, tuned": (0.465, 0.46)}],
    ids=["no gain", "Mult-VAE is better", "EASE is far ahead"],
)
def test_each_rule_decides(changes: dict[str, tuple[float, float]]) -> None:
    assert verdict(rows(changes)) == NOT_REPRODUCED


def test_options_are_chosen_on_validation_users_alone() -> None:
    measured = Measurements(rows()).where(data=users.JUDGED)
    assert [row.numbers["validation"] for row in chosen(measured, "EASE")] == [0.484] * 3
    assert paired(measured, ("EASE", ""), ("SLIM", "")).mean == pytest.approx(0.009, abs=0.002)


def test_pairs_are_more_exact_than_means() -> None:
    measured = Measurements(rows()).where(data=users.JUDGED)
    difference = paired(measured, ("EASE", ""), ("SLIM", ""))
    alone = np.concatenate([row.arrays["users"] for row in chosen(measured, "EASE")])
    assert difference.n == 1500
    assert difference.se < 0.2 * alone.std() / 1500**0.5


def test_a_quick_run_goes_from_cells_to_a_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    tastes = rng.dirichlet(np.full(40, 0.2), size=5)
    likes = rng.random((240, 40)) < 8 * rng.dirichlet(np.full(5, 0.3), size=240) @ tastes
    X = sp.csr_array(likes.astype(np.float32))
    monkeypatch.setattr(users, "dataset", lambda name, split, data_dir: SimpleNamespace(X=X))
    users.users_of.cache_clear()
    measured = []
    for cell in (cell for cell in TABLE_2.cells(True) if cell.settings["data"] == users.JUDGED):
        made = users.fit_users(cell.settings, None)
        measured.append(Row(cell.settings, made.numbers, made.arrays))
        assert 0 <= made.numbers["ndcg_100"] <= 1
        assert made.arrays["users"].shape == measured[0].arrays["users"].shape
        assert ("ndcg_100_refined" in made.numbers) == (cell.settings["model"] in (*users.ROWS, users.TUNED))
    users.users_of.cache_clear()
    (figure,) = TABLE_2.draw(Measurements(measured)).values()
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == [
        *users.BASELINES,
        users.MULT_VAE,
        *users.ROWS,
        users.TUNED,
    ]


def test_models_are_what_their_settings_say() -> None:
    def made(model: str, **options: Any) -> Any:
        return users.recommender({"model": model, "options": options, "seed": 1, "inner_steps": 7}, 1000)

    refined = made("2-ψ*-tfidf", kl_weight=0.2, max_epochs=10)
    assert (refined.inference, refined.features, refined.inner_steps) == ("refined", "tfidf", 7)
    assert refined.kl_annealing_steps == 10  # half of 10 epochs of 2 steps
    assert made("2-ψ(x)-norm", kl_weight=1.0, max_epochs=10).inference == "amortised"
    assert made("Mult-VAE", kl_weight=0.4, max_epochs=10).recipe == "liang2018"
    assert made("EASE", regularisation=3.0).regularisation == 3.0
    assert made("WMF", n_components=5).random_state == 1
