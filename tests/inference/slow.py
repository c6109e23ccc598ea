"""The bound written out with loops, in float64: slow and obvious."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from torch import Tensor

from fewhot.core.records import Noise
from fewhot.models import LatentModel


def sigmoid(t: float) -> float:
    return 1 / (1 + math.exp(-t))


def array(t: Tensor) -> np.ndarray:
    return t.detach().double().numpy()


def slow_bound(model: LatentModel, x: np.ndarray, bank: Sequence[Noise], family: str, likelihood: str) -> np.ndarray:
    """Return the evidence lower bound of each row: mean log likelihood of the draws, minus the divergence."""
    W, b = array(model.encoder.body.first.weight), array(model.encoder.body.first.bias)
    H, c = array(model.latent.heads.weight), array(model.latent.heads.bias)
    first, output = model.decoder.body.layers[0], model.decoder.output
    log_variance = array(model.decoder.head.log_variance) if likelihood == "gaussian" else np.zeros(0)
    A, a, V, v = (array(t) for t in (first.weight, first.bias, output.weight, output.bias))
    n_units = model.latent.n_latent
    bounds = []
    for row in x:
        psi = H @ np.maximum(row @ W + b, 0) + c
        total = 0.0
        for noise in bank:
            z = np.zeros(n_units)
            for j in range(n_units):
                slab = array(noise["slab"])[0, j]
                if family == "gaussian":
                    z[j] = psi[j] + math.exp(psi[n_units + j] / 2) * slab
                elif array(noise["gate"])[0, j] > 1 - sigmoid(psi[j]):
                    z[j] = psi[n_units + j] + math.exp(psi[2 * n_units + j] / 2) * slab
            out = V @ np.maximum(A @ z + a, 0) + v
            total += slow_log_likelihood(out, log_variance, row, likelihood)
        divergence = slow_divergence(psi, family, model, lambda rows: np.maximum(rows @ W + b, 0) @ H.T + c)
        bounds.append(total / len(bank) - divergence)
    return np.array(bounds)


def slow_divergence(psi: np.ndarray, family: str, model: LatentModel, encode: Callable) -> float:
    """Return the divergence from the prior; from a mixture, its closed bound."""
    n_units = model.latent.n_latent
    if family == "gaussian":
        return sum(slow_slab(psi[j], psi[n_units + j], 0.0, 0.0) for j in range(n_units))
    if family == "spike-slab":
        rate = [model.prior.rate] * n_units
        return slow_spike_slab(psi, rate, np.zeros(n_units), np.zeros(n_units))
    explained = 0.0
    for told in encode(array(model.prior.rows().x)):
        rate = [sigmoid(10 * (sigmoid(logit) - 0.5)) for logit in told[:n_units]]
        explained += math.exp(-slow_spike_slab(psi, rate, told[n_units : 2 * n_units], told[2 * n_units :]))
    return -math.log(explained / model.prior.n_pseudo_inputs)


def slow_spike_slab(psi: np.ndarray, rate: Sequence[float], mean: np.ndarray, log_variance: np.ndarray) -> float:
    n_units, total = len(rate), 0.0
    for j, rho in enumerate(rate):
        gamma = sigmoid(psi[j])
        total += gamma * slow_slab(psi[n_units + j], psi[2 * n_units + j], mean[j], log_variance[j])
        total += gamma * math.log(gamma / rho) + (1 - gamma) * math.log((1 - gamma) / (1 - rho))
    return total


def slow_slab(mean: float, log_variance: float, other_mean: float, other_log_variance: float) -> float:
    """G(mu, sigma^2 || m, s^2)."""
    ratio = math.exp(log_variance - other_log_variance)
    distance = (mean - other_mean) ** 2 / math.exp(other_log_variance)
    return 0.5 * (ratio + distance - math.log(ratio) - 1)


def slow_log_likelihood(out: np.ndarray, log_variance: np.ndarray, row: np.ndarray, likelihood: str) -> float:
    total = 0.0
    for d, value in enumerate(row):
        if likelihood == "bernoulli":
            total += math.log(sigmoid(out[d])) if value else math.log(1 - sigmoid(out[d]))
        else:
            variance = math.exp(log_variance[d]) + 1e-3
            total += -0.5 * (math.log(2 * math.pi * variance) + (value - out[d]) ** 2 / variance)
    return total
