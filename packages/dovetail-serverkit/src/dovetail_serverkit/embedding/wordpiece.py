"""The WordPiece tokenizer of the uncased BERT models.

Implemented here because the usual library depends on a download client. A test compares the token
ids with those of that library. One difference is intentional: "[SEP]" in a text is five characters
of text, not a control token.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

__all__ = ["WordPieceTokenizer"]

_MAX_WORD_LENGTH = 100
_UNKNOWN, _START, _END = "[UNK]", "[CLS]", "[SEP]"
# Scripts without spaces: each character is a word of its own.
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPieceTokenizer:
    """Splits texts into token ids of a vocabulary."""

    def __init__(self, lines: Iterable[str], max_tokens: int) -> None:
        self._ids = {line.rstrip("\n"): number for number, line in enumerate(lines)}
        self._start, self._end = self._ids[_START], self._ids[_END]
        self._unknown = (self._ids[_UNKNOWN],)
        self._max_tokens = max_tokens
        self._cached_pieces = lru_cache(maxsize=20_000)(self._pieces)

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text with start and end tokens, truncated to `max_tokens`."""
        ids = [self._start]
        for word in _words(text):
            ids += self._cached_pieces(word)
            if len(ids) >= self._max_tokens:
                break
        return [*ids[: self._max_tokens - 1], self._end]

    def _pieces(self, word: str) -> tuple[int, ...]:
        """Split a word greedily: take the longest known piece, then continue after it."""
        if len(word) > _MAX_WORD_LENGTH:
            return self._unknown
        found: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                piece = self._ids.get(prefix + word[start:end])
                if piece is not None:
                    break
            else:
                return self._unknown
            found.append(piece)
            start = end
        return tuple(found)


def _words(text: str) -> Iterator[str]:
    """Yield words and single punctuation characters, in lower case and without accents."""
    for part in _normalize(text).split():
        start = 0
        for at, character in enumerate(part):
            if _is_punctuation(character):
                if start < at:
                    yield part[start:at]
                yield character
                start = at + 1
        if start < len(part):
            yield part[start:]


def _normalize(text: str) -> str:
    if text.isascii():
        kept = "".join(map(_visible, text)) if not text.isprintable() else text
        return kept.lower()
    spread = "".join(
        f" {character} " if _is_ideograph(character) else _visible(character) for character in text
    )
    parts = unicodedata.normalize("NFD", spread)
    bare = "".join(one for one in parts if unicodedata.category(one) != "Mn")
    # Per character: str.lower() on a whole word would turn a final sigma into another letter.
    return "".join(one.lower() for one in bare)


def _visible(character: str) -> str:
    if character in "\t\n\r":
        return " "
    if character == "\ufffd" or unicodedata.category(character).startswith("C"):
        return ""
    return character


def _is_ideograph(character: str) -> bool:
    number = ord(character)
    return number >= 0x3400 and any(first <= number <= last for first, last in _IDEOGRAPHS)


def _is_punctuation(character: str) -> bool:
    if character.isalnum():
        return False
    if character.isascii():
        return True
    return unicodedata.category(character).startswith("P")
