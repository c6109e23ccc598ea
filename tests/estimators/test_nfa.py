"""NFA: counts in, codes and perplexities out, and nothing dense on the way."""

from __future__ import annotations

import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fewhot import NFA, FewhotError, load
from fewhot.baselines import MultVAE
from fewhot.inference import SVI, Amortised, Refined
from fewhot.nn import Blank
from tests.estimators.cases import SMALL, assert_one_sentence, count_rows, dense, same_weights

FAST: dict[str, Any] = SMALL | {"inner_steps": 3, "inference": "refined"}


def documents(n_rows: int = 120, n_words: int = 40, n_topics: int = 4, seed: int = 0) -> sp.csr_array:
    """Return counts in which every row is about one topic, whose words no other topic has."""
    rng = np.random.default_rng(seed)
    topics = np.kron(np.eye(n_topics), np.ones(n_words // n_topics)) + 0.02
    about = topics[rng.integers(n_topics, size=n_rows)]
    return sp.csr_array(np.stack([rng.multinomial(12, row / row.sum()) for row in about]).astype(np.float32))


def test_perplexity_by_hand_and_without_empty_rows() -> None:
    X = sp.csr_array(documents().toarray() * (np.arange(120) != 3)[:, None])
    model = NFA(**FAST).fit(X)
    bound, words = model.score_samples(X).astype(float), X.sum(axis=1)
    kept = words > 0
    by_document = np.exp(-np.mean([b / n for b, n in zip(bound[kept], words[kept], strict=True)]))
    assert model.perplexity(X) == pytest.approx(by_document)
    assert model.perplexity(X, average="corpus") == pytest.approx(np.exp(-bound[kept].sum() / words[kept].sum()))
    assert bound[3] <= 0  # an empty row pays for its code alone


@pytest.mark.parametrize("inference", ["svi", "refined"])
def test_what_is_watched_is_refined_where_training_refines(inference: str) -> None:
    """Rows start an ascent at nothing, or at a network's word: either may get worse while the model learns."""
    known = {
        "n_components": 8,
        "hidden_layer_sizes": (64,),
        "inference": inference,
        "inner_steps": 30,
        "kl_weight": 0.5,
    }
    model = NFA(**known, max_steps=80, random_state=0).fit(documents(400))
    first, *_, last = (record["evaluation"] for record in model.history_)
    assert last["objective"] > first["objective"]
    assert last["objective"] > last["refined_bound"] > last["bound"]
    assert model.history_[-1]["step"] > 40  # and so training goes on


@pytest.mark.parametrize(
    ("inference", "latent", "n_steps"),
    [("amortised", "gaussian", 400), ("svi", "gaussian", 200), ("refined", "gaussian", 200),
     ("amortised", "spike-slab", 2000)],
)  # fmt: skip
def test_topics_are_learned(inference: str, latent: str, n_steps: int) -> None:
    X = documents(400)
    model = NFA(
        8, inference=inference, latent=latent, inner_steps=10, inner_learning_rate=0.1, hidden_layer_sizes=(32,),
        n_layers=2, max_steps=n_steps, batch_size=100, n_iter_no_change=None, random_state=0, device="cpu",
        l0=2 if latent == "spike-slab" else None,
    ).fit(X)  # fmt: skip
    unigram = np.asarray(X.sum(axis=0)).ravel() / X.sum()
    nothing_learned = np.exp(-(X @ np.log(unigram)).sum() / X.sum())
    assert model.set_params(refine_steps=50).perplexity(documents(100, seed=1)) < 0.7 * nothing_learned


def test_each_procedure_is_the_one_asked_for() -> None:
    X = count_rows()
    amortised, svi, refined = (NFA(**FAST | {"inference": h}).fit(X).module_ for h in ("amortised", "svi", "refined"))
    assert type(amortised.inference) is Amortised
    assert (type(svi.inference), type(svi.encoder.body)) == (SVI, Blank)
    assert type(refined.inference) is Refined
    assert all((p == 0).all() for p in svi.latent.parameters())
    assert type(NFA(**SMALL).fit(X).module_.inference) is Amortised
    assert type(NFA(**SMALL, recipe="krishnan2018", inner_steps=1).fit(X).module_.inference) is Refined


def test_codes_without_an_encoder_come_from_the_rows_own_ascent() -> None:
    X = documents()
    model = NFA(**FAST | {"max_steps": 200, "inner_steps": 20, "inference": "svi"}).fit(X)
    assert model.refine_steps_ == 20
    codes = model.transform(X)
    assert np.ptp(codes, axis=0).min() > 0.01
    assert model.codes(X).gap.mean() > 0


@pytest.mark.parametrize(("epochs", "steps"), [((0, 2), (0, 6)), ((2, None), (6, None)), ((1, 3), (3, 9))])
def test_epochs_of_optimised_parameters_are_counted_in_steps(epochs: Any, steps: Any) -> None:
    procedure = NFA(**FAST, refined_epochs=epochs).fit(count_rows()).module_.inference  # 50 rows by 20: 3 steps
    assert (procedure.begin, procedure.end) == steps


def test_early_and_late_refinement_are_different_fits() -> None:
    X = count_rows()
    fits = [NFA(**FAST, refined_epochs=epochs).fit(X) for epochs in ((0, 5), (5, None), None)]
    assert not any(same_weights(a, b) for i, a in enumerate(fits) for b in fits[:i])


@pytest.mark.parametrize("epochs", [(0, 2), (2, None)])
def test_an_encoder_taught_by_divergence_can_begin_or_end_to_be(epochs: Any) -> None:
    model = NFA(**FAST, encoder_by="kl", refined_epochs=epochs).fit(count_rows())
    taught = [record["terms"]["encoder/kl_to_local"] for record in model.history_]
    assert min(taught) == 0 < max(taught)


@pytest.mark.parametrize("options", [{"recipe": "liang2018"}, {"kl_annealing": "linear"}])
def test_a_short_fit_ends_with_the_whole_weight_of_the_divergence(options: dict[str, Any]) -> None:
    module = NFA(**SMALL, **options).fit(count_rows()).module_
    assert module.schedules["kl_weight"](torch.tensor(SMALL["max_steps"] // 2)) == 1
    assert module.settled_at <= SMALL["max_steps"] // 2


def test_history_shows_both_bounds() -> None:
    X = documents()
    record = NFA(**FAST | {"max_steps": 100, "inner_steps": 30}).fit(X).history_[-1]["evaluation"]
    assert record["refined_bound"] > record["bound"]
    assert "refined_bound" not in NFA(**SMALL).fit(X).history_[-1]["evaluation"]


@pytest.mark.parametrize(
    ("how", "weights"), [("linear", [0.01, 0.505, 1.0, 1.0]), ("exponential", [0.01, 0.1, 1.0, 1.0])]
)
def test_the_divergence_comes_in_as_asked(how: str, weights: list[float]) -> None:
    module = NFA(**FAST, kl_annealing=how, kl_annealing_steps=10).fit(count_rows()).module_
    found = [module.knobs(torch.tensor(step)).values["kl_weight"].item() for step in (0, 5, 10, 50)]
    assert found == pytest.approx(weights)


def test_the_recipe_of_mult_vae() -> None:
    module = MultVAE(4, max_steps=3, random_state=0, device="cpu").fit(count_rows()).module_
    assert (module.encoder.dropout, module.encoder.body.activation) == (0.5, "tanh")
    assert (module.decoder.hidden_layer_sizes, module.latent.n_latent) == ([600], 4)
    assert module.objective.terms[1].weight == 0.2
    growing = [module.knobs(torch.tensor(step)).values["kl_weight"].item() for step in (0, 1)]  # over half of 3 steps
    assert growing == pytest.approx([0.01, 1.0])


@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_layers_count_the_output(n_layers: int) -> None:
    module = NFA(**FAST, n_layers=n_layers).fit(count_rows()).module_
    assert module.decoder.hidden_layer_sizes == [8] * (n_layers - 1)


def test_dropout_is_for_training_alone() -> None:
    X = count_rows()
    model = NFA(**FAST, dropout=0.5).fit(X)
    np.testing.assert_array_equal(model.transform(X), model.transform(X))
    assert not same_weights(model, NFA(**FAST).fit(X))


@pytest.mark.parametrize(
    "change",
    [
        {"n_layers": 2}, {"inference": "amortised"}, {"inner_steps": 5}, {"inner_learning_rate": 0.1},
        {"inner_beta1": 0.1}, {"inner_keep": "best", "inner_learning_rate": 1.0}, {"phase_order": "encoder-first"},
        {"encoder_by": "kl"}, {"features": "norm"}, {"features": "counts"}, {"idf": "smooth"}, {"activation": "tanh"},
        {"weight_decay": 0.1}, {"kl_weight": 0.2}, {"kl_annealing": "linear"}, {"latent": "spike-slab"},
        {"likelihood": "poisson"}, {"likelihood": "negative-binomial"}, {"recipe": "krishnan2018"},
        {"recipe": "liang2018", "inference": "auto"},
    ],
    ids=str,
)  # fmt: skip
def test_the_argument_changes_the_fit(change: dict[str, Any]) -> None:
    X = count_rows()
    plain = NFA(**FAST)
    if "inner_keep" in change:
        plain.set_params(inner_learning_rate=1.0)
    assert not same_weights(plain.fit(X), NFA(**FAST | change).fit(X))


@pytest.mark.parametrize("inference", ["amortised", "svi", "refined"])
def test_decoupled_decay_is_another_fit_under_every_inference(inference: str) -> None:
    X, common = count_rows(), FAST | {"inference": inference, "weight_decay": 0.5}
    decoupled = NFA(**common, decoupled_weight_decay=True).fit(X)
    assert not same_weights(NFA(**common).fit(X), decoupled)
    assert not same_weights(NFA(**common | {"weight_decay": 0.0}).fit(X), decoupled)


# ------------------------------------------------------------------------------------------------------ recommending


def test_users_are_recommended_what_their_topic_has() -> None:
    X = documents(400)
    model = NFA(
        8, inference="amortised", hidden_layer_sizes=(32,), n_layers=2, max_steps=400, batch_size=100, random_state=0,
        n_iter_no_change=None, device="cpu",
    ).fit(X)  # fmt: skip
    new = sp.csr_array(np.kron(np.eye(4), [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]).astype(np.float32))
    ids, scores = model.recommend(new, 5)
    np.testing.assert_array_equal(np.sort(ids, axis=1), np.arange(40).reshape(4, 10)[:, 5:])
    assert (np.diff(scores, axis=1) <= 0).all()
    seen, _ = model.recommend(new, 10, exclude_seen=False)
    np.testing.assert_array_equal(np.sort(seen, axis=1), np.arange(40).reshape(4, 10))
    alike, _ = model.similar_items([0, 39], 9)
    np.testing.assert_array_equal(np.sort(alike, axis=1), [np.arange(1, 10), np.arange(30, 39)])
    np.testing.assert_allclose(model.score_items(new), model.inverse_transform(model.transform(new)))


# -------------------------------------------------------------------------------------------------- rows as they come


@pytest.mark.parametrize("latent", ["gaussian", "spike-slab"])
def test_sparse_rows_are_the_same_rows(latent: str) -> None:
    X = count_rows()
    from_dense, from_sparse = (NFA(**FAST, latent=latent).fit(rows) for rows in (X, sp.csr_array(X)))
    np.testing.assert_allclose(dense(from_dense.transform(X)), dense(from_sparse.transform(X)), rtol=1e-3, atol=1e-4)


def test_unsorted_duplicate_and_wide_indices_are_the_same_rows() -> None:
    X = sp.csr_array(count_rows())
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    order = np.lexsort((rng.random(X.nnz), rows))
    halves = [0.5 * X.data[order]] * 2  # every entry twice, each half of it
    shuffled = sp.csr_array(
        (np.stack(halves, 1).ravel(), np.repeat(X.indices[order], 2).astype(np.int64), 2 * X.indptr.astype(np.int64)),
        shape=X.shape,
    )
    kept = shuffled.copy()
    assert same_weights(NFA(**FAST).fit(X), NFA(**FAST).fit(shuffled))
    np.testing.assert_array_equal(kept.indices, shuffled.indices)  # the caller's matrix is left alone


def test_a_word_that_training_has_not_seen() -> None:
    X = documents()
    X = sp.csr_array(X.toarray() * (np.arange(40) != 7))
    model = NFA(**FAST).fit(X)
    new = X[:5].toarray()
    new[:, 7] = 3
    assert np.isfinite(model.transform(new)).all()
    assert np.isfinite(model.perplexity(new))


@pytest.mark.parametrize(
    ("X", "told"),
    [
        (-count_rows(), "negative values"),
        (count_rows() + 0.5, "fractional values"),
        (np.array([["a", "b"], ["c", "d"]]), "numbers"),
    ],
    ids=["negative", "fractional", "strings"],
)
def test_rows_that_are_no_counts_are_refused(X: Any, told: str) -> None:
    with pytest.raises(FewhotError, match=told) as error:
        NFA(**FAST).fit(X)
    assert_one_sentence(error.value)


def test_a_transposed_matrix_is_told_from_one_of_other_columns() -> None:
    X = documents()
    model = NFA(**FAST).fit(X)
    with pytest.raises(FewhotError, match=r"transposed; give X\.T") as error:
        model.transform(X.T)
    assert_one_sentence(error.value)
    with pytest.raises(FewhotError, match="pass the columns it was fitted on"):
        model.transform(X[:, :30])


def test_rows_without_any_count_have_a_code_of_no_information() -> None:
    X = documents()
    model = NFA(**FAST).fit(X)
    empty = sp.csr_array((3, X.shape[1]), dtype=np.float32)
    assert np.isfinite(model.set_params(refine_steps=200).transform(empty)).all()
    assert model.score_samples(empty) == pytest.approx(0, abs=0.05)  # the prior is the best posterior
    with pytest.raises(FewhotError, match="perplexity"):
        model.perplexity(empty)


@pytest.mark.parametrize(
    "change",
    [
        *({"n_layers": v} for v in (0, 9, 1.5)), *({"inference": v} for v in ("vb", None)),
        *({"inner_steps": v} for v in (0, 2.5)), {"inner_learning_rate": 0}, {"inner_beta1": 1}, {"inner_keep": "all"},
        {"phase_order": "any"}, {"encoder_by": "x"}, *({"refined_epochs": v} for v in (5, (1,), (3, 3), (-1, 2), "ab")),
        {"refined_epochs": (500, 900)}, {"refined_epochs": (0, 2), "inference": "amortised"},
        {"phase_order": "encoder-first", "inference": "svi"}, {"encoder_by": "kl", "inference": "amortised"},
        {"kl_annealing_steps": 10}, {"kl_annealing_steps": 10, "kl_annealing": "none"},
        {"idf": "smooth", "features": "counts"}, {"kl_weight": 1e30},
        {"features": "bm25"}, {"idf": "max"}, {"activation": "step"}, {"dropout": 1.0}, {"weight_decay": -1},
        {"decoupled_weight_decay": 1}, {"decoupled_weight_decay": True},
        {"kl_weight": -1}, {"kl_annealing": "cosine"}, {"kl_annealing": None}, {"kl_annealing_steps": 0},
        {"latent": "dirichlet"},
        {"l0": 2}, {"density": 0.5}, {"max_share": 0.5}, {"sparse_output": "no"},
    ],
    ids=str,
)  # fmt: skip
def test_bad_arguments_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(FewhotError) as error:
        NFA(**FAST | change).fit(count_rows())
    assert_one_sentence(error.value)


# ----------------------------------------------------------------------------------------------------- nothing dense


class Largest(TorchDispatchMode):
    """Keeps the size of the largest tensor that any operation returns."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        sizes = [leaf.numel() for leaf in tree_leaves(out) if isinstance(leaf, torch.Tensor)]
        self.elements = max([self.elements, *sizes])
        return out


@pytest.mark.parametrize("latent", ["gaussian", "spike-slab"])
def test_sparse_rows_never_become_a_dense_table(latent: str) -> None:
    n_rows, n_columns = 30_000, 4000
    rng = np.random.default_rng(0)
    X = sp.random_array((n_rows, n_columns), density=0.002, format="csr", rng=rng, dtype=np.float32)
    X.data[:] = rng.integers(1, 5, X.nnz)
    most = n_rows * n_columns // 10
    model = NFA(**FAST | {"max_steps": 3, "inner_steps": 2, "batch_size": 200, "n_iter_no_change": 5}, latent=latent)
    model.fit(X[:300]).transform(X[:300])  # what is imported on the way is not of interest
    tracemalloc.start()
    with Largest() as largest:
        model.fit(X)
        assert model.transform(X).shape == (n_rows, 6)
        assert np.isfinite(model.set_params(refine_steps=2).perplexity(X[:200]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0 < largest.elements < most
    assert peak < 4 * most  # bytes, were it an array of single precision


@pytest.mark.parametrize("likelihood", ["poisson", "gaussian"])
def test_perplexity_is_of_proportions_alone(likelihood: str) -> None:
    X = count_rows()
    model = NFA(**SMALL, likelihood=likelihood).fit(X)
    with pytest.raises(FewhotError, match="Perplexity is of proportions"):
        model.perplexity(X)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"max_active": 2}, "max_active says how sparse"),
        ({"latent": "spike-slab", "inference": "svi"}, "no network"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(FewhotError, match=said):
        NFA(**SMALL, **arguments).fit(count_rows())


@pytest.mark.parametrize("verb", ["recommend", "score_items"])
@pytest.mark.parametrize("X", [["sun sea"], count_rows()], ids=["texts", "counts"])
def test_a_model_of_texts_recommends_nothing(verb: str, X: Any) -> None:
    model = NFA(**SMALL).fit(["sun sea sun", "sea air", "sun air"] * 5)
    with pytest.raises(FewhotError, match=r"^Items are recommended from rows of counts, .* texts; fit it on such"):
        getattr(model, verb)(X)


@pytest.mark.parametrize("count", [2**24 + 1, 2**24 + 2])
def test_counts_too_large_to_be_exact_are_refused_by_every_verb(count: int) -> None:
    X = count_rows()
    model = NFA(**SMALL).fit(X)
    large = sp.csr_array((np.array([count]), (np.array([0]), np.array([1]))), shape=(1, X.shape[1]))
    for verb in (model.transform, model.recommend, model.score_items):
        with pytest.raises(FewhotError, match="exact up to 16,777,216"):
            verb(large)


def test_a_saved_model_that_was_given_what_it_does_not_use_still_loads(tmp_path: Path) -> None:
    model = NFA(**SMALL).fit(count_rows()).set_params(encoder_by="kl")
    model.save(tmp_path / "run")
    assert same_weights(load(tmp_path / "run", device="cpu"), model)


def test_perplexity_reads_the_rows_once(monkeypatch: pytest.MonkeyPatch) -> None:
    X, seen = count_rows(), []
    model, rows = NFA(**SMALL).fit(X), NFA._rows
    monkeypatch.setattr(NFA, "_rows", lambda self, X: seen.append(X) or rows(self, X))
    model.perplexity(X)
    assert len(seen) == 1


def test_frames_are_recommended_to_without_a_warning() -> None:
    frame = pytest.importorskip("pandas").DataFrame(count_rows(), columns=list("abcdefg"))
    model = NFA(**SMALL).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        items, _ = model.recommend(frame, 2)
    assert items.shape == (len(frame), 2)
    assert set(items.ravel()) <= {*"abcdefg", None}


def test_its_documentation_names_its_own_defaults() -> None:
    assert "the recipe's, (400, 400)" in " ".join((NFA.__doc__ or "").split())
    assert "the recipe's, 500" in NFA.__doc__
