from __future__ import annotations

import numpy as np

from fewhot_papers.reproduction.figures import (
    code_bars,
    conditional_samples,
    curves,
    image_grid,
    panels,
    save,
    strength_grid,
)
from fewhot_papers.reproduction.measurements import Value


def test_curves_carry_their_labels_and_leave_empty_ones_out():
    _, axes = panels(1, 1)
    curves(axes[0, 0], {"a": {1: Value(1.0, 0.1, 3), 2: Value(2.0, 0.1, 3)}, "b": {}}, title="t", x="x", y="y")
    assert [text.get_text() for text in axes[0, 0].get_legend().get_texts()] == ["a"]


def test_a_single_seed_is_drawn_without_bars():
    figure, axes = panels(1, 1)
    curves(axes[0, 0], {"a": {1: Value(1.0, float("nan"), 1)}}, title="t", x="x", y="y")
    figure.canvas.draw_idle()
    assert len(axes[0, 0].containers) == 1


def test_images_lie_where_they_belong():
    _, axes = panels(1, 1)
    images = np.zeros((3, 4))
    images[2, 0] = 1.0
    image_grid(axes[0, 0], images, 2, gap=1)
    sheet = axes[0, 0].get_images()[0].get_array()
    assert sheet.shape == (5, 5)
    assert sheet[3, 0] == 1.0
    assert sheet[0, 0] == 0.0


def test_a_code_has_a_bar_a_unit():
    _, axes = panels(1, 1)
    code_bars(axes[0, 0], np.array([0.0, 2.0, -1.0]))
    assert [bar.get_height() for bar in axes[0, 0].patches] == [0.0, 2.0, -1.0]


def test_strengths_are_ordered_by_kind_and_faint_ones_hidden():
    _, axes = panels(1, 1)
    strength_grid(axes[0, 0], np.array([[0.05, 0.9], [0.8, 0.1]]), title="t", x="x", y="y")
    assert axes[0, 0].get_images()[0].get_array().tolist() == [[0.9, 0.0], [0.1, 0.8]]


def test_samples_stand_behind_their_image():
    given = np.array([[0.0, 1, 0, 0], [1, 0, 0, 0]])
    sheet = conditional_samples(given, np.repeat(given, 3, axis=0), title="t").axes[0].get_images()[0].get_array()
    assert sheet.shape == (2 + 2 + 2, 4 * 2 + 3 * 2)


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    def written(name: str) -> list[bytes]:
        figure, axes = panels(1, 1)
        curves(axes[0, 0], {"a": {1: Value(1.0, 0.1, 3)}}, title="t", x="x", y="y")
        return [path.read_bytes() for path in save(figure, tmp_path / name)]

    assert written("one") == written("two")
