"""A drawing for both: boxes, discs, stars, lines and texts, told as plain data."""

from __future__ import annotations

import random
from typing import Any

__all__ = ["A4", "SQUARE", "make_drawing"]

SQUARE = (1080, 1080)
# 210 x 297 mm at 96 pixels to the inch.
A4 = (794, 1123)

_COLOURS = ("#e4572e", "#2e4057", "#f3a712", "#669bbc", "#29335c", "#a8c686", "#76b041", "#db2b39")
_WORDS = (
    *("river", "stone", "lantern", "orchard", "quiet", "harbour", "window", "paper", "morning"),
    *("copper", "garden", "bridge", "winter", "letter", "meadow", "silver", "candle", "thread"),
)
_KINDS = ("rectangle", "gradient", "circle", "text", "star", "rectangle", "line", "text", "circle")


def make_drawing(count: int, size: tuple[int, int], number: int) -> list[dict[str, Any]]:
    """`count` elements; another `number` has other words, so that nobody can keep what was set."""
    # Places and colours are the same each time, so that every drawing costs the same.
    dice, words = random.Random(count), random.Random(number)
    found = []
    for index in range(count):
        kind = _KINDS[index % len(_KINDS)]
        width, height = dice.randint(60, 260), dice.randint(40, 160)
        box = {
            "x": dice.randint(0, size[0] - width),
            "y": dice.randint(0, size[1] - height),
            "width": width,
            "height": height,
        }
        colours = dice.sample(_COLOURS, 2)
        text = " ".join(words.choices(_WORDS, k=12))
        found.append({"kind": kind, "colours": colours, "text": text, **box})
    return found
