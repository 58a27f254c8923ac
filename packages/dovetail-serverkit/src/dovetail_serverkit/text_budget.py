"""A character budget for results: lists stop growing before the response is too long."""

from __future__ import annotations

import msgspec

__all__ = ["Budget"]

_MAX_RESERVE = 2_000


class Budget:
    """Counts characters of JSON. Reserves a tenth, at most 2,000, for the fields around lists."""

    def __init__(self, characters: int) -> None:
        self._left = characters - min(characters // 10, _MAX_RESERVE)

    def take(self, value: object) -> bool:
        """Return whether the value still fits; if it does, subtract its size from the budget."""
        size = len(msgspec.json.encode(value).decode()) + 1
        if size > self._left:
            return False
        self._left -= size
        return True
