"""The dial under recipes whose gates have another head."""

from __future__ import annotations

import pytest
from sklearn.datasets import load_digits

import fewhot as fh

X = load_digits().data / 16


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("prior", ["fixed", "pseudo-inputs"])
def test_the_shift_of_gates_is_one_of_logits_under_every_head(prior: str) -> None:
    arguments = {"hidden_layer_sizes": (30,), "max_steps": 300, "random_state": 0, "validation_fraction": 0.0}
    model = fh.VSC(8, l0=3, recipe="uai2019", prior=prior, n_iter_no_change=None, **arguments).fit(X)
    active = model.transform(X).nnz / len(X)
    assert active == pytest.approx(3, rel=0.05)
    assert model.gate_shift_ != 0
