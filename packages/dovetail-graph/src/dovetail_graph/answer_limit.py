"""The size of an answer: its structured content, and the same JSON again as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

__all__ = ["MAX_CHARS", "AnswerBudget", "size_of"]

# Default limit of an answer, in characters.
MAX_CHARS = 24_000
# For the fields around lists; a cursor is the longest of them.
_MAX_RESERVE = 3_000
_Item = TypeVar("_Item")


def size_of(value: object) -> int:
    """Return the characters that a value takes in an answer."""
    text = msgspec.json.encode(value).decode()
    # As text it is a JSON string, in which quotes are escaped.
    return len(text) + len(msgspec.json.encode(text).decode())


class AnswerBudget:
    """Counts the characters of an answer; `overhead` is what each item needs besides itself."""

    def __init__(self, characters: int, overhead: int = 0) -> None:
        self._left = characters - min(characters // 2, _MAX_RESERVE)
        self._overhead = overhead

    def take(self, value: object) -> bool:
        """Return whether the value still fits; if it does, subtract its size from the budget."""
        size = size_of(value) + self._overhead
        if size > self._left:
            return False
        self._left -= size
        return True

    def fitting(self, items: Iterable[_Item]) -> list[_Item]:
        """Return the first items, as many as fit."""
        shown = []
        for item in items:
            if not self.take(item):
                break
            shown.append(item)
        return shown
