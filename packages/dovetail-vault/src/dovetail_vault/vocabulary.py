"""All words of a vault in one string, so that one search finds the words with a substring."""

from __future__ import annotations

import sqlite3
from array import array
from bisect import bisect_right

__all__ = ["Vocabulary"]


class Vocabulary:
    """The words ordered by their numbers, which start at 1 and have no gaps."""

    def __init__(self) -> None:
        self._text = "\n"
        # The position of each word in the string.
        self._starts = array("I")

    def __len__(self) -> int:
        return len(self._starts)

    def refresh(self, database: sqlite3.Connection) -> None:
        """Load the words that were added since the last call."""
        rows = database.execute(
            "SELECT term FROM terms WHERE id > ? ORDER BY id", (len(self._starts),)
        )
        words = [word for (word,) in rows]
        if not words:
            return
        place = len(self._text)
        for word in words:
            self._starts.append(place)
            place += len(word) + 1
        self._text += "\n".join(words) + "\n"

    def clear(self) -> None:
        """Remove all words, after the index was reset."""
        self._text = "\n"
        self._starts = array("I")

    def find(self, piece: str, *, at_start: bool, at_end: bool) -> list[int]:
        """Return the numbers of words that contain a text, optionally at their start or end."""
        wanted = ("\n" if at_start else "") + piece + ("\n" if at_end else "")
        text, found, last = self._text, [], 0
        place = text.find(wanted)
        while place >= 0:
            number = bisect_right(self._starts, place + (1 if at_start else 0))
            if number != last:
                found.append(number)
                last = number
            # The newline after a word is also the one before the next word.
            place = text.find(wanted, self._following(number) - 1)
        return found

    def _following(self, number: int) -> int:
        return self._starts[number] if number < len(self._starts) else len(self._text)
