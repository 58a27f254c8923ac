"""How much of an answer is spent, so that lists end before the answer is too long."""

from __future__ import annotations

import msgspec

__all__ = ["Budget"]

_MOST_KEPT = 2_000


class Budget:
    """Counts characters of JSON; a tenth is kept for what stands around the lists."""

    def __init__(self, characters: int) -> None:
        self._left = characters - min(characters // 10, _MOST_KEPT)

    def take(self, value: object) -> bool:
        """Whether the value still fits; if so it is counted."""
        size = len(msgspec.json.encode(value).decode()) + 1
        if size > self._left:
            return False
        self._left -= size
        return True
