"""Words that a unit raises and lowers."""

from __future__ import annotations

import json
import types
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import fewhot as fh
from fewhot.baselines import EASE, LDA
from fewhot.core.errors import InvalidParameterError
from fewhot.likelihoods.multinomial import MultinomialRows
from fewhot.metrics import jacobian_spectrum, top_words
from fewhot.priors import StandardPrior

WORDS = ["orbit", "moon", "goal", "ice", "gun", "law", "disk"]


@pytest.fixture(scope="module")
def counter() -> fh.VAE:
    X = np.random.default_rng(0).poisson(2.0, size=(60, 7))
    frame = pd.DataFrame(X, columns=WORDS)
    return fh.VAE(3, likelihood="multinomial", hidden_layer_sizes=(8,), max_steps=30, random_state=0).fit(frame)


def log_linear(weights: np.ndarray, bias: np.ndarray) -> Any:
    """Return a model of which the scores of words are weights times code, plus a bias."""
    w, b = torch.from_numpy(weights), torch.from_numpy(bias)

    def generate(z: torch.Tensor) -> MultinomialRows:
        return MultinomialRows((z.double() @ w.T + b).log_softmax(-1), torch.tensor(1.0))

    module = types.SimpleNamespace(
        decoder=types.SimpleNamespace(generate=generate, head=None),
        latent=types.SimpleNamespace(gated=False, n_latent=weights.shape[1]),
        prior=StandardPrior(weights.shape[1]),
        posterior_of=None,
        parameters=lambda: iter([torch.zeros(1)]),
    )
    return types.SimpleNamespace(module_=module, n_components=weights.shape[1])


def test_a_log_linear_decoder_gives_its_weights() -> None:
    rng = np.random.default_rng(1)
    weights, bias = rng.normal(size=(9, 4)), rng.normal(size=9)
    found = top_words(log_linear(weights, bias), 9)
    centred = weights - weights.mean(axis=0)
    for unit in range(4):
        order = np.argsort(-weights[:, unit])
        assert found.columns_up[unit].tolist() == order.tolist()
        assert found.columns_down[unit].tolist() == order[::-1].tolist()
        assert found.scores_up[unit] == pytest.approx(centred[order, unit])
        assert found.scores_down[unit] == pytest.approx(-centred[order[::-1], unit])


def test_a_deep_decoder_gives_changes_of_log_probability(counter: fh.VAE) -> None:
    found = top_words(counter, 3)

    def log_share(code: np.ndarray) -> np.ndarray:
        rows = counter.inverse_transform(code[None].astype(np.float32))[0].astype(float)
        return np.log(rows / rows.sum())

    for unit in range(3):
        for sign, columns, scores in (
            (1, found.columns_up, found.scores_up),
            (-1, found.columns_down, found.scores_down),
        ):
            gain = log_share(sign * np.eye(3)[unit]) - log_share(np.zeros(3))
            gain -= gain.mean()
            assert columns[unit].tolist() == np.argsort(-gain)[:3].tolist()
            assert scores[unit] == pytest.approx(np.sort(gain)[::-1][:3], abs=1e-4)


def test_a_unit_with_a_gate_goes_from_off_to_on() -> None:
    X = np.random.default_rng(0).poisson(2.0, size=(60, 5))
    vsc = fh.VSC(3, alpha=0.3, prior="fixed", likelihood="multinomial", max_steps=20, random_state=0).fit(X)
    found = top_words(vsc, 5, units=[2])
    logs = np.log(vsc.inverse_transform(np.array([[0, 0, 0], [0, 0, 1.0]])).astype(float))
    gain = logs[1] - logs[0]
    assert found.units.tolist() == [2]
    assert found.scores_up[0] == pytest.approx(np.sort(gain - gain.mean())[::-1], abs=1e-4)


def test_many_units_are_taken_in_parts_and_in_the_order_asked() -> None:
    weights = np.random.default_rng(2).normal(size=(6, 150))
    model = log_linear(weights, np.zeros(6))
    units = [149, 3, 70]
    assert top_words(model, 2).columns_up[units].tolist() == top_words(model, 2, units=units).columns_up.tolist()


def test_words_come_from_the_frame_and_may_be_given(counter: fh.VAE) -> None:
    assert set(top_words(counter, 7).up[0]) == set(WORDS)
    other = top_words(counter, 2, vocabulary=[word.upper() for word in WORDS])
    assert other.up[0][0] == top_words(counter, 2).up[0][0].upper()


def test_it_reads_as_text_and_goes_into_json(counter: fh.VAE) -> None:
    found = top_words(counter, 2, units=[1])
    assert str(found) == f"unit 1  + {' '.join(found.up[0])}\n        - {' '.join(found.down[0])}"
    record = json.loads(json.dumps(found.to_dict()))["units"][0]
    assert record["unit"] == 1
    assert record["up"][0] == {"word": found.up[0][0], "score": pytest.approx(found.scores_up[0, 0])}
    assert len(found) == 1


def test_columns_without_names_are_numbered() -> None:
    assert top_words(log_linear(np.eye(3), np.zeros(3)), 1).up == [["column 0"], ["column 1"], ["column 2"]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n": 8}, "n is 8 and the vocabulary has 7 words"),
        ({"n": 0}, "n is 0"),
        ({"vocabulary": ["a", "b"]}, "vocabulary has 2 words and the model was fitted with 7"),
        ({"units": [3], "n": 2}, "Unit 3 was asked for"),
        ({"units": [], "n": 2}, "units is empty"),
        ({"units": 1, "n": 2}, "units is 1; give a sequence of unit numbers"),
    ],
)
def test_bad_requests_get_one_sentence(counter: fh.VAE, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidParameterError, match=sentence):
        top_words(counter, **arguments)


def test_models_of_other_data_have_no_words(vae: fh.VAE) -> None:
    with pytest.raises(InvalidParameterError, match="likelihood='multinomial'"):
        top_words(vae)


COUNTS = np.random.default_rng(0).poisson(2.0, size=(60, 7))
SENTENCES = {
    "NFA": (lambda: fh.NFA(), "This NFA is not fitted; call fit first."),
    "LDA": (lambda: LDA(), "This LDA is not fitted; call fit first."),
    "EASE": (lambda: EASE().fit(COUNTS), "EASE has no decoder from codes to words; give a fitted NFA"),
    "text": (lambda: "model", "str has no decoder from codes to words"),
}


@pytest.mark.parametrize("function", [top_words, jacobian_spectrum])
@pytest.mark.parametrize("name", SENTENCES)
def test_models_without_words_get_a_sentence(name: str, function: Any) -> None:
    make, sentence = SENTENCES[name]
    with pytest.raises(InvalidParameterError) as caught:
        function(make())
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("n_components", [2, 9])
def test_the_units_are_those_of_the_fit(n_components: int) -> None:
    vae = fh.VAE(3, likelihood="multinomial", hidden_layer_sizes=(8,), max_steps=5, random_state=0).fit(COUNTS)
    for model in (vae, LDA(3, max_iter=2, random_state=0).fit(COUNTS)):
        assert top_words(model.set_params(n_components=n_components), 2).units.tolist() == [0, 1, 2]
