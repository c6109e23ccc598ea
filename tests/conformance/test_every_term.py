"""The contract, on every registered objective term."""

from __future__ import annotations

import pytest
import torch

from fewhot.core.parts import Part
from fewhot.core.records import Knobs, Pass, Terms
from fewhot.core.registry import TERMS
from fewhot.core.seeding import stream
from tests.parts import N_LATENT, N_ROWS, bank_of, batch_of, rows, small_model

from .examples import build, every, identify

every_term = pytest.mark.parametrize(("name", "options"), every(TERMS), ids=identify)
KNOBS = Knobs({"kl_weight": torch.tensor(0.5)}, gates="relaxed")


MODEL_OF = {
    "total-correlation": "gaussian",
    "pseudo-input-kl": "pseudo-inputs",
    "label-likelihood": "slot-counts",
}
"""The small model a term is made for, where that is not the gated one."""


def passes(term: Part, copies: int = 1) -> tuple[Pass, dict]:
    """Return a pass of a small model, with the noise that the term asks for."""
    model = small_model(MODEL_OF.get(TERMS.name_of(type(term)), "spike-slab"))
    batch = batch_of(rows().repeat(copies, 1))
    labels = torch.eye(N_LATENT)[torch.arange(N_ROWS) % N_LATENT].repeat(copies, 1)
    batch = batch._replace(y=labels[:, : getattr(term, "n_labels", None)])
    (noise,) = bank_of(model, 1)
    noise = {**noise, **term.noise(batch.x.n_rows, stream(0))}
    result = model.run(model.psi(batch), batch, KNOBS, noise)
    return result, model.divergence(result)


def evaluated(term: Part, copies: int = 1) -> Terms:
    return term(*passes(term, copies), KNOBS)


@every_term
def test_a_term_has_a_scalar_loss_and_named_values(name: str, options: dict) -> None:
    terms = evaluated(build(TERMS, name, **options))
    assert terms.loss.shape == ()
    assert terms.loss.isfinite()
    assert terms.loss.requires_grad
    assert terms.bound.shape in {(), (N_ROWS,)}
    assert all(value.shape == (N_ROWS,) for value in terms.per_example.values())
    assert all(value.shape == () for value in terms.per_batch.values())
    assert terms.per_example or terms.per_batch


@every_term
def test_two_copies_of_a_batch_have_the_loss_of_one(name: str, options: dict) -> None:
    term = build(TERMS, name, **options)
    if term.whole_batch:
        pytest.skip("its value is about the batch as a sample")
    torch.testing.assert_close(evaluated(term, copies=2).loss, evaluated(term).loss)


@every_term
def test_a_term_does_not_move_unless_updated(name: str, options: dict) -> None:
    term = build(TERMS, name, **options)
    first = evaluated(term)
    assert torch.equal(evaluated(term).loss, first.loss)


@every_term
def test_controllers_stay_once_settled(name: str, options: dict) -> None:
    term = build(TERMS, name, **options)
    signals = evaluated(term).signals
    for step in range(term.settled_at + 3):
        before = {key: value.clone() for key, value in term.state_dict().items()}
        term.update(signals, torch.tensor(step))
        if step >= term.settled_at:
            assert all(torch.equal(value, before[key]) for key, value in term.state_dict().items())


@every_term
def test_signals_are_measurements_without_gradient(name: str, options: dict) -> None:
    signals = evaluated(build(TERMS, name, **options)).signals
    assert all(isinstance(value, torch.Tensor) and not value.requires_grad for value in signals.values())


@every_term
def test_a_rebuilt_term_has_the_same_loss(name: str, options: dict) -> None:
    term = build(TERMS, name, **options)
    for step in range(3):
        term.update(evaluated(term).signals, torch.tensor(step))
    again = Part.from_config(term.to_config())
    again.load_state_dict(term.state_dict())
    assert torch.equal(evaluated(again).loss, evaluated(term).loss)
