from __future__ import annotations

import pytest

from dovetail_serverkit.embedding.weights import find_folder
from dovetail_serverkit.embedding.wordpiece import WordPieceTokenizer
from tests.serverkit.unit.embedding.references import read_references

WORDS = ["[UNK]", "[CLS]", "[SEP]", "[", "]", "sep", "un", "##able", "##a", "able", "東", "京"]


@pytest.fixture
def tokenizer() -> WordPieceTokenizer:
    return WordPieceTokenizer(WORDS, 8)


def test_token_ids_match_those_of_the_reference_library() -> None:
    folder = find_folder()
    assert folder is not None
    lines = (folder / "vocab.txt").read_text("utf-8").splitlines()
    tokenizer = WordPieceTokenizer(lines, 256)
    for one in read_references():
        assert tokenizer.encode(one.text) == one.tokens, ascii(one.text[:60])


def test_the_longest_piece_is_taken_first(tokenizer: WordPieceTokenizer) -> None:
    assert tokenizer.encode("unable") == [1, 6, 7, 2]
    assert tokenizer.encode("UNABLE ÁBLE") == [1, 6, 7, 9, 2]


def test_a_word_with_an_unknown_rest_is_unknown(tokenizer: WordPieceTokenizer) -> None:
    assert tokenizer.encode("unabl") == [1, 0, 2]
    assert tokenizer.encode("un" * 51) == [1, 0, 2]


def test_a_long_text_is_truncated_and_keeps_its_end_token(tokenizer: WordPieceTokenizer) -> None:
    assert tokenizer.encode("able " * 20) == [1, 9, 9, 9, 9, 9, 9, 2]


def test_control_tokens_in_a_text_are_treated_as_text(tokenizer: WordPieceTokenizer) -> None:
    assert tokenizer.encode("[SEP]") == [1, 3, 5, 4, 2]


def test_scripts_without_spaces_are_split_by_character(tokenizer: WordPieceTokenizer) -> None:
    assert tokenizer.encode("東京") == [1, 10, 11, 2]
