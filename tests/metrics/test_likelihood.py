"""Bounds with their errors, what relaxed gates add, and perplexity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import fewhot as fh
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.core.records import Batch, Dense, Knobs
from fewhot.core.seeding import stream
from fewhot.metrics import (
    exact_bound,
    information,
    iwae,
    mutual_information,
    perplexities,
    perplexity,
    reconstruction,
    relaxation_gap,
    relaxed_bound,
)
from tests.metrics.conftest import PlantedRows


def test_the_bound_is_the_mean_of_the_rows_scores(vsc: fh.VSC, planted: PlantedRows) -> None:
    rows = vsc.score_samples(planted.X).astype(float)
    found = exact_bound(vsc, planted.X)
    assert found.mean == pytest.approx(vsc.score(planted.X), rel=1e-6)
    assert found.se == pytest.approx(rows.std(ddof=1) / math.sqrt(len(rows)))


def test_more_draws_tighten_the_importance_weighted_bound(vsc: fh.VSC, planted: PlantedRows) -> None:
    X = planted.X[:200]
    one, many = iwae(vsc, X, 2), iwae(vsc, X, 200)
    assert exact_bound(vsc, X).mean < many.mean
    assert one.mean < many.mean
    assert many.values == pytest.approx(vsc.log_likelihood(X, 200))


def test_information_of_gaussian_codes_is_the_closed_form(vae: fh.VAE, planted: PlantedRows) -> None:
    with torch.no_grad():
        psi = vae.module_.psi(Batch(Dense(torch.from_numpy(planted.X))))
    loc, logvar = psi["loc"].numpy().astype(float), psi["logvar"].numpy().astype(float)
    expected = 0.5 * (loc**2 + np.exp(logvar) - logvar - 1).sum(axis=1)
    assert information(vae, planted.X).values == pytest.approx(expected, abs=1e-3)


def test_gates_that_are_exact_on_the_way_forward_flatter_nothing(vsc: fh.VSC, planted: PlantedRows) -> None:
    assert relaxation_gap(vsc, planted.X).values == pytest.approx(np.zeros(600), abs=1e-3)


def test_families_without_gates_flatter_nothing(vae: fh.VAE, planted: PlantedRows) -> None:
    assert not relaxation_gap(vae, planted.X).values.any()


def test_soft_gates_show_what_they_add(planted: PlantedRows) -> None:
    model = fh.VSC(n_components=4, recipe="iclr2019", hidden_layer_sizes=(8,), max_steps=20, random_state=0)
    X = planted.X[:50]
    module = model.fit(X).module_
    found, whole = relaxation_gap(model, X, n_draws=3), relaxed_bound(model, X, n_draws=3)
    relaxed, gain, softly = module.knobs(torch.tensor(20)), torch.zeros(50), torch.zeros(50)
    generator = stream(model.seed_, "gates of training")
    assert relaxed.gates == "relaxed"
    with torch.no_grad():
        seen = module.observe(Batch(Dense(torch.from_numpy(X))), {})
        for _ in range(3):
            noise = module.latent.noise(50, generator)  # every row has its own
            soft, hard = (module.run(module.psi(seen), seen, knobs, noise) for knobs in (relaxed, Knobs()))
            gain += soft.px.log_prob(seen.x) - hard.px.log_prob(seen.x)  # the divergence is the same
            softly += module.bound(soft)
    assert found.values == pytest.approx((gain / 3).numpy(), abs=1e-3)
    assert whole.values == pytest.approx((softly / 3).numpy(), abs=1e-3)
    assert np.abs(found.values).max() > 1e-2


def test_perplexity_of_a_uniform_model_is_the_size_of_the_vocabulary() -> None:
    lengths = np.array([3, 10, 250])
    for average in ("document", "corpus"):
        assert perplexity(-lengths * math.log(2000), lengths, average) == pytest.approx(2000)


def test_the_two_perplexities_weigh_documents_differently() -> None:
    bounds, lengths = [-10.0, -300.0], [5, 100]
    assert perplexity(bounds, lengths, "document") == pytest.approx(math.exp((10 / 5 + 300 / 100) / 2))
    assert perplexity(bounds, lengths, "corpus") == pytest.approx(math.exp(310 / 105))


def test_empty_documents_are_left_out_and_counted() -> None:
    found = perplexities([-10.0, -0.7, -300.0], [5, 0, 100])
    assert (found.n_documents, found.empty) == (2, 1)
    assert found.document == perplexity([-10.0, -300.0], [5, 100]) == perplexity([-10.0, -0.7, -300.0], [5, 0, 100])
    assert found.corpus == perplexity([-10.0, -300.0], [5, 100], "corpus")


def test_the_error_of_perplexity_is_that_of_repeated_draws() -> None:
    rng = np.random.default_rng(0)
    rates = rng.normal(2.0, 0.3, size=(2000, 50))
    stated = perplexities(-rates[0], np.ones(50)).document_se
    assert np.exp(rates.mean(axis=1)).std() == pytest.approx(stated, rel=0.25)


@pytest.mark.parametrize(
    ("bounds", "lengths", "sentence"),
    [
        ([-1.0, -2.0], [0, 0], "None of the 2 documents has words"),
        ([-1.0], [-1], "whole numbers of words"),
        ([-1.0], [0.5], "whole numbers of words"),
        ([np.nan], [1], "must be finite"),
        (np.ma.masked_less([-1.0, 2.0], 0), [1, 1], "bounds has 1 masked of 2 entries"),
        ([-1.0], [1, 2], "give one of each a document"),
        ([], [], "None of the 0 documents"),
        ([-1.0, -2.0], sp.csr_array(np.eye(2)), "lengths is of type csr_array; give one number a row"),
        ([-1.0, -2.0], np.eye(2), r"shapes \(2,\) and \(2, 2\); give one of each"),
        ("all", [1], "bounds is of type str"),
    ],
)
def test_bad_bounds_and_lengths_get_one_sentence(bounds: Any, lengths: Any, sentence: str) -> None:
    with pytest.raises(InvalidInputError, match=sentence):
        perplexities(bounds, lengths)


def test_an_unknown_average_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="average is 'word'"):
        perplexity([-1.0], [1], "word")


def test_two_groups_far_apart_are_told_apart_by_one_bit(vae: fh.VAE, monkeypatch: pytest.MonkeyPatch) -> None:
    loc = torch.tensor([50.0, -50.0])[torch.arange(60) % 2][:, None].expand(60, vae.n_components)
    psi = {"loc": loc, "logvar": torch.zeros_like(loc)}
    halves = [(None, {name: value[rows] for name, value in psi.items()}) for rows in (slice(0, 40), slice(40, 60))]
    monkeypatch.setattr("fewhot.metrics.likelihood.encoded", lambda *_: iter(halves))
    assert mutual_information(vae, None).values == pytest.approx(np.full(60, math.log(2)), abs=1e-4)


@pytest.mark.parametrize("name", ["vae", "vsc"])
def test_codes_tell_no_more_apart_than_they_cost(name: str, request: Any, planted: PlantedRows) -> None:
    model = request.getfixturevalue(name)
    told = mutual_information(model, planted.X)
    assert 0 < told.mean <= min(information(model, planted.X).mean + 3 * told.se, math.log(600))
    fewer = mutual_information(model, planted.X, n_rows=50)
    assert len(fewer.values) == 50
    assert fewer.mean <= math.log(50)


def test_what_is_left_of_the_bound_is_the_divergence(vae: fh.VAE, planted: PlantedRows) -> None:
    said, cost = reconstruction(vae, planted.X, n_draws=64), information(vae, planted.X)
    assert said.mean - cost.mean == pytest.approx(exact_bound(vae, planted.X).mean, abs=0.05)
