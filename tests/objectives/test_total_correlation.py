"""Total correlation against the slow obvious sums, and against what is known of it."""

from __future__ import annotations

import math

import pytest
import torch
from torch.distributions import Normal

from fewhot.distributions import Gaussian
from fewhot.objectives import TotalCorrelation
from fewhot.objectives.total_correlation import SAMPLINGS

N, B, K = 40, 7, 3


def batch(seed: int = 0) -> tuple[torch.Tensor, Gaussian]:
    generator = torch.Generator().manual_seed(seed)
    q = Gaussian(torch.randn(B, K, generator=generator), torch.rand(B, K, generator=generator) + 0.2)
    return q.loc + q.scale * torch.randn(B, K, generator=generator), q


def test_stratified_weights_stand_on_the_diagonal_and_sum_to_one() -> None:
    weights = TotalCorrelation(N).log_weights(B, torch.zeros(())).exp()
    torch.testing.assert_close(weights.diagonal(), torch.full((B,), 1 / N))
    torch.testing.assert_close(weights.sum(1), torch.ones(B))
    assert (weights > 0).all()
    others = weights[~torch.eye(B, dtype=torch.bool)].reshape(B, B - 1).sort(1).values
    torch.testing.assert_close(others[:, 0], torch.full((B,), (N - B + 1) / (N * (B - 1))))
    torch.testing.assert_close(others[:, 1:], torch.full((B, B - 2), 1 / (B - 1)))


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_the_aggregate_is_the_obvious_sum(sampling: str) -> None:
    term = TotalCorrelation(N, sampling=sampling)
    z, q = batch()
    joint, marginals = term.log_aggregate(z, q)
    weights = term.log_weights(B, z).exp()
    for i in range(B):
        laws = [Normal(q.loc[j], q.scale[j]) for j in range(B)]
        together = sum(weights[i, j] * laws[j].log_prob(z[i]).sum().exp() for j in range(B))
        assert joint[i] == pytest.approx(math.log(together), abs=1e-4)
        for k in range(K):
            alone = sum(weights[i, j] * laws[j].log_prob(z[i])[k].exp() for j in range(B))
            assert marginals[i, k] == pytest.approx(math.log(alone), abs=1e-4)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_the_three_parts_of_the_divergence_add_up(sampling: str) -> None:
    z, q = batch()
    joint, marginals = TotalCorrelation(N, sampling=sampling).log_aggregate(z, q)
    own, prior = q.log_prob(z).sum(-1), Normal(0.0, 1.0).log_prob(z).sum(-1)
    information, correlation, unitwise = own - joint, joint - marginals.sum(-1), marginals.sum(-1) - prior
    torch.testing.assert_close(information + correlation + unitwise, own - prior)


def test_stratified_weights_are_unbiased_for_the_aggregate_over_all_rows() -> None:
    """Over random batches that hold a row, its weighted density averages to the mean density of all rows."""
    generator = torch.Generator().manual_seed(0)
    loc = torch.randn(12, 1, generator=generator)
    z, scale, term = loc[:1], torch.ones(12, 1), TotalCorrelation(12)
    everyone = Normal(loc, scale).log_prob(z).exp().mean()
    found = []
    for _ in range(4000):
        others = 1 + torch.randperm(11, generator=generator)[:4]
        rows = torch.cat([torch.zeros(1, dtype=torch.long), others])
        density = Normal(loc[rows], scale[rows]).log_prob(z)[:, 0].exp()
        found.append((term.log_weights(5, z)[0].exp() * density).sum())
    values = torch.stack(found)
    assert abs(values.mean() - everyone) < 4 * values.std() / len(values) ** 0.5


def test_copied_units_correlate_and_independent_ones_do_not() -> None:
    generator = torch.Generator().manual_seed(0)
    n = 400
    loc = torch.randn(n, 2, generator=generator)
    noise = torch.randn(n, 2, generator=generator)

    def found(means: torch.Tensor) -> float:
        q = Gaussian(means, torch.full_like(means, 0.3))
        joint, marginals = TotalCorrelation(n).log_aggregate(means + 0.3 * noise, q)
        return float((joint - marginals.sum(-1)).mean())

    correlation = 1 / 1.09  # of two units with the same mean and noise 0.3 of their own
    assert found(loc[:, :1].expand(n, 2)) == pytest.approx(-0.5 * math.log(1 - correlation**2), abs=0.12)
    assert abs(found(loc)) < 0.12


def test_a_single_row_correlates_with_nothing() -> None:
    z, q = batch()
    joint, marginals = TotalCorrelation(N).log_aggregate(z[:1], Gaussian(q.loc[:1], q.scale[:1]))
    torch.testing.assert_close(joint, marginals.sum(-1))
