"""Classifiers that average over draws of a code, against loops that can be read at a glance."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import fewhot as fh
from fewhot import FewhotError
from fewhot.metrics import code_matrix, marginal_probe, marginal_probe_codes, stratified_rows
from fewhot.metrics.code_draws import FixedCodes, PosteriorDraws
from fewhot.metrics.marginal_classifier import (
    LabelledCodes,
    Training,
    answers,
    marginal_log_prob,
    new_classifier,
    trained_classifier,
)
from tests.estimators.cases import assert_one_sentence
from tests.metrics.conftest import PlantedRows

QUICK: dict[str, Any] = {"learning_rate": 1e-2, "batch_size": 32}


def blobs(n: int, spread: float = 0.1, n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(n) % n_classes
    return np.eye(n_classes, 5)[y] + spread * rng.normal(size=(n, 5)), y


def probe_planted(model: Any, planted: PlantedRows, **options: Any) -> Any:
    X, y = planted.X, planted.labels
    return marginal_probe(model, X[:400], y[:400], X[400:], y[400:], **QUICK | options)


# ------------------------------------------------------------------------------------------------------- loss


def test_the_loss_is_that_of_the_mean_probability() -> None:
    logits = torch.randn(5, 7, 3, generator=torch.Generator().manual_seed(0))
    found = marginal_log_prob(logits)
    for row in range(7):
        for label in range(3):
            said = [np.exp(l[row]) / np.exp(l[row]).sum() for l in logits.double().numpy()]
            assert found[row, label].item() == pytest.approx(np.log(np.mean([p[label] for p in said])), abs=1e-5)


def test_it_is_not_the_mean_of_the_losses() -> None:
    logits = 3 * torch.randn(5, 7, 3, generator=torch.Generator().manual_seed(0))
    mean_of_logs = logits.log_softmax(-1).mean(0)
    gap = marginal_log_prob(logits) - mean_of_logs
    assert (gap > 0).all()
    assert gap.mean() > 0.5
    one = logits[:1].expand(5, 7, 3)
    torch.testing.assert_close(marginal_log_prob(one), one.log_softmax(-1).mean(0))


def test_answers_agree_with_a_loop_over_draws() -> None:
    rng = np.random.default_rng(0)
    draws = torch.from_numpy(rng.normal(size=(4, 9, 5)).astype(np.float32))
    y = rng.integers(0, 3, 9)

    class Given:
        n_draws, n_rows, n_units, device = 4, 9, 5, torch.device("cpu")

        def draw(self, rows: np.ndarray, generator: torch.Generator) -> torch.Tensor:
            return draws[:, rows]

    classifier = new_classifier(5, 3, 0)
    with torch.no_grad():
        said = [sum(classifier(draws[k, row]).softmax(-1) for k in range(4)) / 4 for row in range(9)]
    found = answers(classifier, LabelledCodes(Given(), np.arange(9), y), 0)
    assert found.nll == pytest.approx(np.mean([-np.log(p[label].item()) for p, label in zip(said, y, strict=True)]))
    assert found.accuracy == np.mean([p.argmax().item() == label for p, label in zip(said, y, strict=True)])


def test_the_classifier_has_two_leaky_layers_of_32() -> None:
    layers = list(new_classifier(5, 3, 0))
    assert [layer.weight.shape for layer in layers[::2]] == [(32, 5), (32, 32), (3, 32)]  # type: ignore[union-attr]
    assert [layer.negative_slope for layer in layers[1::2]] == [0.01, 0.01]


# ------------------------------------------------------------------------------------------------------ draws


@pytest.mark.parametrize("make", [lambda: fh.HSVAE(4, l0=2), lambda: fh.VAE(4), lambda: fh.SDLGM(4, l0=2)])
def test_draws_are_fresh_and_of_the_posterior(planted: PlantedRows, make: Any) -> None:
    model = make().set_params(hidden_layer_sizes=(8,), max_steps=5, random_state=0, device="cpu").fit(planted.X[:50])
    codes = PosteriorDraws(model, planted.X[:6], 4000)
    generator = torch.Generator().manual_seed(0)
    rows = np.array([4, 1])
    z = codes.draw(rows, generator).numpy()
    assert z.shape == (4000, 2, 4)
    expected = code_matrix(model, planted.X[:6], "mean")[rows]
    assert (np.abs(z.mean(axis=0) - expected) < 4 * z.std(axis=0) / np.sqrt(4000) + 1e-6).all()
    assert (codes.draw(rows, generator).numpy() != z).any()


def test_hierarchical_draws_have_a_fresh_rate_each(planted: PlantedRows) -> None:
    model = fh.HSVAE(
        4, l0=2, form="hierarchical", slab_sees_gamma=True, hidden_layer_sizes=(8,), max_steps=5, random_state=0
    )
    codes = PosteriorDraws(model.fit(planted.X[:50]), planted.X[:1], 3)
    seen: list[torch.Tensor] = []
    drawn = model.module_.latent.draw

    def watched(q: Any, noise: dict[str, torch.Tensor]) -> Any:
        seen.append(noise["beta_on"])
        return drawn(q, noise)

    model.module_.latent.draw = watched  # type: ignore[method-assign]
    codes.draw(np.array([0]), torch.Generator().manual_seed(0))
    assert len(np.unique(seen[0][:, 0].numpy())) == 3


def test_rows_are_encoded_once(vsc: fh.VSC, planted: PlantedRows, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    psi = vsc.module_.psi
    monkeypatch.setattr(vsc.module_, "psi", lambda batch: seen.append(batch.x.n_rows) or psi(batch))
    probe_planted(vsc, planted, max_epochs=3)
    assert sum(seen) == 600


def test_as_many_draws_are_used_as_asked_for(vsc: fh.VSC, planted: PlantedRows) -> None:
    drawn: list[int] = []
    draw = PosteriorDraws.draw

    class Watched(PosteriorDraws):
        def draw(self, rows: np.ndarray, generator: torch.Generator) -> torch.Tensor:
            z = draw(self, rows, generator)
            drawn.append(len(z))
            return z

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fewhot.metrics.marginal_probing.PosteriorDraws", Watched)
        assert probe_planted(vsc, planted, n_draws=3, max_epochs=1).n_draws == 3
    assert set(drawn) == {3}


# ----------------------------------------------------------------------------------------------------- probes


@pytest.mark.parametrize("kind", ["sample", "mean", "map"])
def test_a_planted_unit_is_read_from_codes(vsc: fh.VSC, planted: PlantedRows, kind: str) -> None:
    found = probe_planted(vsc, planted, kind=kind)
    assert (found.kind, found.n_draws) == (kind, 5 if kind == "sample" else 1)
    assert found.accuracy > found.majority + 4 * found.se
    assert found.se == pytest.approx(np.sqrt(found.accuracy * (1 - found.accuracy) / 200))
    assert found.majority == pytest.approx(np.bincount(planted.labels[400:]).max() / 200)


def test_a_seed_fixes_everything_and_torchs_own_generator_nothing(vsc: fh.VSC, planted: PlantedRows) -> None:
    first = probe_planted(vsc, planted, max_epochs=3)
    torch.manual_seed(7)
    state = torch.get_rng_state()
    assert probe_planted(vsc, planted, max_epochs=3) == first
    assert (torch.get_rng_state() == state).all()
    assert probe_planted(vsc, planted, max_epochs=3, random_state=1) != first


def test_separable_classes_are_told_apart() -> None:
    X, y = blobs(300)
    found = marginal_probe_codes(X[:200], y[:200], X[200:], y[200:], **QUICK)
    assert found.accuracy == 1.0
    assert found.nll < 0.05
    assert (found.kind, found.n_draws) == ("features", 1)


def test_sparse_features_and_named_classes_give_the_same_probe() -> None:
    X, y = blobs(120, spread=0.6)
    names = np.array(["fig", "pear", "plum"])[y]  # in the order of the numbers
    dense = marginal_probe_codes(X[:80], y[:80], X[80:], y[80:], **QUICK)
    sparse = marginal_probe_codes(sp.csr_array(X[:80]), names[:80].tolist(), sp.csr_array(X[80:]), names[80:], **QUICK)
    assert sparse == dense


def test_texts_are_probed() -> None:
    texts = ["the sea is blue", "the sun is hot"] * 40
    model = fh.HSVAE(8, l0=2, hidden_layer_sizes=(16,), max_steps=12, random_state=0, device="cpu").fit(texts)
    y = np.arange(80) % 2
    found = marginal_probe(model, texts[:60], y[:60], texts[60:], y[60:], X_val=texts[:9], y_val=y[:9], max_epochs=2)
    assert 0 <= found.accuracy <= 1
    assert np.isfinite(found.nll)


def test_a_tenth_is_held_out_in_proportion_and_never_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = blobs(100, n_classes=2)
    parts: list[LabelledCodes] = []

    def watched(train: LabelledCodes, held_out: LabelledCodes, *rest: Any) -> Any:
        parts.extend([train, held_out])
        return trained_classifier(train, held_out, *rest)

    monkeypatch.setattr("fewhot.metrics.marginal_probing.trained_classifier", watched)
    marginal_probe_codes(X, y, X, y, max_epochs=1)
    train, held_out = parts
    assert np.bincount(held_out.places[held_out.rows]).tolist() == [5, 5]
    assert sorted([*train.rows, *held_out.rows]) == list(range(100))


def test_the_best_epoch_is_kept() -> None:
    X, y = blobs(90, spread=1.0)
    rows = stratified_rows(y, 30)
    rest = np.setdiff1d(np.arange(90), rows)
    codes = FixedCodes(X, "X")
    train, held_out = LabelledCodes(codes, rows, y), LabelledCodes(codes, rest, y)
    hasty = {"learning_rate": 0.1, "batch_size": 10}  # overfits soon
    seen = [
        answers(trained_classifier(train, held_out, 3, Training(max_epochs=n, patience=n, **hasty), 0), held_out, 0)
        for n in range(1, 16)
    ]
    assert all(not before.better_than(after) for before, after in pairwise(seen))
    assert seen[-1] in seen[:-1]  # later epochs were worse, and not kept
    stopped = trained_classifier(train, held_out, 3, Training(max_epochs=10_000, patience=4, **hasty), 0)
    assert answers(stopped, held_out, 0).accuracy >= seen[0].accuracy


# --------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"y_train": np.zeros(30)}, "all of one class"),
        ({"y_train": [0, 1]}, r"y_train has shape \(2,\) and train has 30 rows"),
        ({"y_test": np.r_[np.nan, np.zeros(29)]}, "1 of 30 labels in y_test are missing"),
        ({"y_test": np.full(30, 7)}, "y_test has the class 7, which no training row has"),
        ({"train": np.full((30, 5), np.nan)}, "train contains NaN or infinity"),
        ({"test": np.zeros((30, 4))}, "test has 4 columns and the training rows have 5"),
        ({"val": np.zeros((30, 5))}, "val was given without y_val"),
        ({"y_val": np.zeros(30)}, "y_val was given without val"),
        ({"max_epochs": 0}, "max_epochs is 0"),
        ({"learning_rate": 0}, "learning_rate is 0"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else None,
)
def test_what_cannot_be_probed_is_refused_in_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    X, y = blobs(30)
    with pytest.raises(FewhotError, match=sentence) as caught:
        marginal_probe_codes(**{"train": X, "y_train": y, "test": X, "y_test": y} | changes)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"kind": "slab_mean"}, "kind is 'slab_mean'"),
        ({"n_draws": 0}, "n_draws is 0"),
        ({"y_val": [0]}, "y_val was given without X_val"),
    ],
)
def test_bad_options_are_refused_in_one_sentence(
    vsc: fh.VSC, planted: PlantedRows, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(FewhotError, match=sentence) as caught:
        probe_planted(vsc, planted, **changes)
    assert_one_sentence(caught.value)


def test_draws_of_refined_codes_are_refused(vae: fh.VAE, planted: PlantedRows) -> None:
    refining = copy.deepcopy(vae).set_params(refine_steps=2)
    with pytest.raises(FewhotError, match="refines its codes"):
        probe_planted(refining, planted)
