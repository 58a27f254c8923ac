"""Parses CSS lengths and positions: `10px`, `25%`, `top right`."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

__all__ = ["CENTRE", "Length", "Position", "parse_length", "parse_position"]


class Length(NamedTuple):
    """Pixels or per cent."""

    value: float
    is_share: bool

    def of(self, whole: float) -> float:
        """Return the length in pixels, where 100 per cent is `whole`."""
        return self.value * whole / 100 if self.is_share else self.value


class Position(NamedTuple):
    """A position in a box, from its left and top edge."""

    x: Length
    y: Length


CENTRE = Position(Length(50, is_share=True), Length(50, is_share=True))

_LENGTH = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(px|%)?\Z")
_WORDS = {"left": 0, "top": 0, "center": 50, "right": 100, "bottom": 100}
_UPRIGHT = frozenset({"top", "bottom"})
_LEVEL = frozenset({"left", "right"})


def parse_length(text: str) -> Length:
    """Parse pixels or per cent; raises ValueError."""
    found = _LENGTH.match(text.strip())
    if found is None or abs(float(found[1])) > 100_000:
        raise ValueError(f"{text[:40]!r} is not a length; allowed: 12px, 12, 40%")
    return Length(float(found[1]), is_share=found[2] == "%")


@functools.lru_cache(maxsize=512)
def parse_position(text: str) -> Position:
    """Parse an object-position: one or two keywords or lengths; raises ValueError."""
    words = text.lower().split()
    if not 1 <= len(words) <= 2:
        raise _no_position(text)
    if len(words) == 1:
        words = ["center", *words] if words[0] in _UPRIGHT else [*words, "center"]
    elif words[0] in _UPRIGHT or words[1] in _LEVEL:
        words.reverse()
    if words[0] in _UPRIGHT or words[1] in _LEVEL:
        raise _no_position(text)
    return Position(_place(words[0], text), _place(words[1], text))


def _place(word: str, text: str) -> Length:
    if word in _WORDS:
        return Length(_WORDS[word], is_share=True)
    try:
        return parse_length(word)
    except ValueError:
        raise _no_position(text) from None


def _no_position(text: str) -> ValueError:
    return ValueError(
        f"{text[:40]!r} is not a position; allowed: center, top, 'bottom left', '25% 75%', '10px 0'"
    )
