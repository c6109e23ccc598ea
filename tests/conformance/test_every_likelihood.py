"""The contract on every likelihood that a registry test can see; the rest is in tests/likelihoods."""

from __future__ import annotations

import pytest
import torch

from fewhot.core.errors import InvalidInputError
from fewhot.core.parts import Part
from fewhot.core.records import Dense
from fewhot.core.registry import LIKELIHOODS
from fewhot.data import as_dataset
from tests.parts import KINDS_OF_DATA, N_ROWS, both_kinds, rows, spec_of

from .examples import EVERY_LIKELIHOOD_WITH_DATA, build

every_likelihood = pytest.mark.parametrize("name", LIKELIHOODS)
every_data = pytest.mark.parametrize(("name", "kind"), EVERY_LIKELIHOOD_WITH_DATA)


def outputs(likelihood: Part) -> torch.Tensor:
    return torch.randn(N_ROWS, likelihood.n_outputs, generator=torch.Generator().manual_seed(0))


@every_data
def test_a_rebuilt_likelihood_has_the_same_density(name: str, kind: str) -> None:
    likelihood, x = build(LIKELIHOODS, name), rows(kind)
    likelihood.fit(as_dataset(x.numpy()).moments())
    again = Part.from_config(likelihood.to_config())
    again.load_state_dict(likelihood.state_dict())
    out = outputs(likelihood)
    for given in both_kinds(x):
        assert torch.equal(again(out).log_prob(given), likelihood(out).log_prob(given))


@every_data
def test_dense_and_ragged_rows_have_the_same_density(name: str, kind: str) -> None:
    likelihood, x = build(LIKELIHOODS, name), rows(kind)
    likelihood.fit(as_dataset(x.numpy()).moments())
    dense, ragged = (likelihood(outputs(likelihood)).log_prob(given) for given in both_kinds(x))
    assert dense.isfinite().all()
    torch.testing.assert_close(dense, ragged, rtol=2e-5, atol=2e-4)


@every_likelihood
def test_data_outside_the_support_are_refused_in_one_sentence(name: str) -> None:
    refused = [kind for kind in KINDS_OF_DATA if (name, kind) not in EVERY_LIKELIHOOD_WITH_DATA]
    for kind in refused:
        with pytest.raises(InvalidInputError, match=r"^The data .*\.$"):
            build(LIKELIHOODS, name).check(spec_of(rows(kind)))


@every_likelihood
def test_it_starts_finite_on_constant_columns(name: str) -> None:
    likelihood, x = build(LIKELIHOODS, name), torch.ones(N_ROWS, 5)
    moments = as_dataset(x.numpy()).moments()
    likelihood.fit(moments)
    out = likelihood.output_bias(moments).expand(N_ROWS, -1)
    assert likelihood(out).log_prob(Dense(x)).isfinite().all()
