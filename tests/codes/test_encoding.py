"""From models and rows to codes: sparse patterns, ceilings, bounds and gaps."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from fewhot.codes import encode, encode_values, score
from fewhot.codes.encoding import JUDGES, SCORE_DRAWS, Encoding
from fewhot.data import as_dataset
from fewhot.inference import exact_bound, importance_bound
from fewhot.models import LatentModel, vae, vsc
from tests.parts import FAMILIES, batch_of, rows, small_model, spec_of

PLAIN = Encoding()
X = rows(n_rows=30)
DATA = as_dataset(X.numpy())


def psi_of(model: LatentModel) -> dict[str, torch.Tensor]:
    with torch.no_grad():
        return model.psi(batch_of(X))


def score_bank(model: LatentModel, n: int = SCORE_DRAWS) -> list:
    return model.bank(n, 0, "score", torch.device("cpu"))


def dense(matrix: object) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else matrix


def busy_model() -> LatentModel:
    """Return a gated model with several units on in most rows."""
    model = small_model("spike-slab")
    with torch.no_grad():
        model.latent.heads.bias[:4] += torch.tensor([0.0, 1.5, 1.0, 2.0])
    counts = (psi_of(model)["logits"] > 0).sum(1)
    assert counts.max() == 4
    assert counts.min() < 4
    return model


def test_the_map_code_is_the_slab_mean_of_units_more_likely_on_than_off() -> None:
    model = busy_model()
    psi = psi_of(model)
    expected = torch.where(psi["logits"] > 0, psi["loc"], 0.0).numpy()
    codes = encode_values(model, DATA, PLAIN, sparse=True)
    assert isinstance(codes, sp.csr_array)
    assert codes.nnz == (expected != 0).sum()
    np.testing.assert_allclose(codes.toarray(), expected, rtol=1e-5)
    assert 0 < codes.nnz < expected.size


def test_dense_and_sparse_output_hold_the_same_code() -> None:
    model = small_model("spike-slab")
    as_dense, as_sparse = (encode_values(model, DATA, PLAIN, sparse=flag) for flag in (False, True))
    assert isinstance(as_dense, np.ndarray)
    np.testing.assert_array_equal(as_dense, as_sparse.toarray())


def test_families_without_gates_are_dense() -> None:
    codes = encode(small_model("gaussian"), DATA, PLAIN, sparse=True)
    assert isinstance(codes.values, np.ndarray)
    assert isinstance(codes.variance, np.ndarray)
    assert codes.p_active is None
    assert codes.gap is None
    assert len(codes) == 30


def test_values_and_variance_share_a_pattern_and_probabilities_have_their_own() -> None:
    model = busy_model()
    with torch.no_grad():
        model.latent.heads.bias[3] -= 9.0
    codes, psi = encode(model, DATA, PLAIN, sparse=True), psi_of(model)
    np.testing.assert_array_equal(codes.values.indptr, codes.variance.indptr)
    np.testing.assert_array_equal(codes.values.indices, codes.variance.indices)
    active = psi["logits"] > 0
    np.testing.assert_allclose(codes.variance.data, psi["logvar"].exp()[active].numpy(), rtol=1e-5)
    p = psi["logits"].sigmoid().numpy()
    np.testing.assert_allclose(codes.p_active.toarray(), np.where(p >= 0.01, p, 0.0), rtol=1e-5)
    assert 0 < codes.values.nnz < codes.p_active.nnz < p.size


def test_a_ceiling_keeps_the_most_probable_units() -> None:
    model = busy_model()
    logits = psi_of(model)["logits"]
    free = dense(encode_values(model, DATA, PLAIN, sparse=True))
    for ceiling in (1, 2, 4, 9):
        capped = dense(encode_values(model, DATA, Encoding(max_active=ceiling), sparse=True))
        for row in range(30):
            likely = [int(j) for j in logits[row].argsort(descending=True) if logits[row, j] > 0][:ceiling]
            assert capped[row].nonzero()[0].tolist() == sorted(likely)
        np.testing.assert_array_equal(capped[capped != 0], free[capped != 0])


def test_a_ceiling_means_nothing_without_gates() -> None:
    model = small_model("gaussian")
    one, other = (encode_values(model, DATA, how, sparse=True) for how in (PLAIN, Encoding(max_active=1)))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("family", FAMILIES)
def test_bounds_are_the_exact_ones_on_the_bank_of_the_seed(family: str) -> None:
    model = small_model(family)
    expected = exact_bound(model, batch_of(X), score_bank(model)).numpy()
    np.testing.assert_allclose(encode(model, DATA, PLAIN, sparse=True).bound, expected, rtol=1e-5)
    np.testing.assert_allclose(score(model, DATA, PLAIN), expected, rtol=1e-5)
    assert not np.allclose(score(model, DATA, Encoding(seed=1)), expected)


def test_a_random_observation_is_drawn_and_encoded_anew_for_every_draw_of_the_bank() -> None:
    x = rows("grey", n_rows=20)
    model = vae(spec_of(x), n_latent=4, hidden_layer_sizes=(7,), observation="stochastic-binarise")
    bank = score_bank(model, 6)
    one_by_one = torch.stack([exact_bound(model, batch_of(x), [noise]) for noise in bank])
    torch.testing.assert_close(exact_bound(model, batch_of(x), bank), one_by_one.mean(0))
    assert (one_by_one.std(0) > 0).any()


def test_refined_bounds_are_about_the_rows_that_were_refined() -> None:
    x = rows("grey", n_rows=20)
    model = vae(spec_of(x), n_latent=4, hidden_layer_sizes=(7,), observation="stochastic-binarise")
    codes = encode(model, as_dataset(x.numpy()), Encoding(refine_steps=30), sparse=True)
    seen = model.observe(batch_of(x), model.bank(JUDGES, 0, "refinement", torch.device("cpu"))[0])
    before = exact_bound(model, seen, score_bank(model)).numpy()
    np.testing.assert_allclose(codes.bound - codes.gap, before, rtol=1e-5)
    assert codes.gap.mean() > 0


@pytest.mark.parametrize("family", FAMILIES)
def test_importance_draws_give_the_importance_bound(family: str) -> None:
    model = small_model(family)
    expected = importance_bound(model, batch_of(X), score_bank(model, 7)).numpy()
    np.testing.assert_allclose(score(model, DATA, PLAIN, importance_draws=7), expected, rtol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("refine_steps", [0, 3])
def test_batch_size_and_row_order_change_nothing(
    family: str, refine_steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, how = small_model(family), Encoding(refine_steps=refine_steps)
    order = np.random.default_rng(0).permutation(30)
    whole = encode(model, DATA, how, sparse=True)
    monkeypatch.setattr(sys.modules["fewhot.codes.encoding"], "BATCH", 7)
    parts = encode(model, DATA.subset(order), how, sparse=True)
    np.testing.assert_allclose(dense(parts.values), dense(whole.values)[order], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(parts.bound, whole.bound[order], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_gap_is_what_refinement_gained_on_fresh_noise(family: str) -> None:
    model = small_model(family)
    plain, refined = (encode(model, DATA, Encoding(refine_steps=n), sparse=True) for n in (0, 40))
    np.testing.assert_allclose(refined.gap, refined.bound - plain.bound, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(score(model, DATA, Encoding(refine_steps=40)), refined.bound, rtol=1e-5)
    assert refined.gap.mean() > 0.05


@pytest.mark.parametrize("family", FAMILIES)
def test_encoding_is_deterministic_and_leaves_the_global_generator_and_the_model(family: str) -> None:
    model = small_model(family)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    before = torch.get_rng_state()
    one = encode(model, DATA, Encoding(refine_steps=2), sparse=True)
    torch.rand(5)
    other = encode(model, DATA, Encoding(refine_steps=2), sparse=True)
    np.testing.assert_array_equal(dense(one.values), dense(other.values))
    np.testing.assert_array_equal(one.bound, other.bound)
    torch.manual_seed(0)
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("make", [vae, vsc])
@pytest.mark.parametrize("kind", ["grey", "counts", "real"])
@pytest.mark.parametrize("observation", ["as-is", "unit-norm"])
def test_sparse_and_dense_rows_have_the_same_codes_and_bounds(make: object, kind: str, observation: str) -> None:
    x = rows(kind, n_rows=25)
    data, sparse = as_dataset(x.numpy()), as_dataset(sp.csr_array(x.numpy()))
    for spec in (data.spec, sparse.spec):
        model = make(spec, n_latent=4, hidden_layer_sizes=(7,), observation=observation)
        model.fit_features(data.moments(model.observation))
        one, other = (encode(model, rows_, PLAIN, sparse=True) for rows_ in (data, sparse))
        np.testing.assert_allclose(dense(one.values), dense(other.values), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(one.bound, other.bound, rtol=1e-4, atol=1e-3)


def test_a_row_of_zeros_has_a_code_and_a_bound() -> None:
    model = vsc(spec_of(X), n_latent=4, hidden_layer_sizes=(7,), observation="unit-norm", likelihood="gaussian")
    codes = encode(model, as_dataset(np.zeros((3, 5), dtype=np.float32)), Encoding(refine_steps=2), sparse=True)
    assert codes.values.shape == (3, 4)
    assert np.isfinite(codes.bound).all()


def test_a_code_without_an_active_unit_is_an_empty_matrix() -> None:
    model = small_model("spike-slab")
    with torch.no_grad():
        model.latent.heads.bias[:4] = -100.0
    codes = encode(model, DATA, PLAIN, sparse=True)
    assert (codes.values.nnz, codes.p_active.nnz, codes.values.shape) == (0, 0, (30, 4))
