from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dovetail_vault.words import WORD, fold, split_words, without_surrogates


def test_folding_is_simple_and_character_by_character() -> None:
    assert fold("\u03a3\u0391\u03a3 \u03c2") == "\u03c3\u03b1\u03c3 \u03c3"
    assert fold("\u017ft \u212a \u1e9e \u0130") == "st k \u00df \u0130"


@given(st.text())
def test_folding_keeps_the_length_and_folds_once(text: str) -> None:
    assert len(fold(text)) == len(text)
    assert fold(fold(text)) == fold(text)
    assert fold(text) == "".join(fold(character) for character in text)


def test_ideographs_are_words_of_their_own() -> None:
    assert split_words("a_b c-d \u65e5\u672cx 1") == ["a_b", "c", "d", "\u65e5", "\u672c", "x", "1"]


def test_invalid_utf_8_is_shown_as_replacement_characters() -> None:
    assert without_surrogates(b"a\xff\xfeb".decode("utf-8", "surrogateescape")) == "a\ufffd\ufffdb"


@given(
    st.text(alphabet=st.characters(max_codepoint=0x7F))
    | st.text()
    | st.text(alphabet="aé_ \u65e5-1")
)
def test_split_words_equals_the_word_pattern(text: str) -> None:
    folded = fold(text)
    assert split_words(folded) == WORD.findall(folded)
