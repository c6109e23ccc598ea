"""The decoder of texts: probabilities by hand, sums over all texts, and ways to say them."""

from __future__ import annotations

import copy
from itertools import product

import pytest
import torch
from torch import Tensor

from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.core.parts import Part
from fewhot.core.records import END, PADDING, Batch, DataSpec, Dense, Tokens
from fewhot.data import Vocabulary, text_dataset
from fewhot.likelihoods.words import WordLikelihood
from fewhot.models import LatentModel, sequence_decoder, vae
from fewhot.models.sequence_decoder import SequenceDecoder, SpokenTexts
from tests.parts import shake, tokens

SPEC = DataSpec(n_columns=5, n_rows=3, sparse=True, maximum=3.0, integral=True, kind="text")
BATCH = Batch(tokens())


def decoder(seed: int = 0, **options: bool) -> SequenceDecoder:
    made = SequenceDecoder(2, WordLikelihood(5), n_embedding=3, n_hidden=4, shares_words=False, **options)
    shake(made, seed, 1.0)
    return made.requires_grad_(False)


def spoken(n: int = 3) -> SpokenTexts:
    return decoder().generate(torch.randn(n, 2, generator=torch.Generator().manual_seed(1)))


def text_model() -> LatentModel:
    return vae(SPEC, n_latent=2, hidden_layer_sizes=(4,), encoder="gru")


@torch.no_grad()
def by_hand(made: SequenceDecoder, z: Tensor, ids: list[int]) -> float:
    """Sum the log-probabilities of a text's words, one word at a time."""
    word, state, total = END, None, 0.0
    for said in ids:
        read = torch.cat([made.words(torch.tensor([word])), z[None]], dim=-1)[:, None]
        states, state = made.body(read, state)
        total += float(made.output(states[0, 0]).log_softmax(-1)[said])
        word = said
    return total


def test_a_text_is_as_likely_as_its_words_one_by_one() -> None:
    made, z = decoder(), torch.randn(3, 2)
    said = made.likelihood(z, BATCH).log_prob(BATCH.x)
    for row, (ids, length) in enumerate(zip(tokens().ids.tolist(), tokens().lengths.tolist(), strict=True)):
        assert float(said[row]) == pytest.approx(by_hand(made, z[row], ids[:length]), abs=1e-5)


def test_texts_of_one_length_or_less_have_probability_one_in_all() -> None:
    made, z = decoder(), torch.randn(1, 2)
    every = [[*words[:n], END] for n in range(3) for words in product(range(2, 5), repeat=n)]
    said = sum(torch.tensor(by_hand(made, z[0], text)).exp() for text in every)
    longer = [list(words) for words in product(range(2, 5), repeat=3)]
    begun = sum(torch.tensor(by_hand(made, z[0], text)).exp() for text in longer)
    padded = torch.tensor([text + [PADDING] * (3 - len(text)) for text in every])
    quick = made.likelihood(z.expand(len(every), -1), BATCH).log_prob(Tokens(padded, 5)).exp().sum()
    assert float(quick) == pytest.approx(float(said), abs=1e-5)
    assert 0 < float(said + begun) < 1  # what is left goes to padding, which is never said


def test_draws_of_a_row_are_scored_each(monkeypatch: pytest.MonkeyPatch) -> None:
    made, z = decoder(), torch.randn(4, 3, 2)
    each = torch.stack([made.likelihood(one, BATCH).log_prob(BATCH.x) for one in z])
    torch.testing.assert_close(made.likelihood(z, BATCH).log_prob(BATCH.x), each)
    monkeypatch.setattr(sequence_decoder, "MOST_STATES", 60)  # a few texts at a time
    torch.testing.assert_close(made.likelihood(z, BATCH).log_prob(BATCH.x), each)


def test_padding_changes_nothing() -> None:
    made, z = decoder(), torch.randn(3, 2)
    longer = Tokens(torch.nn.functional.pad(tokens().ids, (0, 5)), 5)
    torch.testing.assert_close(made.likelihood(z, BATCH).log_prob(longer), made.likelihood(z, BATCH).log_prob(BATCH.x))


def test_gates_are_read_where_they_are_seen() -> None:
    made, z = decoder(sees_gates=True), torch.tensor([[0.0, 1.0]])
    text = Tokens(tokens().ids[:1], 5)
    on, off = (made.likelihood(z, BATCH, torch.tensor([[g, 1.0]])).log_prob(text) for g in (1.0, 0.0))
    assert not torch.allclose(on, off)
    torch.testing.assert_close(made.generate(z).log_prob(text), off)


def test_rows_of_numbers_are_no_texts() -> None:
    with pytest.raises(InvalidInputError, match=r"^The rows are numbers, and the model says texts; give"):
        spoken().log_prob(Dense(torch.ones(3, 5)))
    with pytest.raises(InvalidParameterError, match=r"^Texts have no mean; decode"):
        _ = spoken().mean


def test_greedy_texts_take_the_likeliest_word_each_time() -> None:
    texts = spoken()
    for row, ids in enumerate(texts.greedy(6).tolist()):
        word, state = END, None
        for said in ids:
            if said == PADDING:
                assert word == END
                continue
            scores, state = texts.decoder.next_word(texts.codes[row : row + 1], torch.tensor([word]), state)
            assert said in (int(scores.argmax()), END)
            word = said


def test_every_text_ends_and_is_no_longer_than_allowed() -> None:
    texts = spoken(20)
    for said in (texts.greedy(3), texts.sample(torch.Generator().manual_seed(0), 3), texts.beam(4, 3)):
        assert said.shape[1] <= 4
        assert ((said == END).sum(1) == 1).all()
        assert (said.gather(1, (said == END).int().argmax(1)[:, None]) == END).all()
        ended = (said == END).cumsum(1) - (said == END).int() > 0
        assert (said[ended] == PADDING).all()
        assert (said[~ended] != PADDING).all()


def test_a_beam_finds_no_less_likely_texts_than_greed() -> None:
    texts = decoder(3).generate(5 * torch.randn(150, 2, generator=torch.Generator().manual_seed(1)))

    def likelihoods(said: Tensor) -> Tensor:
        texts_of = ([word for word in ids if word != PADDING] for ids in said.tolist())
        return torch.tensor([_decoded_score(texts, row, ids) for row, ids in enumerate(texts_of)])

    greedy = likelihoods(texts.greedy(8))
    torch.testing.assert_close(likelihoods(texts.beam(1, 8)), greedy)
    assert (likelihoods(texts.beam(2, 8)) >= greedy - 1e-4).all()
    assert (likelihoods(texts.beam(2, 8)) > greedy + 1e-4).any()


def test_a_beam_of_all_beginnings_finds_the_likeliest_text() -> None:
    texts = spoken(5)
    every = [[*words[:n], END] for n in range(3) for words in product(range(2, 5), repeat=n)]
    for row, ids in enumerate(texts.beam(30, 2).tolist()):
        scores = torch.tensor([_decoded_score(texts, row, text) for text in every])
        assert [word for word in ids if word != PADDING] == every[int(scores.argmax())]


def _decoded_score(texts: SpokenTexts, row: int, ids: list[int]) -> float:
    """Sum the log-probabilities of a text's words as they are when texts are said: padding has no share then."""
    word, state, total = END, None, 0.0
    for said in ids:
        scores, state = texts.decoder.next_word(texts.codes[row : row + 1], torch.tensor([word]), state)
        total += float(scores[0, said])
        word = said
    return total


def test_draws_have_the_frequencies_of_the_first_word() -> None:
    texts = SpokenTexts(decoder(), torch.randn(1, 2).expand(4000, -1))
    first = texts.sample(torch.Generator().manual_seed(0), 1)[:, 0]
    scores, _ = texts.decoder.next_word(texts.codes[:1], torch.tensor([END]), None)
    for word, p in enumerate(scores[0].exp().tolist()):
        assert float((first == word).float().mean()) == pytest.approx(p, abs=5 * (p * (1 - p) / 4000) ** 0.5 + 1e-9)


def test_encoder_and_decoder_share_the_vectors_of_words_wherever_a_model_goes() -> None:
    for model in (text_model(), copy.deepcopy(text_model()), Part.from_config(text_model().to_config())):
        assert isinstance(model, LatentModel)
        assert isinstance(model.decoder, SequenceDecoder)
        assert model.decoder.words is model.encoder.body.words
        assert sum("words" in name for name in model.state_dict()) == 1
        assert not model.compiles


def test_a_decoder_by_itself_says_what_it_lacks() -> None:
    alone = SequenceDecoder(2, WordLikelihood(5), n_embedding=3, n_hidden=4)
    with pytest.raises(InvalidParameterError, match=r"^The decoder shares the vectors of words with an encoder; put"):
        alone.generate(torch.zeros(1, 2)).greedy()
    of_numbers = vae(DataSpec(n_columns=5, n_rows=3), n_latent=2, hidden_layer_sizes=(4,), likelihood="bernoulli")
    with pytest.raises(InvalidParameterError, match="build it with shares_words=False"):
        alone.join(of_numbers.encoder)


def test_a_fresh_model_says_words_as_often_as_they_are() -> None:
    model = text_model()
    data = text_dataset(["sun sun sea", "sun"], Vocabulary(["sun", "sea"]))
    model.fit_features(data.moments())
    bias = model.decoder.output.bias.detach().softmax(-1)
    torch.testing.assert_close(bias[[3, END]], bias[4] * torch.tensor([3.0, 2.0]))
