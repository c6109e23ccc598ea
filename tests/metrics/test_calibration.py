"""Calibration, on probabilities whose truth is drawn from them, and on a model whose posterior is exact."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

import fewhot as fh
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.metrics import calibration, planted_calibration, self_calibration

RATE = 0.3


def drawn(seed: int, n: int = 2000, k: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 1.5, size=(n, k))
    return p, rng.random((n, k)) < p


def slow_ece(p: np.ndarray, truth: np.ndarray, n_bins: int) -> float:
    error = 0.0
    for b in range(n_bins):
        inside = [
            (q, t) for q, t in zip(p.ravel(), truth.ravel(), strict=True) if min(int(q * n_bins), n_bins - 1) == b
        ]
        if inside:
            error += abs(sum(t for _, t in inside) - sum(q for q, _ in inside)) / p.size
    return error


@pytest.mark.parametrize("n_bins", [1, 7, 10])
def test_the_error_agrees_with_its_definition(n_bins: int) -> None:
    p, truth = drawn(0, n=200)
    p[0, 0], p[1, 0] = 0.0, 1.0
    assert calibration(p, truth, n_bins).ece == pytest.approx(slow_ece(p, truth, n_bins))


def test_calibrated_probabilities_show_the_noise_and_no_more() -> None:
    found = [calibration(*drawn(seed)) for seed in range(60)]
    errors = np.array([one.ece for one in found])
    noise = np.mean([one.noise for one in found])
    assert errors.mean() == pytest.approx(noise, abs=4 * errors.std() / math.sqrt(60))


def test_a_shift_of_all_probabilities_is_the_error() -> None:
    p, truth = drawn(0, n=20_000)
    found = calibration(0.4 + 0.6 * p, truth, n_bins=5)  # too high everywhere
    assert found.ece == pytest.approx((0.4 - 0.4 * p).mean(), abs=4 * found.se)


def test_the_standard_error_knows_that_units_of_a_row_go_together() -> None:
    def repeated(seed: int) -> Any:
        rng = np.random.default_rng(seed)
        on = np.repeat(rng.random((500, 1)) < 0.5, 8, axis=1)  # eight copies of one event
        return calibration(np.full(on.shape, 0.3), on)

    found = [repeated(seed) for seed in range(400)]
    spread = np.std([one.ece for one in found])
    assert np.mean([one.se for one in found]) == pytest.approx(spread, rel=4 / math.sqrt(2 * 400))


def test_bins_hold_means_shares_and_counts() -> None:
    found = calibration(np.array([0.05, 0.05, 0.92, 1.0]), np.array([0, 1, 1, 1]))
    assert found.bins == pytest.approx(np.array([[0.0, 0.1], [0.9, 1.0]]))
    assert found.expected == pytest.approx([0.05, 0.96])
    assert found.observed == pytest.approx([0.5, 1.0])
    assert found.count.tolist() == [2, 2]
    assert found.rate == 0.75


def test_sparse_probabilities_are_zero_where_nothing_is_stored() -> None:
    p, truth = drawn(0, n=50)
    p[p < 0.3] = 0.0
    assert calibration(sp.csr_array(p), sp.csr_array(truth)).ece == pytest.approx(calibration(p, truth).ece)


@pytest.mark.parametrize(("p", "truth"), [([0.5, 0.5], [1]), ([1.5], [1]), ([np.nan], [1])])
def test_what_is_no_probability_is_refused(p: list[float], truth: list[int]) -> None:
    with pytest.raises(InvalidInputError, match=r"give .*\.$"):
        calibration(np.array(p), np.array(truth))


def test_planted_codes_are_the_truth_of_the_units_paired_with_them() -> None:
    p, truth = drawn(0)
    codes = np.where(p > 0.5, 1.0 + p, 0.0)
    order, back = [2, 0, 1], [1, 2, 0]
    found = planted_calibration(p[:, order], codes[:, order], truth.astype(float))
    assert found.ece == pytest.approx(calibration(p[:, order], truth[:, order]).ece)
    assert found.ece < calibration(p[:, order], truth[:, back]).ece / 3


def test_a_code_without_used_units_cannot_be_paired() -> None:
    with pytest.raises(InvalidInputError, match="No unit of codes is used"):
        planted_calibration(np.zeros((5, 2)), np.zeros((5, 2)), np.eye(5))


class OneExactUnit:
    """Gates with rate 0.3, slabs N(0, 1), rows x = z + N(0, 0.25): log odds of being on are known."""

    latent: Any
    prior: Any
    decoder: Any
    reads_what_it_makes = True

    def __init__(self, bias: float = 0.0) -> None:
        self.latent = SimpleNamespace(gated=True, summary=lambda psi: SimpleNamespace(logits=psi["logits"] + bias))
        self.prior = SimpleNamespace(sample=self._draw)
        self.decoder = SimpleNamespace(generate=lambda z: SimpleNamespace(sample=lambda g: self._row(z, g)))
        self.posterior_of = None

    def parameters(self) -> Any:
        return iter([torch.zeros(1)])

    def observe(self, batch: Any, noise: Any) -> Any:
        return batch

    def psi(self, batch: Any) -> dict[str, Tensor]:
        x = batch.x.x
        on, off = (torch.distributions.Normal(0.0, math.sqrt(v)).log_prob(x) for v in (1.25, 0.25))
        return {"logits": math.log(RATE / (1 - RATE)) + on - off}

    def _draw(self, n: int, posterior_of: Any, generator: torch.Generator) -> Tensor:
        gate = torch.rand(n, 1, generator=generator) < RATE
        return torch.where(gate, torch.randn(n, 1, generator=generator), 0.0)

    def _row(self, z: Tensor, generator: torch.Generator) -> Tensor:
        return z + 0.5 * torch.randn(z.shape, generator=generator)


def test_an_exact_posterior_is_calibrated_on_its_own_rows() -> None:
    found = self_calibration(SimpleNamespace(module_=OneExactUnit()), n_rows=20_000)
    assert found.ece < 2.5 * found.noise
    assert found.rate == pytest.approx(RATE, abs=4 * math.sqrt(RATE * (1 - RATE) / 20_000))


def test_a_posterior_that_is_too_sure_is_found_out() -> None:
    found = self_calibration(SimpleNamespace(module_=OneExactUnit(bias=1.0)), n_rows=20_000)
    assert found.ece > 10 * found.noise
    assert (found.expected > found.observed).all()


def test_self_calibration_of_a_fitted_model_repeats(vsc: fh.VSC) -> None:
    one, same, other = (self_calibration(vsc, n_rows=700, random_state=seed) for seed in (0, 0, 1))
    assert one.ece == same.ece != other.ece
    assert one.count.sum() == 700 * 8


def test_without_gates_there_is_nothing_to_calibrate(vae: fh.VAE) -> None:
    with pytest.raises(InvalidParameterError, match="no gates"):
        self_calibration(vae)
