"""The input of typesetting: a text with its font and width."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

__all__ = ["TextBlock", "apply_transform", "clean_text", "is_right_to_left", "weight_number"]

# Control characters, which neither fonts nor XML support.
_UNSET = re.compile("[\x00-\x09\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_WEIGHTS = {"normal": 400, "bold": 700}


class TextBlock(NamedTuple):
    """Everything that affects the positions of glyphs."""

    text: str
    families: tuple[str, ...]
    size: float
    weight: int
    is_italic: bool
    width: float
    align: str = "left"
    line_height: float = 1.2
    letter_spacing: float = 0.0
    decoration: str = "none"
    is_rtl: bool = False


def weight_number(weight: str | int | None, default: int = 400) -> int:
    """Return a weight as a number from 100 to 900."""
    if weight is None:
        return default
    return _WEIGHTS.get(str(weight)) or int(weight)


def apply_transform(text: str, transform: str) -> str:
    """Apply text-transform and remove characters that cannot be drawn."""
    text = clean_text(text)
    if transform == "uppercase":
        return text.upper()
    if transform == "lowercase":
        return text.lower()
    if transform == "capitalize":
        return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))
    return text


def clean_text(text: str) -> str:
    """Remove control characters; a tab becomes four spaces, because fonts have none."""
    text = text.replace("\t", "    ").replace("\r\n", "\n").replace("\r", "\n")
    return _UNSET.sub("", text)


def is_right_to_left(text: str, direction: str = "auto") -> bool:
    """Return whether a text is right-to-left: as set, or by its first strong character."""
    if direction != "auto":
        return direction == "rtl"
    for letter in text:
        kind = unicodedata.bidirectional(letter)
        if kind in ("R", "AL"):
            return True
        if kind == "L":
            return False
    return False
