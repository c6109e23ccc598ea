"""What keeps codes in use: each way by itself, on the parts that it changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import fewhot as fh
from fewhot.core.records import Batch, Dense, Knobs, Tokens
from fewhot.data.text.vocabulary import N_SPECIAL, UNKNOWN
from fewhot.likelihoods.words import WordLikelihood
from fewhot.metrics import mutual_information
from fewhot.models import AgainstCollapse
from fewhot.objectives import KL
from tests.estimators.cases import assert_one_sentence

RNG = np.random.default_rng(0)
X = RNG.random((80, 6)).astype(np.float32)
TEXTS = [f"the {a} is {b}" for a in ("sea", "sun", "sky", "sand") for b in ("blue", "hot", "wide", "old", "far")] * 4
SMALL: dict[str, Any] = {"hidden_layer_sizes": (12,), "max_steps": 20, "random_state": 0, "device": "cpu"}
IN_ORDER: dict[str, Any] = SMALL | {"encoder": "gru"}
WORDS = WordLikelihood(N_SPECIAL + 11)


def vae(**guard: Any) -> fh.VAE:
    return fh.VAE(4, **SMALL, against_collapse=AgainstCollapse(**guard) if guard else None)


def gradient_of_divergence(free_bits: float) -> tuple[float, float]:
    """Return the divergence of a batch, and the size of its gradient in the encoder."""
    module = vae(free_bits=free_bits).fit(X).module_
    batch = Batch(Dense(torch.from_numpy(X)))
    noise = module.noise(len(X), torch.Generator().manual_seed(0))
    result = module.run(module.psi(batch), batch, Knobs({}, gates="relaxed"), noise)
    divergence = module.divergence(result)
    term = module.objective.terms[1](result, divergence, Knobs())
    (gradient,) = torch.autograd.grad(term.loss, [next(module.encoder.parameters())], allow_unused=True)
    total = torch.stack(tuple(divergence.values())).sum(0).mean().item()
    torch.testing.assert_close(term.loss, -term.bound.mean())
    return total, 0.0 if gradient is None else float(gradient.abs().sum())


def test_below_the_free_bits_nothing_pushes_the_divergence() -> None:
    total, pushed = gradient_of_divergence(1e-6)
    assert total > 1e-6
    assert pushed > 0
    total, pushed = gradient_of_divergence(1e6)
    assert total < 1e6
    assert pushed == 0


def test_a_share_of_the_words_is_not_seen_in_training_and_all_are_scored() -> None:
    model = fh.VAE(4, **IN_ORDER, against_collapse=AgainstCollapse(word_dropout=0.4)).fit(TEXTS)
    module = model.module_
    decoder = module.decoder
    ids = torch.randint(3, 9, (400, 20), generator=torch.Generator().manual_seed(0))
    seen: list[torch.Tensor] = []
    decoder.words.register_forward_hook(lambda _, given, __: seen.append(given[0]))
    noise = module.noise(400, torch.Generator().manual_seed(1))
    z = torch.zeros(400, 4)
    decoder.states(z, ids, noise["decoder"])
    decoder.states(z, ids)
    dropped = seen[0] == UNKNOWN
    assert not dropped[:, 0].any()
    assert float(dropped[:, 1:].float().mean()) == pytest.approx(0.4, abs=0.03)
    assert torch.equal(seen[0][~dropped], seen[1][~dropped])
    assert len(dropped.unique(dim=0)) > 300  # every text has its own
    batch = Batch(Tokens(ids, torch.full((400,), 20)))
    relaxed, exact = (module.run(module.psi(batch), batch, Knobs({}, gates=g), noise) for g in ("relaxed", "exact"))
    assert relaxed.px.keys is not None
    assert exact.px.keys is None


def test_all_draws_of_a_text_miss_the_same_words() -> None:
    module = fh.VAE(4, **IN_ORDER, against_collapse=AgainstCollapse(word_dropout=0.5)).fit(TEXTS).module_
    ids = torch.randint(3, 9, (6, 8), generator=torch.Generator().manual_seed(0))
    z = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(1))
    keys = module.noise(6, torch.Generator().manual_seed(2))["decoder"]
    batch = Batch(Tokens(ids, torch.full((6,), 8)))
    both = module.decoder.likelihood(z, batch, None, keys).log_prob(batch.x)
    for draw in range(2):
        alone = module.decoder.likelihood(z[draw], batch, None, keys).log_prob(batch.x)
        torch.testing.assert_close(both[draw], alone)


def test_the_encoder_runs_ahead_for_a_while() -> None:
    ahead = vae(encoder_steps=2, encoder_share=0.5).fit(X)
    joint_alone = vae().fit(X)
    assert [phase.name for phase in ahead.module_.inference.phases(ahead.module_, 0)] == [
        "joint",
        "encoder 1",
        "encoder 2",
    ]
    assert [ahead.module_.inference.stage(step) for step in (0, 9, 10, 19)] == [0, 0, 1, 1]
    assert len(ahead.module_.inference.phases(ahead.module_, 1)) == 1
    of_decoder = {id(parameter) for parameter in ahead.module_.decoder.parameters()}
    encoder_phase = ahead.module_.inference.phases(ahead.module_, 0)[1]
    assert not {id(parameter) for parameter in encoder_phase.parameters} & of_decoder
    assert "encoder 2/bound" in ahead.history_[0]["terms"]
    assert not any(name.startswith("encoder") for name in ahead.history_[-1]["terms"])
    assert not torch.equal(next(ahead.module_.encoder.parameters()), next(joint_alone.module_.encoder.parameters()))


def test_a_run_that_was_stopped_goes_on_with_the_encoder_ahead(tmp_path: Any) -> None:
    guard = AgainstCollapse(encoder_steps=1, encoder_share=0.5, free_bits=0.5)
    whole = fh.VAE(4, **SMALL, against_collapse=guard).fit(X)

    def stop(record: Any) -> None:
        if record["step"] >= 6:
            raise KeyboardInterrupt

    first = fh.RunFolder(tmp_path / "run", checkpoint_seconds=0.0)
    with pytest.raises(KeyboardInterrupt):
        fh.VAE(4, **SMALL, against_collapse=guard, callbacks=[first, stop]).fit(X)
    again = fh.VAE(4, **SMALL, against_collapse=guard, callbacks=[fh.RunFolder(tmp_path / "run", resume="auto")]).fit(X)
    assert again.n_iter_ == whole.n_iter_
    for one, other in zip(again.module_.parameters(), whole.module_.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_warm_up_takes_the_share_that_is_asked_for(share: float) -> None:
    schedules = vae(warm_up=share).fit(X).module_.schedules
    if not share:
        assert "kl_weight" not in schedules
    else:
        assert float(schedules["kl_weight"](torch.tensor(int(share * 20)))) == 1.0
        assert float(schedules["kl_weight"](torch.tensor(int(share * 20) // 2))) == pytest.approx(0.5)


def test_a_saved_model_keeps_what_guards_it(tmp_path: Any) -> None:
    guard = AgainstCollapse(warm_up=0.3, free_bits=1.0, word_dropout=0.2, encoder_steps=1)
    model = fh.HSVAE(6, l0=2, **IN_ORDER, against_collapse=guard).fit(TEXTS)
    model.save(tmp_path / "model")
    again = fh.load(tmp_path / "model")
    assert again.against_collapse == guard
    assert again.module_.decoder.word_dropout == 0.2
    assert again.module_.objective.terms[1].free_bits == 1.0
    assert again.module_.inference.encoder_steps == 1
    np.testing.assert_array_equal(again.score_samples(TEXTS[:5]), model.score_samples(TEXTS[:5]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: vae(word_dropout=0.2).fit(X), "word_dropout is for models that say texts"),
        (lambda: vae(word_dropout=0.2).fit(TEXTS), "word_dropout is for models that say texts"),
        (lambda: fh.VAE(4, **SMALL, against_collapse=0.5).fit(X), "against_collapse is 0.5"),  # pyright: ignore
        (
            lambda: fh.VSC(
                4, **SMALL, prior="pseudo-inputs", alpha=0.3, against_collapse=AgainstCollapse(free_bits=1)
            ).fit(X),
            "free_bits is about",
        ),
        (
            lambda: fh.GumbelVAE(
                8, **SMALL, estimator="score-function", against_collapse=AgainstCollapse(encoder_steps=1)
            ).fit(X),
            "encoder_steps is for",
        ),
        (lambda: AgainstCollapse(word_dropout=1.5), "word_dropout"),
        (lambda: AgainstCollapse(free_bits=-1), "free_bits"),
        (lambda: AgainstCollapse(encoder_steps=0.5), "encoder_steps"),  # pyright: ignore
    ],
)
def test_what_cannot_be_done_is_refused(make: Any, message: str) -> None:
    with pytest.raises(fh.FewhotError, match=message) as caught:
        make()
    assert_one_sentence(caught.value)


def sentences_of_six_kinds(n: int) -> list[str]:
    rng = np.random.default_rng(0)
    kinds = [[f"{kind}{i}" for i in range(12)] for kind in "abcdef"]
    return [" ".join(rng.choice(kinds[kind], size=rng.integers(4, 9))) for kind in rng.integers(0, 6, n)]


@pytest.mark.filterwarnings("ignore:Going through texts word by word")  # on a slow machine
def test_codes_of_texts_stay_in_use_unless_told_otherwise() -> None:
    texts = sentences_of_six_kinds(600)
    asked = {**IN_ORDER, "max_steps": 600, "batch_size": 32, "hidden_layer_sizes": (32,), "n_iter_no_change": None}
    guarded, left_alone = (
        mutual_information(fh.VAE(16, **asked, against_collapse=guard).fit(texts), texts).mean
        for guard in (None, AgainstCollapse())
    )
    assert left_alone < 0.1
    assert guarded > 1.5  # six kinds are told apart by 1.8 nats


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Going through texts word by word")  # on a slow machine
@pytest.mark.parametrize("encoder", ["auto", "gru"])
@pytest.mark.parametrize("cls", [fh.VSC, fh.HSVAE])
def test_sparse_codes_of_texts_stay_in_use_unless_told_otherwise(cls: type, encoder: str) -> None:
    texts = sentences_of_six_kinds(600)
    asked = {**SMALL, "encoder": encoder, "max_steps": 2000, "hidden_layer_sizes": (32,), "n_iter_no_change": None}
    assert mutual_information(cls(16, l0=4, **asked).fit(texts), texts).mean > 1.3


@pytest.mark.parametrize(
    ("model", "rows", "guard"),
    [
        (fh.VAE(4, **IN_ORDER), TEXTS, (4.0, 0.5)),
        (fh.VSC(4, **IN_ORDER), TEXTS, (4.0, 0.5)),
        (fh.BetaTCVAE(4, **IN_ORDER), TEXTS, (4.0, 0.5)),
        (fh.VAE(4, **SMALL, likelihood=WORDS), TEXTS, (4.0, 0.5)),
        (fh.VSC(4, **SMALL, likelihood=WORDS, prior="pseudo-inputs", alpha=0.3), TEXTS, (None, 0.5)),
        (fh.VAE(4, **IN_ORDER, against_collapse=AgainstCollapse()), TEXTS, (0.0, 0.0)),
        (fh.VAE(4, **IN_ORDER, against_collapse=AgainstCollapse(word_dropout=0.2)), TEXTS, (0.0, 0.2)),
        (fh.HSVAE(4, **SMALL, recipe="prokhorov2021"), TEXTS, (0.0, 0.0)),
        (fh.VAE(4, **SMALL), TEXTS, (0.0, None)),
        (fh.VSC(4, **SMALL), TEXTS, (0.0, None)),
        (fh.BetaTCVAE(4, **SMALL), TEXTS, (0.0, None)),
        (fh.VSC(4, **SMALL, encoder="mlp", prior="pseudo-inputs", alpha=0.3), TEXTS, (None, None)),
        (fh.VAE(4, **IN_ORDER, likelihood="multinomial"), TEXTS, (0.0, None)),
        (fh.VAE(4, **SMALL, likelihood="multinomial"), TEXTS, (0.0, None)),
        (fh.VAE(4, **SMALL), X, (0.0, None)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_only_models_that_say_words_are_guarded_by_themselves(
    model: Any, rows: Any, guard: tuple[float | None, float | None]
) -> None:
    module = model.fit(rows).module_
    free_bits = [term.free_bits for term in module.objective.terms if isinstance(term, KL)]
    assert (free_bits[0] if free_bits else None, getattr(module.decoder, "word_dropout", None)) == guard


@pytest.mark.parametrize("warm_up", [0.0, 0.3])
def test_a_warm_up_comes_after_a_dense_start(warm_up: float) -> None:
    model = fh.HSVAE(4, gate_prior=(4, 1), dense_start=0.4, against_collapse=AgainstCollapse(warm_up=warm_up))
    schedule = model.set_params(**{**SMALL, "max_steps": 100}).fit(X).module_.schedules["kl_weight"]
    steps = (0, 40, 40 + max(1, round(50 * warm_up)), 40 + max(1, round(100 * warm_up)))
    assert [round(schedule(torch.tensor(step)).item(), 6) for step in steps] == [0, 0, 0.5 if warm_up else 1, 1]


@pytest.mark.parametrize(
    ("model", "rows", "share"),
    [
        (fh.VSC(4), TEXTS, 0.3),
        (fh.HSVAE(4), TEXTS, 0.3),
        (fh.VSC(4, encoder="gru"), TEXTS, 0.3),
        (fh.HSVAE(4, encoder="gru"), TEXTS, 0.3),
        (fh.VSC(4, encoder="gru", dense_start=0.0), TEXTS, 0.0),
        (fh.VSC(4, encoder="gru", alpha=0.3), TEXTS, 0.0),
        (fh.VSC(4, dense_start=0.0), TEXTS, 0.0),
        (fh.VSC(4, dense_start=0.5), TEXTS, 0.5),
        (fh.VSC(4, pretrain_spikes=0.2), TEXTS, 0.0),
        (fh.VSC(4, alpha=0.3), TEXTS, 0.0),
        (fh.HSVAE(4, recipe="prokhorov2021"), TEXTS, 0.0),
        (fh.VSC(4, likelihood="multinomial"), TEXTS, 0.3),
        (fh.VSC(4), X, 0.0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_gates_begin_open_by_themselves_for_a_dial_on_texts_alone(model: Any, rows: Any, share: float) -> None:
    model.set_params(**SMALL).fit(rows)
    assert model._chosen_dense_start(model.data_spec_) == share
