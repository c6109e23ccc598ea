"""The Gaussian family; what holds for every family is in conformance."""

from __future__ import annotations

import pytest
import torch

from fewhot.core.records import Draw, Knobs
from fewhot.latents import GaussianLatent
from fewhot.priors import SpikeSlabPrior, StandardPrior

EXACT = Knobs()


def psi(loc: float, scale: float, n_rows: int = 1, n_latent: int = 1) -> dict[str, torch.Tensor]:
    shape = (n_rows, n_latent)
    return {"loc": torch.full(shape, loc), "logvar": torch.full(shape, 2 * torch.tensor(scale).log().item())}


def test_scales_begin_where_they_are_told_to() -> None:
    torch.manual_seed(0)
    latent = GaussianLatent(400, 50, start_scale=0.1)
    scale = latent.posterior(latent.psi(torch.randn(200, 400)), EXACT).scale
    assert scale.log().mean().exp().item() == pytest.approx(0.1, rel=0.2)


def test_the_divergence_has_the_reference_value() -> None:
    latent = GaussianLatent(3, 1)
    q = latent.posterior(psi(1.2, 0.6), EXACT)
    kl = latent.divergence(q, StandardPrior(1)(None), Draw(q.loc))["kl"]
    assert kl.item() == pytest.approx(0.910825624, abs=1e-6)


def test_a_draw_is_the_mean_plus_scaled_noise() -> None:
    latent = GaussianLatent(3, 2)
    q = latent.posterior(psi(1.0, 2.0, n_latent=2), EXACT)
    assert latent.draw(q, {"slab": torch.tensor([[0.5, -1.0]])}).z.tolist() == [[2.0, -1.0]]


def test_a_prior_without_closed_form_is_met_by_the_draw() -> None:
    latent = GaussianLatent(3, 2)
    q = latent.posterior(psi(1.0, 0.5, n_latent=2), EXACT)
    draw = latent.draw(q, {"slab": torch.tensor([[0.5, -1.0]])})
    p = SpikeSlabPrior(2, 0.3)(None)
    expected = (q.log_prob(draw.z) - p.log_prob(draw.z)).sum(-1)
    assert torch.equal(latent.divergence(q, p, draw)["kl"], expected)


@pytest.mark.parametrize("logvar", [-1e4, 1e4])
def test_extreme_log_variances_give_finite_values_and_live_gradients(logvar: float) -> None:
    latent = GaussianLatent(3, 1)
    given = {"loc": torch.zeros(1, 1), "logvar": torch.full((1, 1), logvar, requires_grad=True)}
    q = latent.posterior(given, EXACT)
    kl = latent.divergence(q, StandardPrior(1)(None), Draw(q.loc))["kl"]
    kl.sum().backward()
    assert kl.isfinite().all()
    assert given["logvar"].grad.abs().item() > 0.1
    assert latent.summary({k: v.detach() for k, v in given.items()}).variance.isfinite().all()


def test_every_unit_is_active() -> None:
    summary = GaussianLatent(3, 2).summary(psi(0.0, 0.5, n_latent=2))
    assert summary.active.all()
    torch.testing.assert_close(summary.variance, torch.full((1, 2), 0.25))
