"""From texts to words."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewhot.core.errors import FewhotError, InvalidParameterError, InvalidTypeError
from fewhot.data import clean, tokenise
from fewhot.data.text import tokenising

LONE = "\ud800"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain words stay", "plain words stay"),
        ('"quoted" and don\'t `tick`', "quoted and dont tick"),
        ("one, two", "one two"),
        ("caf\xe9 \u201cna\xefve\u201d \u4f60", "caf nave"),
        ("see http://a.b/c?d=e, HTTPS://x.org and www.y.org/z now", "see and now"),
        ("tabs\tand\n\nlines ", "tabs and lines"),
        ("", ""),
        (LONE, ""),
    ],
)
def test_links_quotes_commas_and_what_is_not_ascii_go(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@given(text=st.text(st.characters()))
def test_a_clean_text_stays_as_it_is_unless_a_link_was_hidden_in_it(text: str) -> None:
    once = clean(text)
    assert once.isascii()
    assert not set(once) & set("\"'`,")
    if "www." not in once.lower() and "://" not in once:
        assert clean(once) == once


def test_plain_words_are_runs_of_letters_and_digits_and_single_marks() -> None:
    assert tokenise("Isn't IT 3.5 (or_so)?!", "plain") == ["isnt", "it", "3", ".", "5", "(", "or_so", ")", "?", "!"]


def test_texts_that_were_cut_before_change_nothing_but_the_spaces() -> None:
    assert tokenise('  Caf\xe9 , "_UNK"  don\'t ', "spaces") == ["Caf\xe9", ",", '"_UNK"', "don't"]


@pytest.mark.parametrize("tokeniser", ["plain", "spaces"])
@given(text=st.text(st.characters(exclude_categories=[])))
def test_words_have_no_spaces_and_no_half_surrogates(tokeniser: str, text: str) -> None:
    for word in tokenise(text, tokeniser):
        assert word.split() == [word]
        word.encode("utf-8")


@pytest.mark.parametrize("tokeniser", ["plain", "spaces"])
@pytest.mark.parametrize("text", ["", "   ", "\n", LONE])
def test_a_text_of_nothing_has_no_words(text: str, tokeniser: str) -> None:
    assert tokenise(text, tokeniser) == []


def test_what_is_no_string_is_refused() -> None:
    with pytest.raises(
        InvalidTypeError, match=r"^The text is bytes; decode it first, such as by \.decode\('utf-8'\)\.$"
    ):
        tokenise(b"few", "plain")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidTypeError, match=r"^The text is of type float; give strings, and '' for one without"):
        tokenise(float("nan"), "plain")  # pyright: ignore[reportArgumentType]
    with pytest.raises(
        InvalidParameterError, match="tokeniser is 'bpe'; it must be one of 'words', 'plain', 'spacy', 'spaces'"
    ):
        tokenise("few", "bpe")


def test_without_spacy_a_sentence_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    tokenising._spacy.cache_clear()
    with pytest.raises(FewhotError, match=r"needs spaCy.*pip install 'fewhot\[text\]', or give tokeniser='plain'\.$"):
        tokenise("few", "spacy")
    tokenising._spacy.cache_clear()


def test_spacy_cuts_as_the_published_texts_are_cut() -> None:
    pytest.importorskip("spacy", reason="needs spaCy: pip install 'fewhot[text]'")
    assert tokenise("I can't go to any website.", "spacy") == ["i", "ca", "nt", "go", "to", "any", "website", "."]
    assert tokenise("") == []


def test_white_space_and_dashes_of_any_kind_part_words() -> None:
    assert tokenise("hot\u00a0few so\u2003cold\u2028sea\u2014blue", "plain") == [
        "hot",
        "few",
        "so",
        "cold",
        "sea",
        "blue",
    ]
