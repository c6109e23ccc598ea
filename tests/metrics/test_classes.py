"""Units by class, against loops that can be read at a glance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import fewhot as fh
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.metrics import activity_probabilities, class_activation, gamma_class
from fewhot.metrics.stability import correlations
from tests.metrics.conftest import PlantedRows

NAMES = np.array(["pear", "apple", "fig"])


def names_for(planted: PlantedRows) -> np.ndarray:
    return NAMES[np.arange(len(planted.X)) % 7 % 3]


def test_class_means_agree_with_a_loop(vsc: fh.VSC, planted: PlantedRows) -> None:
    y = names_for(planted)
    found = class_activation(vsc, planted.X, y)
    p, codes = activity_probabilities(vsc, planted.X), vsc.transform(planted.X).toarray()
    assert found.classes.tolist() == ["apple", "fig", "pear"]
    for place, name in enumerate(found.classes):
        rows = [row for row in range(len(y)) if y[row] == name]
        assert found.n_rows[place] == len(rows)
        for unit in range(p.shape[1]):
            assert found.p_active[place, unit] == pytest.approx(np.mean([p[row, unit] for row in rows]), rel=1e-5)
            assert found.size[place, unit] == pytest.approx(np.mean([abs(codes[row, unit]) for row in rows]), rel=1e-5)


def test_gamma_is_the_share_of_a_classs_rows_whose_code_lacks_the_unit(vsc: fh.VSC, planted: PlantedRows) -> None:
    y = names_for(planted)
    found, codes = gamma_class(vsc, planted.X, y), vsc.transform(planted.X).toarray()
    for place, name in enumerate(np.unique(y)):
        for unit in range(codes.shape[1]):
            off = [codes[row, unit] == 0 for row in range(len(y)) if y[row] == name]
            assert found[place, unit] == pytest.approx(np.mean(off))


def test_a_planted_class_is_served_by_its_unit(vsc: fh.VSC, planted: PlantedRows) -> None:
    found = class_activation(vsc, planted.X, planted.labels)
    gain = found.p_active[1] - found.p_active[0]
    follows = np.abs(correlations(vsc.transform(planted.X), planted.codes[:, :1]))[:, 0]
    assert gain[follows.argmax()] > 0.3


def test_hsvae_has_classes_too(planted: PlantedRows) -> None:
    model = fh.HSVAE(n_components=4, l0=2, hidden_layer_sizes=(8,), max_steps=5, random_state=0, device="cpu")
    X = planted.X[:40]
    gamma = gamma_class(model.fit(X), X, planted.labels[:40])
    assert gamma.shape == (len(np.unique(planted.labels[:40])), 4)
    assert ((gamma >= 0) & (gamma <= 1)).all()


@pytest.mark.parametrize("of", [class_activation, gamma_class])
@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (None, "y is None; give a class a row"),
        ([0, 1], r"y has shape \(2,\) and X has 4 rows"),
        ([0.0, 1.0, np.nan, 1.0], "1 of 4 labels in y are missing"),
        (["a", None, "b", float("nan")], "2 of 4 labels in y are missing"),
        (pd.Series(["a", pd.NA, "b", "a"], dtype="string"), "1 of 4 labels in y are missing"),
        (["a", "b", 1j, object()], "no common order"),
        ([1, "a", "a", "b"], "no common order"),
        (np.array(["2020", "2021"] * 2, dtype="M8[Y]"), "give numbers or names"),
    ],
)
def test_labels_that_cannot_be_used_are_refused(
    vsc: fh.VSC, planted: PlantedRows, of: Any, y: Any, sentence: str
) -> None:
    with pytest.raises(InvalidInputError, match=sentence):
        of(vsc, planted.X[:4], y)


@pytest.mark.parametrize("of", [class_activation, gamma_class])
def test_a_model_without_gates_is_refused(vae: fh.VAE, planted: PlantedRows, of: Any) -> None:
    with pytest.raises(InvalidParameterError, match="VAE has no gates"):
        of(vae, planted.X, planted.labels)
