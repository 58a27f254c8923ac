"""Text as the numbers of word pieces, as the BERT models without case were trained on it.

Written here because the library that does it brings a client for downloads along. A test holds it
to that library's answers. One difference is wanted: "[SEP]" in a text is five characters of text
and no command to the model.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

__all__ = ["WordPieces"]

_LONGEST_WORD = 100
_UNKNOWN, _START, _END = "[UNK]", "[CLS]", "[SEP]"
# Scripts without blanks: each character is a word of its own.
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


class WordPieces:
    """A vocabulary, and texts cut into it."""

    def __init__(self, lines: Iterable[str], longest: int) -> None:
        self._numbers = {line.rstrip("\n"): number for number, line in enumerate(lines)}
        self._start, self._end = self._numbers[_START], self._numbers[_END]
        self._unknown = (self._numbers[_UNKNOWN],)
        self._longest = longest
        self._cut = lru_cache(maxsize=20_000)(self._pieces)

    def read(self, text: str) -> list[int]:
        """The numbers of a text, its beginning and end marked; what is too long is cut off."""
        numbers = [self._start]
        for word in _words(text):
            numbers += self._cut(word)
            if len(numbers) >= self._longest:
                break
        return [*numbers[: self._longest - 1], self._end]

    def _pieces(self, word: str) -> tuple[int, ...]:
        """The longest piece that is known, and again from there."""
        if len(word) > _LONGEST_WORD:
            return self._unknown
        found: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self._numbers.get(mark + word[start:end])
                if number is not None:
                    break
            else:
                return self._unknown
            found.append(number)
            start = end
        return tuple(found)


def _words(text: str) -> Iterator[str]:
    """Words and single marks, without case and accents."""
    for part in _plain(text).split():
        start = 0
        for at, character in enumerate(part):
            if _is_mark(character):
                if start < at:
                    yield part[start:at]
                yield character
                start = at + 1
        if start < len(part):
            yield part[start:]


def _plain(text: str) -> str:
    if text.isascii():
        kept = "".join(map(_visible, text)) if not text.isprintable() else text
        return kept.lower()
    spread = "".join(
        f" {character} " if _is_ideograph(character) else _visible(character) for character in text
    )
    parts = unicodedata.normalize("NFD", spread)
    bare = "".join(one for one in parts if unicodedata.category(one) != "Mn")
    # By characters: only so the lower case of a word's last sigma is the same as any other's.
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


def _is_mark(character: str) -> bool:
    if character.isalnum():
        return False
    if character.isascii():
        return True
    return unicodedata.category(character).startswith("P")
