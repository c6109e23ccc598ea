"""Recovery of planted codes and dictionaries."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

import fewhot as fh
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.metrics import activity_probabilities, recovery, unit_directions
from tests.metrics.conftest import PlantedRows


def test_the_planted_code_itself_is_recovered_whole(planted: PlantedRows) -> None:
    order = [3, 1, 0, 5, 4, 2]
    found = recovery(-planted.codes[:, order], planted.codes, planted.dictionary[order] * -2.0, planted.dictionary)
    assert (found.support_f1, found.support_auc, found.surplus) == pytest.approx((1.0, 1.0, 0.0))
    assert found.matching == pytest.approx(1.0)
    assert found.cosine == pytest.approx(1.0)
    assert sorted(found.pairs.tolist()) == sorted([unit, atom] for unit, atom in enumerate(order))


def test_noise_recovers_nothing(planted: PlantedRows) -> None:
    rng = np.random.default_rng(5)
    noise = rng.normal(size=planted.codes.shape) * (rng.random(planted.codes.shape) < 0.25)
    found = recovery(noise, planted.codes, rng.normal(size=(6, 12)), planted.dictionary)
    assert found.matching < 0.2
    assert found.support_f1 < 0.35
    assert found.support_auc == pytest.approx(0.5, abs=0.08)
    assert found.cosine is not None
    assert found.cosine < 0.5


def test_an_atom_without_a_unit_is_missed(planted: PlantedRows) -> None:
    found = recovery(planted.codes[:, :3], planted.codes, planted.dictionary[:3], planted.dictionary)
    hits = (planted.codes[:, :3] != 0).sum()
    assert found.matching == pytest.approx(0.5)
    assert found.cosine == pytest.approx(0.5)
    assert found.support_auc == pytest.approx(0.75)
    assert found.support_f1 == pytest.approx(2 * hits / (hits + (planted.codes != 0).sum()))


def test_activations_of_units_without_an_atom_are_surplus(planted: PlantedRows) -> None:
    rng = np.random.default_rng(0)
    extra = rng.normal(size=(600, 2)) * (rng.random((600, 2)) < 0.5)
    found = recovery(np.hstack([planted.codes, extra]), planted.codes)
    assert found.matching == pytest.approx(1.0)
    assert found.surplus == pytest.approx((extra != 0).sum() / ((extra != 0).sum() + (planted.codes != 0).sum()))
    assert found.cosine is None


def test_the_area_is_that_of_scikit_learn(planted: PlantedRows) -> None:
    rng = np.random.default_rng(0)
    p = np.round(np.clip((planted.codes != 0) * 0.5 + rng.random(planted.codes.shape) * 0.7, 0, 1), 1)  # with ties
    expected = np.mean([roc_auc_score(planted.codes[:, j] != 0, p[:, j]) for j in range(6)])
    assert recovery(planted.codes, planted.codes, p_active=p).support_auc == pytest.approx(expected)


def test_sparse_codes_are_recovered_alike(planted: PlantedRows) -> None:
    codes = planted.codes + 0.3 * np.roll(planted.codes, 1, axis=1)
    dense, sparse = recovery(codes, planted.codes), recovery(sp.csr_array(codes), sp.csr_array(planted.codes))
    assert dense.support_f1 == pytest.approx(sparse.support_f1)
    assert dense.support_auc == pytest.approx(sparse.support_auc)


def test_a_fitted_model_recovers_more_than_chance(vsc: fh.VSC, planted: PlantedRows) -> None:
    codes, p = vsc.transform(planted.X), activity_probabilities(vsc, planted.X)
    found = recovery(codes, planted.codes, unit_directions(vsc), planted.dictionary, p)
    shuffled = np.random.default_rng(0).permutation(600)
    chance = recovery(codes[shuffled], planted.codes, unit_directions(vsc), planted.dictionary, p[shuffled])
    assert found.support_auc > chance.support_auc + 0.1
    assert found.matching > 3 * chance.matching


def test_the_direction_of_a_unit_is_what_it_adds_to_the_decoded_row(vsc: fh.VSC) -> None:
    directions = unit_directions(vsc, sizes=np.arange(1.0, 9.0))
    code = np.zeros((1, 8))
    code[0, 2] = 3.0
    expected = vsc.inverse_transform(code)[0] - vsc.inverse_transform(np.zeros((1, 8)))[0]
    assert directions.shape == (8, 12)
    assert directions[2] == pytest.approx(expected, abs=1e-5)


def test_sizes_of_another_length_are_refused(vsc: fh.VSC) -> None:
    with pytest.raises(InvalidParameterError, match="sizes has shape"):
        unit_directions(vsc, sizes=np.ones(3))


def test_one_dictionary_alone_is_refused(planted: PlantedRows) -> None:
    with pytest.raises(InvalidParameterError, match="both or neither"):
        recovery(planted.codes, planted.codes, dictionary=planted.dictionary)


def test_dictionaries_of_other_shapes_are_refused(planted: PlantedRows) -> None:
    with pytest.raises(InvalidInputError, match=r"\(6, D\)"):
        recovery(planted.codes, planted.codes, planted.dictionary[:4], planted.dictionary)
