"""Pictures side by side, read by one network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from fewhot import SDLGMCounter, load
from fewhot.core.errors import FewhotError
from fewhot.core.records import Dense
from fewhot.core.seeding import PrivateDraws, stream
from fewhot.data.compositions import compose
from fewhot.nn import Places
from tests.estimators.cases import assert_one_sentence


def body(**changes: int) -> Places:
    with PrivateDraws(0, "test"):
        return Places(**{"n_places": 3, "side": 6, "n_kinds": 4, **changes})


def rows(n: int = 5, n_places: int = 3, side: int = 6) -> torch.Tensor:
    return torch.rand(n, side * n_places * side, generator=stream(0, "places"))


def test_it_is_the_mean_over_places_of_what_is_said_of_each() -> None:
    network, x = body(), rows()
    said = network(Dense(x))
    assert said.shape == (5, 4)
    for row, found in zip(x, said, strict=True):
        columns = row.view(6, 18).split(6, dim=1)  # the picture, cut into places
        kinds = [network.layers(column.reshape(1, 1, 6, 6)).softmax(-1)[0] for column in columns]
        torch.testing.assert_close(found, torch.stack(kinds).mean(0).log())


def test_the_order_of_places_does_not_matter() -> None:
    network, x = body(), rows()
    turned = x.view(5, 6, 3, 6)[:, :, [2, 0, 1]].reshape(5, -1)
    torch.testing.assert_close(network(Dense(turned)), network(Dense(x)))


def test_other_widths_are_refused() -> None:
    with pytest.raises(FewhotError, match="Rows have 100 columns, and 3 pictures of 6 by 6 pixels have 108") as caught:
        body()(Dense(torch.zeros(2, 100)))
    assert_one_sentence(caught.value)


def test_it_counts_and_is_saved(tmp_path: Path) -> None:
    images = np.zeros((3, 6, 6), dtype=np.float32)
    images[0, 1:3], images[1, :, 2:4], images[2, 3:, 3:] = 1, 1, 1
    made = compose(images, np.arange(3), 600, n_places=3, random_state=0)
    model = SDLGMCounter(
        encoder=body(n_kinds=8),
        n_slots=3,
        hidden_dropout=0.0,
        max_steps=800,
        learning_rate=5e-3,
        n_iter_no_change=None,
        random_state=0,
    )
    model.fit(made.X[:500], made.counts[:500])
    assert np.square(model.predict(made.X[500:]) - made.counts[500:]).mean() < 0.02
    model.save(tmp_path / "run")
    np.testing.assert_array_equal(load(tmp_path / "run").predict(made.X), model.predict(made.X))
