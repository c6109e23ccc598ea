"""Procedures that learn from the score function: their mean gradient is that of the bound, summed over all codes."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from torch import Tensor

from fewhot.core.records import Batch, Dense, Knobs
from fewhot.core.registry import MODELS
from fewhot.core.seeding import seeded, stream
from fewhot.inference import VIMCO, Amortised, Inference, LeaveOneOut, ScoreFunction
from fewhot.models import LatentModel
from tests.parts import rows, shake, spec_of

N_COPIES, N_CHUNKS = 4000, 12
CODES = [torch.tensor([*a, *b]) for a, b in product(([1.0, 0.0], [0.0, 1.0]), repeat=2)]
UNBIASED = {
    "score function": ScoreFunction(),
    "score function of several draws": ScoreFunction(n_draws=3),
    "MuProp": ScoreFunction(expand=True),
    "MuProp of several draws": ScoreFunction(expand=True, n_draws=3),
    "leave-one-out": LeaveOneOut(3),
}


def model_of(estimator: str = "straight-through") -> LatentModel:
    with seeded(0, "model"):
        model = MODELS["gumbel-vae"](
            spec_of(rows()), n_latent=4, n_classes=2, hidden_layer_sizes=(6,), estimator=estimator
        )
    shake(model, size=0.6)
    return model


def exact_bound(model: LatentModel, batch: Batch) -> Tensor:
    """Return the bound of the first row, its expectation summed over all four codes."""
    q = model.posterior(model.psi(batch), Knobs())
    values = [model.decoder.likelihood(z.expand(len(q.mean), 4), batch).log_prob(batch.x) for z in CODES]
    weights = [q.log_prob(z.expand(len(q.mean), 4)).exp() for z in CODES]
    expected = torch.stack([w * v for w, v in zip(weights, values, strict=True)]).sum(0)
    result = model.run(model.psi(batch), batch, Knobs(), model.latent.noise(len(q.mean), stream(0)))
    return (expected - model.divergence(result)["kl"])[0]


def exact_importance_bound(model: LatentModel, batch: Batch, n_draws: int) -> Tensor:
    """Return the importance-weighted bound of the first row, summed over all tuples of codes."""
    q, p = model.posterior(model.psi(batch), Knobs()), model.prior(model.posterior_of)
    log_w, log_q = [], []
    for z in CODES:
        codes = z.expand(len(q.mean), 4)
        log_q.append(q.log_prob(codes)[0])
        log_w.append((model.decoder.likelihood(codes, batch).log_prob(batch.x))[0] + p.log_prob(z) - log_q[-1])
    total = torch.zeros(())
    for chosen in product(range(4), repeat=n_draws):
        bound = torch.logsumexp(torch.stack([log_w[i] for i in chosen]), dim=0) - torch.tensor(float(n_draws)).log()
        total = total + torch.stack([log_q[i] for i in chosen]).sum().exp() * bound
    return total


def estimates(model: LatentModel, procedure: Inference) -> Tensor:
    """Return chunk means of the gradient in the bias of the encoder's head, (chunks, 4), ascending."""
    x = rows()[2:3].expand(N_COPIES, -1)
    (phase,) = procedure.phases(model)
    found = []
    for chunk in range(N_CHUNKS):
        noise = phase.noise(N_COPIES, stream(chunk, "draws"))
        loss = phase.loss(Batch(Dense(x)), Knobs(gates="relaxed"), noise, {}).loss
        found.append(-torch.autograd.grad(loss, model.latent.head.bias)[0])
    return torch.stack(found)


def agrees(found: Tensor, wanted: Tensor) -> bool:
    error = found.std(0) / N_CHUNKS**0.5
    return bool(((found.mean(0) - wanted).abs() < 5 * error + 1e-6).all())


@pytest.mark.parametrize("name", UNBIASED)
def test_the_mean_gradient_is_that_of_the_bound(name: str) -> None:
    model = model_of("score-function" if name.startswith("score function") else "straight-through")
    (wanted,) = torch.autograd.grad(exact_bound(model, Batch(Dense(rows()[2:3]))), model.latent.head.bias)
    assert agrees(estimates(model, UNBIASED[name]), wanted)


def test_straight_through_is_another_gradient() -> None:
    model = model_of()
    (wanted,) = torch.autograd.grad(exact_bound(model, Batch(Dense(rows()[2:3]))), model.latent.head.bias)
    assert not agrees(estimates(model, Amortised()), wanted)


def test_vimco_ascends_the_importance_weighted_bound() -> None:
    model, n_draws = model_of(), 2
    bound = exact_importance_bound(model, Batch(Dense(rows()[2:3])), n_draws)
    (wanted,) = torch.autograd.grad(bound, model.latent.head.bias)
    assert agrees(estimates(model, VIMCO(n_draws)), wanted)


def test_several_draws_lower_the_variance() -> None:
    model = model_of()
    one, several = (estimates(model, Amortised(n_draws=n)) for n in (1, 8))
    assert (several.var(0) < one.var(0)).sum() >= 3


@pytest.mark.parametrize("expand", [False, True])
def test_several_draws_lower_the_variance_of_the_score_function(expand: bool) -> None:
    model = model_of("straight-through" if expand else "score-function")
    one, several = (estimates(model, ScoreFunction(expand, n_draws)) for n_draws in (1, 8))
    assert several.var(0).sum() < one.var(0).sum() / 2


def test_an_expansion_around_the_mean_lowers_the_variance() -> None:
    model = model_of()
    plain, expanded = (estimates(model, ScoreFunction(expand=how)) for how in (False, True))
    assert expanded.var(0).sum() < plain.var(0).sum()


def test_the_baseline_learns_what_to_expect() -> None:
    model = model_of("score-function")
    x = Dense(rows())
    baseline = model.objective.terms[-1]
    optimiser = torch.optim.Adam(baseline.parameters(), 0.002)
    for step in range(1500):
        result = model.run(model.psi(Batch(x)), Batch(x), Knobs(), model.latent.noise(6, stream(step)))
        terms = baseline(result, {}, Knobs())
        optimiser.zero_grad()
        terms.loss.backward(inputs=list(baseline.parameters()))
        optimiser.step()
    with torch.no_grad():
        values = torch.stack(
            [
                model.run(model.psi(Batch(x)), Batch(x), Knobs(), model.latent.noise(6, stream(s))).px.log_prob(x)
                for s in range(200)
            ]
        )
    torch.testing.assert_close(terms.per_example["baseline"], values.mean(0), atol=0.4, rtol=0.1)
