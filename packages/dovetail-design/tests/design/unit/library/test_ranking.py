"""Search by words: exact before beginning before synonym."""

from __future__ import annotations

from dovetail_design.library.ranking import rank, split_words, synonyms_of

ENTRIES = {
    "house": ["house", "building"],
    "household": ["household", "things"],
    "star": ["star", "night"],
    "night-house": ["night", "house"],
}


def test_a_name_comes_before_a_mention_and_a_mention_before_a_beginning() -> None:
    assert rank("house", ENTRIES) == ["house", "night-house", "household"]


def test_every_word_has_to_fit_where_something_fits_all() -> None:
    assert rank("night house", ENTRIES) == ["night-house"]


def test_a_synonym_finds_too() -> None:
    assert "house" in synonyms_of("home")
    assert rank("home", ENTRIES)[0] == "house"


def test_plurals_find_the_singular() -> None:
    assert rank("stars", ENTRIES) == ["star"]


def test_words_that_say_nothing_are_left_out_unless_there_are_no_others() -> None:
    assert split_words("an icon of the House") == ["house"]
    assert split_words("the") == ["the"]


def test_an_empty_query_lists_all_and_an_unknown_word_nothing() -> None:
    assert rank("  ", ENTRIES) == list(ENTRIES)
    assert rank("xylophone", ENTRIES) == []


def test_what_fits_most_words_remains_where_nothing_fits_all() -> None:
    assert rank("purple night house elephant", ENTRIES)[0] == "night-house"
    assert rank("house elephant", ENTRIES) == ["house", "night-house", "household"]
