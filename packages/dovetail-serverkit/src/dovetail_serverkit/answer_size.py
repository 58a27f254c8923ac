"""The size of a tool's answer in characters, and a budget for the lists in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

__all__ = ["AnswerBudget", "answer_size", "json_size"]

# For the fields around lists; a cursor is the longest of them.
_MAX_RESERVE = 3_000
_Item = TypeVar("_Item")


def json_size(value: object) -> int:
    """Return the number of characters of a value as JSON."""
    return len(msgspec.json.encode(value).decode())


def answer_size(value: object) -> int:
    """Return the characters of a value as structured content, and as the same JSON in a text."""
    text = msgspec.json.encode(value).decode()
    # As text it is a JSON string, in which quotes are escaped.
    return len(text) + json_size(text)


class AnswerBudget:
    """Counts the characters of an answer; `overhead` is what each item needs besides itself."""

    def __init__(self, characters: int, overhead: int = 0) -> None:
        self._left = characters - min(characters // 2, _MAX_RESERVE)
        self._overhead = overhead

    def take(self, value: object) -> bool:
        """Return whether the value still fits; if it does, subtract its size from the budget."""
        size = answer_size(value) + self._overhead
        if size > self._left:
            return False
        self._left -= size
        return True

    def fitting(self, items: Iterable[_Item], least: int = 0) -> list[_Item]:
        """Return the first items, as many as fit and at least `least`."""
        shown: list[_Item] = []
        for item in items:
            if not self.take(item) and len(shown) >= least:
                break
            shown.append(item)
        return shown
