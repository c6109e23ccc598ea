"""Small rows, batches and models that the tests build on."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fewhot.core.records import Batch, DataSpec, Dense, Noise, Params, Pass, Ragged, Rows, Tokens
from fewhot.core.registry import LIKELIHOODS
from fewhot.core.seeding import seeded, stream
from fewhot.features import AsIs, Identity
from fewhot.inference import Amortised, RefinementNoise
from fewhot.inference.evaluation import EXACT
from fewhot.latents import GaussianLatent, Latent, SlotCountsLatent, SpikeSlabLatent
from fewhot.likelihoods import GaussianLikelihood, Likelihood
from fewhot.models import Decoder, Encoder, LatentModel
from fewhot.nn import RowsMLP
from fewhot.objectives import KL, Objective, Reconstruction
from fewhot.priors import Prior, PseudoInputPrior, SlotCountsPrior, SpikeSlabPrior, StandardPrior

N_ROWS, N_COLUMNS, N_LATENT, N_HIDDEN = 6, 5, 4, 7

KINDS_OF_DATA = ("binary", "grey", "counts", "real")
FAMILIES = ("gaussian", "spike-slab", "pseudo-inputs")
"""Kinds of `small_model`: dense codes, gated ones, and gated ones under a mixture."""
N_PSEUDO_INPUTS = 3


def rows(kind: str = "binary", n_rows: int = N_ROWS, n_columns: int = N_COLUMNS, seed: int = 0) -> Tensor:
    """Return rows with many zeros, the first of them empty."""
    rng = np.random.default_rng(seed)
    shape = (n_rows, n_columns)
    values = {
        "binary": np.ones(shape),
        "grey": rng.random(shape),
        "counts": rng.integers(1, 9, shape),
        "real": rng.normal(1.0, 2.0, shape),
    }[kind]
    present = rng.random(shape) < 0.6
    present[0] = False
    return torch.tensor(values * present, dtype=torch.float32)


def spec_of(x: Tensor, *, sparse: bool = False) -> DataSpec:
    """Describe dense rows."""
    integral = bool((x == x.round()).all())
    low, high = float(x.min()), float(x.max())
    return DataSpec(
        n_columns=x.shape[1],
        n_rows=x.shape[0],
        sparse=sparse,
        minimum=low,
        maximum=high,
        integral=integral,
        binary=integral and low >= 0 and high <= 1,
    )


def ragged(x: Tensor, n_padding: int = 2) -> Ragged:
    """Return dense rows as ragged ones, with padding beyond the longest row."""
    width = int((x != 0).sum(1).max()) + n_padding
    indices, values = torch.zeros(len(x), width, dtype=torch.int64), torch.zeros(len(x), width)
    for row in range(len(x)):
        (stored,) = x[row].nonzero(as_tuple=True)
        indices[row, : len(stored)], values[row, : len(stored)] = stored, x[row, stored]
    return Ragged(indices, values, x.shape[1])


def both_kinds(x: Tensor) -> tuple[Rows, Rows]:
    """Return the same rows dense and ragged."""
    return Dense(x), ragged(x)


def tokens() -> Tokens:
    """Return three texts over five ids, one of them empty."""
    return Tokens(torch.tensor([[3, 4, 3, 1, 0, 0], [1, 0, 0, 0, 0, 0], [2, 4, 4, 4, 3, 1]]), 5)


def batch_of(x: Tensor) -> Batch:
    """Return dense rows as a batch."""
    return Batch(Dense(x))


def bank_of(model: LatentModel, n_draws: int, seed: int = 0, n_rows: int = 1) -> list[Noise]:
    """Return a bank of noise; shared by all rows unless ``n_rows`` is given."""
    generator = stream(seed, "bank")
    return [model.noise(n_rows, generator) for _ in range(n_draws)]


def refinement_noise_of(model: LatentModel, n_judges: int, seed: int = 0) -> RefinementNoise:
    """Return noise to refine by: draws to climb on and so many others to judge by."""
    everything = bank_of(model, 64 + n_judges, seed)
    return RefinementNoise(ascent=everything[n_judges:], judges=everything[:n_judges])


def shake(module: torch.nn.Module, seed: int = 0, size: float = 0.5) -> None:
    """Move every parameter at random, so that nothing is at a symmetric start."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(size * torch.randn(parameter.shape, generator=generator))


def assemble(latent: Latent, prior: Prior, likelihood: Likelihood, hidden: list[int] | None = None) -> LatentModel:
    """Return a model of given latent, prior and likelihood, with everything else plain."""
    hidden = [N_HIDDEN] if hidden is None else hidden
    return LatentModel(
        observation=AsIs(),
        encoder=Encoder(Identity(), RowsMLP(likelihood.n_columns, [latent.n_in])),
        latent=latent,
        prior=prior,
        decoder=Decoder(latent.n_latent, hidden, likelihood),
        objective=Objective([Reconstruction(), KL()]),
        inference=Amortised(),
    )


def small_model(family: str, likelihood: str = "bernoulli", seed: int = 0) -> LatentModel:
    """Return a small model with every weight moved from its start."""
    with seeded(seed, "small model"):
        head = LIKELIHOODS[likelihood](N_COLUMNS)
        if family == "gaussian":
            model = assemble(GaussianLatent(N_HIDDEN, N_LATENT), StandardPrior(N_LATENT), head)
        elif family == "pseudo-inputs":
            prior = PseudoInputPrior(N_LATENT, N_COLUMNS, N_PSEUDO_INPUTS)
            model = assemble(SpikeSlabLatent(N_HIDDEN, N_LATENT), prior, head)
        elif family == "slot-counts":
            model = assemble(SlotCountsLatent(N_HIDDEN, N_LATENT, 3), SlotCountsPrior(N_LATENT, 3), head)
        else:
            model = assemble(SpikeSlabLatent(N_HIDDEN, N_LATENT), SpikeSlabPrior(N_LATENT, 0.3), head)
    shake(model, seed)
    return model


def exact_pass(model: LatentModel, x: Tensor, noise: Noise, psi: Params | None = None) -> Pass:
    """Return one pass with exact gates."""
    batch = batch_of(x)
    return model.run(model.psi(batch) if psi is None else psi, batch, EXACT, noise)


class LinearGaussian:
    """x = Wz + b + noise with orthogonal columns of W: the posterior is diagonal and log p(x) is known."""

    def __init__(self, n_columns: int = 5, n_latent: int = 2, variance: float = 0.3, n_rows: int = 7) -> None:
        rng = np.random.default_rng(0)
        basis, _ = np.linalg.qr(rng.normal(size=(n_columns, n_latent)))
        self.W = basis * np.linspace(0.7, 1.6, n_latent)  # (D, K)
        self.b = rng.normal(size=n_columns)
        self.variance = variance
        self.x = rng.normal(size=(n_rows, n_columns)) * 1.3

    def model(self, latent: Latent, prior: Prior) -> LatentModel:
        """Return the model whose decoder is this one."""
        head = GaussianLikelihood(len(self.b), standardise=False, variance="per-column", floor=0.0)
        model = assemble(latent, prior, head, hidden=[])
        with torch.no_grad():
            head.slow_log_variance.fill_(1.0)
            head.slow_log_variance.mul_(float(np.log(self.variance)) / head.log_variance)
            model.decoder.output.weight.copy_(torch.tensor(self.W))
            model.decoder.output.bias.copy_(torch.tensor(self.b))
        return model

    @property
    def batch(self) -> Batch:
        """The rows."""
        return batch_of(torch.tensor(self.x, dtype=torch.float32))

    def posterior(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean (n, K) and the variance (K,) of p(z | x) under a standard normal prior."""
        variance = 1 / (1 + (self.W**2).sum(0) / self.variance)
        return (self.x - self.b) @ self.W / self.variance * variance, variance

    def log_normal(self, *, on: bool) -> np.ndarray:
        """Return log p(x) with all units on, or all off."""
        d = len(self.b)
        cov = self.variance * np.eye(d) + (self.W @ self.W.T if on else 0)
        gap = self.x - self.b
        _, logdet = np.linalg.slogdet(cov)
        return -0.5 * (d * np.log(2 * np.pi) + logdet + np.einsum("nd,nd->n", gap, np.linalg.solve(cov, gap.T).T))
