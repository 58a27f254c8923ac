"""The word lists: what is in them can take effect."""

from __future__ import annotations

from dovetail.compose.search.stemming import stem
from dovetail.compose.search.terms import split_terms
from dovetail.compose.search.vocabulary import ABBREVIATIONS, IMPLIED, STOP_WORDS, SYNONYMS


def test_synonyms_are_stems_and_mutual() -> None:
    assert "delet" in SYNONYMS[stem("remove")]
    for word, others in SYNONYMS.items():
        assert word not in others
        assert all(word in SYNONYMS[other] for other in others)


def test_an_abbreviation_stands_for_words_that_are_searched() -> None:
    for words in ABBREVIATIONS.values():
        assert split_terms(words)


def test_what_is_implied_is_not_a_stop_word() -> None:
    assert not STOP_WORDS & {term for _, term in IMPLIED}
