"""Drawn faces: people that differ in shape and color, who look and smile this way and that, lit from some side."""

from __future__ import annotations

from typing import Any

import numpy as np


def faces(n: int, height: int = 112, width: int = 92, n_people: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Return faces as bytes, (n, height, width, 3), and who they are, (n,)."""
    rng = np.random.default_rng(0)
    person = rng.permutation(np.arange(n) % n_people)
    traits = rng.random((n_people, 5))
    hues = np.array([0.95, 0.75, 0.6]) * rng.uniform(0.55, 1.0, (n_people, 1))
    hair = rng.uniform(0.05, 0.5, (n_people, 3)) * [1, 0.8, 0.5]
    made = [_face(height, width, traits[who], hues[who], hair[who], rng.uniform(-1, 1, 5)) for who in person]
    noise = rng.normal(0, 0.02, (n, height, width, 1))
    return ((np.stack(made) + noise).clip(0, 1) * 255).round().astype(np.uint8), person


def gray(images: np.ndarray) -> np.ndarray:
    """Return the brightness of color images as bytes."""
    return (images @ np.array([0.299, 0.587, 0.114])).round().astype(np.uint8)


def _face(height: int, width: int, traits: np.ndarray, hue: np.ndarray, hair: np.ndarray, pose: np.ndarray) -> Any:
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    x, y = x - 0.1 * pose[0], y - 0.05 * pose[1]
    wide, long = 0.6 + 0.2 * traits[0], 0.75 + 0.1 * traits[1]
    turn, light = 0.12 * pose[0], 0.25 * pose[2]
    picture = np.full((height, width, 3), 0.35 + 0.15 * traits[4])
    picture = _over(picture, _disc(x, y + 0.12, wide + 0.12, long), hair)
    picture = _over(picture, _disc(x, y - 0.08, wide, long), hue)
    apart, up, big = 0.25 + 0.1 * traits[2], 0.12 + 0.1 * traits[3], 0.11 + 0.03 * traits[4]
    for side in (-1, 1):
        at = x - turn - side * apart
        picture = _over(picture, _disc(at, y + up, big * 1.3, big * 0.75), np.ones(3))
        picture = _over(picture, _disc(at - 0.05 * pose[0], y + up, big * 0.5, big * 0.6), np.full(3, 0.1))
        picture = _over(picture, _disc(at, y + up + 0.17, big * 1.5, 0.03), hair)
    picture = _over(picture, 0.5 * _disc(x - 1.3 * turn, y - 0.12, 0.05 + 0.05 * traits[1], 0.13), hue * 0.6)
    curve = y - 0.42 + 0.9 * pose[3] * (x - turn) ** 2
    mouth = _disc(x - turn, curve, 0.22 + 0.06 * traits[0], 0.035 + 0.035 * (pose[4] > 0))
    picture = _over(picture, mouth, [0.6, 0.15, 0.15])
    return picture * (1 + light * x - 0.1 * y)[..., None]


def _disc(x: np.ndarray, y: np.ndarray, a: float, b: float) -> np.ndarray:
    """Return 1 within an ellipse and 0 outside, with a soft edge."""
    edge = (1 - np.sqrt((x / a) ** 2 + (y / b) ** 2)) * min(a, b)
    return (edge / 0.03 + 0.5).clip(0, 1)


def _over(picture: np.ndarray, mask: np.ndarray, color: Any) -> np.ndarray:
    return picture + mask[..., None] * (np.asarray(color) - picture)
