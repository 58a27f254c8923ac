"""Parses CSS box-shadow, one or several."""

from __future__ import annotations

import functools
from typing import NamedTuple

from dovetail_design.model.colours import Rgba, parse_colour
from dovetail_design.model.gradients import split_top
from dovetail_design.model.positions import parse_length

__all__ = ["Shadow", "parse_box_shadow"]

MAX_SHADOWS = 8
MAX_BLUR = 500

DEFAULT_COLOUR = Rgba(0, 0, 0, 0.4)


class Shadow(NamedTuple):
    """One shadow; lengths in pixels."""

    x: float
    y: float
    blur: float
    spread: float
    colour: Rgba
    is_inset: bool


@functools.lru_cache(maxsize=1024)
def parse_box_shadow(text: str) -> tuple[Shadow, ...]:
    """Parse shadows, topmost first; raises ValueError."""
    if text.strip().lower() in ("", "none"):
        return ()
    parts = split_top(text.lower(), ",")
    if len(parts) > MAX_SHADOWS:
        raise ValueError(f"at most {MAX_SHADOWS} shadows are allowed, got {len(parts)}")
    return tuple(_shadow(part) for part in parts)


def _shadow(part: str) -> Shadow:
    lengths, colour, is_inset = [], None, False
    for word in split_top(part, " "):
        if word == "inset":
            is_inset = True
        elif word[0].isdigit() or word[0] in "+-.":
            lengths.append(parse_length(word))
        elif colour is None:
            colour = parse_colour(word)
        else:
            raise _no_shadow(part)
    if not 2 <= len(lengths) <= 4 or any(length.is_share for length in lengths):
        raise _no_shadow(part)
    x, y, blur, spread = (*(length.value for length in lengths), 0.0, 0.0)[:4]
    if not 0 <= blur <= MAX_BLUR:
        raise ValueError(f"the blur of a shadow must be 0 to {MAX_BLUR} px, not {blur:g}")
    return Shadow(x, y, blur, spread, DEFAULT_COLOUR if colour is None else colour, is_inset)


def _no_shadow(part: str) -> ValueError:
    return ValueError(
        f"{part[:60]!r} is not a shadow; allowed: x y [blur [spread]] [colour] [inset], "
        "for example 0 4px 12px rgba(0,0,0,0.2)"
    )
