from __future__ import annotations

import pytest

from dovetail_serverkit.embedding.weights import find_folder
from dovetail_serverkit.embedding.word_pieces import WordPieces
from tests.serverkit.unit.embedding.references import read_references

WORDS = ["[UNK]", "[CLS]", "[SEP]", "[", "]", "sep", "un", "##able", "##a", "able", "東", "京"]


@pytest.fixture
def pieces() -> WordPieces:
    return WordPieces(WORDS, 8)


def test_tokens_are_those_of_the_library_the_model_was_trained_with() -> None:
    folder = find_folder()
    assert folder is not None
    lines = (folder / "vocab.txt").read_text("utf-8").splitlines()
    pieces = WordPieces(lines, 256)
    for one in read_references():
        assert pieces.read(one.text) == one.tokens, ascii(one.text[:60])


def test_the_longest_piece_goes_first(pieces: WordPieces) -> None:
    assert pieces.read("unable") == [1, 6, 7, 2]
    assert pieces.read("UNABLE ÁBLE") == [1, 6, 7, 9, 2]


def test_a_word_with_an_unknown_rest_is_unknown_as_a_whole(pieces: WordPieces) -> None:
    assert pieces.read("unabl") == [1, 0, 2]
    assert pieces.read("un" * 51) == [1, 0, 2]


def test_a_text_is_cut_to_the_longest_and_still_ended(pieces: WordPieces) -> None:
    assert pieces.read("able " * 20) == [1, 9, 9, 9, 9, 9, 9, 2]


def test_marks_of_the_model_in_a_text_are_text(pieces: WordPieces) -> None:
    assert pieces.read("[SEP]") == [1, 3, 5, 4, 2]


def test_scripts_without_blanks_are_cut_by_character(pieces: WordPieces) -> None:
    assert pieces.read("東京") == [1, 10, 11, 2]
