"""Drawing rows: from the prior, and with an example's active units."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from fewhot import VAE, VSC, FewhotError
from tests.estimators.cases import BOTH, assert_one_sentence, grey_rows, small


@pytest.fixture
def decoded(vsc: VSC, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[np.ndarray]]:
    """The codes that reach the decoder."""
    seen: list[np.ndarray] = []
    generate = vsc.module_.decoder.generate

    def reveal(z: torch.Tensor) -> Any:
        seen.append(z.numpy().copy())
        return generate(z)

    monkeypatch.setattr(vsc.module_.decoder, "generate", reveal)
    return seen


@BOTH
@pytest.mark.parametrize("kind", ["draw", "mean"])
def test_drawn_rows_have_the_shape_of_the_data(fitted: dict[type, Any], rows: np.ndarray, cls: type, kind: str) -> None:
    assert fitted[cls].sample(5, kind=kind).shape == (5, 7)
    assert fitted[cls].sample_like(rows[:4], kind=kind).shape == (4, 7)
    assert fitted[cls].sample().shape == (1, 7)


@BOTH
@pytest.mark.parametrize("draw", ["sample", "sample_like"])
def test_a_random_state_repeats_a_draw(fitted: dict[type, Any], rows: np.ndarray, cls: type, draw: str) -> None:
    what: Any = 20 if draw == "sample" else rows[:20]
    first, again, other = (getattr(fitted[cls], draw)(what, random_state=seed, kind="mean") for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    free = [getattr(fitted[cls], draw)(what, kind="mean") for _ in range(2)]
    assert not np.array_equal(*free)


def test_bernoulli_draws_are_whole_and_means_are_not(vsc: VSC) -> None:
    assert set(np.unique(vsc.sample(50, random_state=0))) == {0.0, 1.0}
    means = vsc.sample(50, random_state=0, kind="mean")
    assert ((means > 0) & (means < 1)).all()


def test_draws_vary_about_the_mean_of_their_code(vsc: VSC, decoded: list[np.ndarray]) -> None:
    draws, means = (vsc.sample(4000, random_state=0, kind=kind) for kind in ("draw", "mean"))
    np.testing.assert_array_equal(*decoded)  # the same codes
    standard_error = np.sqrt(means * (1 - means)).mean(0) / np.sqrt(4000)
    assert (np.abs(draws.mean(0) - means.mean(0)) < 4.5 * standard_error).all()


def test_sampled_codes_are_on_at_the_priors_rate(vsc: VSC, decoded: list[np.ndarray]) -> None:
    vsc.sample(4000, random_state=0)
    rate = vsc.module_.prior.logits.detach().sigmoid().numpy()
    standard_error = np.sqrt(rate * (1 - rate) / 4000)
    assert (np.abs((decoded[0] != 0).mean(0) - rate) < 4.5 * standard_error).all()


def test_sample_like_keeps_exactly_the_active_units(vsc: VSC, rows: np.ndarray, decoded: list[np.ndarray]) -> None:
    codes = vsc.transform(rows).toarray()
    assert 0 < (codes != 0).mean() < 1
    vsc.sample_like(rows, random_state=0)
    np.testing.assert_array_equal(decoded[0] != 0, codes != 0)
    assert not np.isclose(decoded[0], codes)[codes != 0].any()  # the values are new


def test_sample_like_draws_values_from_the_priors_slab(vsc: VSC, rows: np.ndarray, decoded: list[np.ndarray]) -> None:
    vsc.sample_like(np.repeat(rows[:1], 4000, axis=0), random_state=0)
    (on,) = decoded[0][0].nonzero()
    prior = vsc.module_.prior
    loc, scale = prior.loc.detach().numpy()[on], np.exp(0.5 * prior.logvar.detach().numpy()[on])
    assert len(on)
    assert (np.abs(decoded[0][:, on].mean(0) - loc) < 4.5 * scale / np.sqrt(4000)).all()
    np.testing.assert_allclose(decoded[0][:, on].std(0), scale, rtol=0.1)


def test_sample_like_respects_the_ceiling(rows: np.ndarray) -> None:
    estimator = small(VSC, max_active=1).fit(rows)
    seen: list[torch.Tensor] = []
    generate = estimator.module_.decoder.generate
    estimator.module_.decoder.generate = lambda z: seen.append(z) or generate(z)
    estimator.sample_like(rows)
    assert ((seen[0] != 0).sum(-1) <= 1).all()


@pytest.mark.parametrize(
    "ask",
    [
        lambda e: e.sample(0),
        lambda e: e.sample(2.5),
        lambda e: e.sample("many"),
        lambda e: e.sample(2, kind="median"),
        lambda e: e.sample(2, random_state="seed"),
        lambda e: e.sample_like(grey_rows(), kind="median"),
        lambda e: e.sample_like(grey_rows() * 9),
        lambda e: e.log_likelihood(grey_rows(), n_draws=0),
    ],
)
def test_unusable_requests_are_refused(vsc: VSC, ask: Any) -> None:
    with pytest.raises(FewhotError) as error:
        ask(vsc)
    assert_one_sentence(error.value)


def test_samples_of_images_are_means_unless_told() -> None:
    images = np.random.default_rng(0).integers(0, 256, (40, 4, 3), dtype=np.uint8)
    vae = VAE(2, hidden_layer_sizes=(8,), max_steps=5, device="cpu", random_state=0).fit(images)
    for draw in (vae.sample, vae.sample_like):
        what: Any = 6 if draw == vae.sample else images[:6]
        np.testing.assert_array_equal(draw(what, random_state=0), draw(what, random_state=0, kind="mean"))
        assert not np.array_equal(draw(what, random_state=0), draw(what, random_state=0, kind="draw"))
