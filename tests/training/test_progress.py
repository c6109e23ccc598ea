"""Progress in a notebook: one bar in one place."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fewhot as fh
from tests.core.test_notebook import pretend


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    return pretend(monkeypatch, SimpleNamespace(kernel=object())).shown


def test_a_fit_shows_a_bar_that_is_full_at_the_end(shown: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    X = np.random.default_rng(0).random((60, 5))
    fh.VAE(2, hidden_layer_sizes=(4,), max_steps=12, n_iter_no_change=None, verbose=1, random_state=0).fit(X)
    assert '<progress value="0" max="12"' in shown[0]._repr_html_()
    assert '<progress value="12" max="12"' in shown[-1]._repr_html_()
    assert "step 12 of 12" in repr(shown[-1])
    assert "ELBO" in repr(shown[-1])
    assert capsys.readouterr().err == ""


def test_a_quiet_fit_shows_none(shown: list[Any]) -> None:
    fh.VAE(2, hidden_layer_sizes=(4,), max_steps=12, random_state=0).fit(np.random.default_rng(0).random((60, 5)))
    assert shown == []
