"""The contract, on every registered observation, feature transform and body."""

from __future__ import annotations

import inspect

import pytest
import torch
from torch import Tensor

from fewhot.core.parts import Part
from fewhot.core.records import Rows, Tokens
from fewhot.core.registry import BODIES, FEATURES, OBSERVATIONS
from fewhot.core.seeding import stream
from fewhot.data import as_dataset
from tests.parts import KINDS_OF_DATA, N_COLUMNS, N_ROWS, both_kinds, rows, spec_of

from .examples import build, every, identify

every_observation = pytest.mark.parametrize(("name", "options"), every(OBSERVATIONS), ids=identify)
every_feature = pytest.mark.parametrize(("name", "options"), every(FEATURES), ids=identify)
every_body = pytest.mark.parametrize(("name", "options"), every(BODIES), ids=identify)
every_kind = pytest.mark.parametrize("kind", KINDS_OF_DATA)


def observed(name: str, options: dict, kind: str) -> tuple[Part, Tensor]:
    observation, x = build(OBSERVATIONS, name, **options), rows(kind, n_rows=20)
    try:
        observation.check(spec_of(x))
    except ValueError:
        pytest.skip("refused")
    return observation, x


def fitted(name: str, options: dict, x: Tensor) -> Part:
    transform = build(FEATURES, name, **options)
    transform.fit(as_dataset(x.numpy()).moments())
    return transform


@every_observation
@every_kind
@pytest.mark.parametrize("n_noise", [1, 20])
def test_dense_and_ragged_rows_are_observed_alike(name: str, options: dict, kind: str, n_noise: int) -> None:
    observation, x = observed(name, options, kind)
    noise = observation.noise(n_noise, N_COLUMNS, stream(0))
    dense, sparse = both_kinds(x)
    for given in (dense, sparse):
        assert type(observation(given, noise)) is type(given)
    torch.testing.assert_close(observation(dense, noise).dense(), observation(sparse, noise).dense())


@every_observation
@every_kind
def test_what_is_observed_is_as_described(name: str, options: dict, kind: str) -> None:
    observation, x = observed(name, options, kind)
    described = observation.spec(spec_of(x))
    seen = spec_of(observation(both_kinds(x)[0], observation.noise(20, N_COLUMNS, stream(0))).dense())
    assert described.minimum - 1e-6 <= seen.minimum
    assert seen.maximum <= described.maximum + 1e-6
    assert seen.integral or not described.integral
    assert seen.binary or not described.binary
    assert (described.n_columns, described.n_rows) == (seen.n_columns, seen.n_rows)


@every_observation
@every_kind
def test_observing_twice_is_observing_once(name: str, options: dict, kind: str) -> None:
    """Bounds after refinement observe rows that were observed before, with other noise."""
    observation, x = observed(name, options, kind)
    for given in both_kinds(x):
        once = observation(given, observation.noise(20, N_COLUMNS, stream(0)))
        twice = observation(once, observation.noise(20, N_COLUMNS, stream(1)))
        torch.testing.assert_close(twice.dense(), once.dense())


@every_observation
def test_rows_of_zeros_stay_zero(name: str, options: dict) -> None:
    observation = build(OBSERVATIONS, name, **options)
    for given in both_kinds(torch.zeros(3, N_COLUMNS)):
        out = observation(given, observation.noise(3, N_COLUMNS, stream(0)))
        assert torch.equal(out.dense(), torch.zeros(3, N_COLUMNS))


@every_feature
@every_kind
def test_dense_and_ragged_rows_have_the_same_features(name: str, options: dict, kind: str) -> None:
    if kind == "real" and name == "log1p":
        pytest.skip("for counts")
    x = rows(kind, n_rows=20)
    transform = fitted(name, options, x)
    dense, sparse = (transform(given).dense() for given in both_kinds(x))
    torch.testing.assert_close(dense, sparse)
    assert dense.shape == x.shape


@every_feature
def test_features_of_constant_columns_and_empty_rows_are_finite(name: str, options: dict) -> None:
    x = torch.zeros(8, N_COLUMNS)
    x[:, 1] = 4.0
    x[3:, 2] = 1.0
    transform = fitted(name, options, x)
    for given in both_kinds(x):
        assert transform(given).dense().isfinite().all()


@every_feature
def test_a_rebuilt_transform_gives_the_same_features(name: str, options: dict) -> None:
    x = rows("counts", n_rows=20)
    transform = fitted(name, options, x)
    again = Part.from_config(transform.to_config())
    again.load_state_dict(transform.state_dict())
    for given in both_kinds(x):
        assert torch.equal(again(given).dense(), transform(given).dense())


def inputs(body: Part) -> list[Rows | Tensor]:
    """Return what a body reads: codes, or rows both ways."""
    (first, *_) = inspect.signature(body.forward).parameters.values()
    if first.annotation in ("Tokens", Tokens):
        ids = torch.tensor([[3, 4, 2, 1, 0, 0], *[[4, 2, 3, 2, 4, 1]] * (N_ROWS - 1)])
        return [Tokens(ids, 5, pieces=ids)]
    x = rows("real", n_columns=getattr(body, "n_in", N_COLUMNS))
    return [x] if first.annotation in ("Tensor", Tensor) else list(both_kinds(x))


@every_body
def test_a_body_gives_a_vector_of_its_width_for_every_row(name: str, options: dict) -> None:
    body = build(BODIES, name, **options)
    outs = [body(given) for given in inputs(body)]
    assert all(out.shape == (N_ROWS, body.n_out) for out in outs)
    for out in outs:
        torch.testing.assert_close(out, outs[0])


@every_body
def test_a_rebuilt_body_gives_the_same_vectors(name: str, options: dict) -> None:
    body = build(BODIES, name, **options)
    again = Part.from_config(body.to_config())
    again.load_state_dict(body.state_dict())
    for given in inputs(body):
        assert torch.equal(again(given), body(given))


@every_body
def test_gradients_reach_every_weight_of_a_body(name: str, options: dict) -> None:
    body = build(BODIES, name, **options)
    if not list(body.parameters()):
        pytest.skip("a body without weights")
    for given in inputs(body):
        gradients = torch.autograd.grad((body(given) + 0.1).square().sum(), list(body.parameters()))
        assert all(g.abs().sum() > 0 for g in gradients)


@every_body
def test_a_body_compiles_as_one_graph(name: str, options: dict) -> None:
    torch.compiler.reset()
    body = build(BODIES, name, **options)
    if not body.compiles:
        pytest.skip("it says that it does not")
    for given in inputs(body):
        compiled = torch.compile(body, fullgraph=True, backend="eager")
        torch.testing.assert_close(compiled(given), body(given))
