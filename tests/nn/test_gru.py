"""Networks over words: what padding, length and chunks must not change."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from fewhot.core.records import Tokens
from fewhot.nn import WordGRU, word_log_probs, word_scores
from tests.parts import tokens


def test_the_state_is_the_one_at_the_end_of_each_text() -> None:
    body = WordGRU(5, n_embedding=4, n_hidden=3)
    alone = []
    for ids, length in zip(tokens().ids, tokens().lengths, strict=True):
        states, _ = body.gru(body.words(ids[None, :length]))
        alone.append(states[0, -1])
    torch.testing.assert_close(body(tokens()), torch.stack(alone))


def test_padding_changes_nothing() -> None:
    body = WordGRU(5, n_embedding=4, n_hidden=3)
    longer = Tokens(F.pad(tokens().ids, (0, 7)), 5)
    torch.testing.assert_close(body(longer), body(tokens()))


def test_words_are_told_apart_and_so_is_their_order() -> None:
    body = WordGRU(5, n_embedding=4, n_hidden=3)
    there, back = (body(Tokens(torch.tensor([ids]), 5)) for ids in ([3, 4, 1], [4, 3, 1]))
    assert not torch.allclose(there, back, atol=1e-4)


@pytest.mark.parametrize("grad", [True, False])
def test_scores_in_pieces_are_the_scores_at_once(monkeypatch: pytest.MonkeyPatch, grad: bool) -> None:
    torch.manual_seed(0)
    states, weight, bias = (torch.randn(*shape, requires_grad=grad) for shape in ((11, 4), (6, 4), (6,)))
    words = torch.randint(6, (11,))
    found = {}
    for most in (2**26, 18):
        monkeypatch.setattr(word_scores, "MOST_SCORES", most)
        said = word_log_probs(states, weight, bias, words)
        slow = torch.log_softmax(states @ weight.T + bias, -1)[torch.arange(11), words]
        torch.testing.assert_close(said, slow)
        if grad:
            found[most] = torch.autograd.grad((said * torch.arange(11.0)).sum(), (states, weight, bias))
    if grad:
        for whole, pieces in zip(*found.values(), strict=True):
            torch.testing.assert_close(whole, pieces)


def test_scores_in_pieces_are_never_all_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_scores, "MOST_SCORES", 600)
    seen: list[int] = []
    real = F.linear

    def watched(states: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        seen.append(len(states) * len(weight))
        return real(states, weight, bias)

    monkeypatch.setattr(F, "linear", watched)
    states, weight = torch.randn(50, 4, requires_grad=True), torch.randn(100, 4, requires_grad=True)
    word_log_probs(states, weight, torch.zeros(100), torch.zeros(50, dtype=torch.int64)).sum().backward()
    assert max(seen) <= 600
    assert sum(seen) == 2 * 50 * 100  # once forward, once more for the gradient


def test_words_added_for_a_gpu_change_no_score_and_no_gradient() -> None:
    torch.manual_seed(0)
    states, weight, bias = (torch.randn(*shape, requires_grad=True) for shape in ((11, 4), (6, 4), (6,)))
    words = torch.randint(6, (11,))
    added = word_scores._aligned(weight, bias)
    assert [len(part) for part in added] == [word_scores.ALIGNED] * 2
    said, plain = (word_log_probs(states, *scored, words) for scored in (added, (weight, bias)))
    torch.testing.assert_close(said, plain)
    for one, other in zip(
        *(torch.autograd.grad((score * torch.arange(11.0)).sum(), (states, weight, bias)) for score in (said, plain)),
        strict=True,
    ):
        torch.testing.assert_close(one, other)
