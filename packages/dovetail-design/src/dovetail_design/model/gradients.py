"""Parses CSS gradients: linear, radial and conic, also repeating.

The position of a gradient depends on the box that it fills, so lengths are kept as lengths;
`rendering.gradient_lines` resolves them.
"""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from dovetail_design.model.colours import Rgba, parse_colour
from dovetail_design.model.positions import (
    CENTRE,
    Length,
    Position,
    parse_length,
    parse_position,
)

__all__ = ["ColourStop", "Gradient", "is_gradient", "parse_gradient", "parse_paint", "split_top"]

MAX_STOPS = 64

Kind = Literal["linear", "radial", "conic"]


class ColourStop(NamedTuple):
    """A colour, and its position if given (conic: per cent of a turn)."""

    colour: Rgba
    at: Length | None


@dataclass(frozen=True, slots=True)
class Gradient:
    """A gradient as written."""

    kind: Kind
    stops: tuple[ColourStop, ...]
    repeating: bool = False
    # Linear: degrees clockwise from up; conic: the start angle.
    angle: float = 180.0
    # Linear towards a corner, which depends on the box: (-1 | 0 | 1, -1 | 0 | 1).
    corner: tuple[int, int] | None = None
    centre: Position = CENTRE
    is_circle: bool = False
    # Radial: a CSS keyword, or one or two lengths.
    extent: str | tuple[Length, ...] = "farthest-corner"


_CALL = re.compile(r"(repeating-)?(linear|radial|conic)-gradient\((.*)\)\Z", re.DOTALL)
_ANGLE = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(deg|turn|rad|grad)\Z")
_TO_DEGREES = {"deg": 1.0, "turn": 360.0, "grad": 0.9, "rad": 180 / math.pi}
_SIDES = {"top": (0, -1), "bottom": (0, 1), "left": (-1, 0), "right": (1, 0)}
_SIDE_ANGLES = {(0, -1): 0.0, (1, 0): 90.0, (0, 1): 180.0, (-1, 0): 270.0}
_EXTENTS = frozenset({"closest-side", "closest-corner", "farthest-side", "farthest-corner"})


def is_gradient(text: str) -> bool:
    """Return whether a text looks like a gradient."""
    return "gradient" in text.lower()


@functools.lru_cache(maxsize=2048)
def parse_paint(text: str) -> Rgba | Gradient:
    """Parse a colour or gradient; raises ValueError with what is allowed."""
    return parse_gradient(text) if is_gradient(text) else parse_colour(text)


def parse_gradient(text: str) -> Gradient:
    """Parse a gradient; raises ValueError with what is allowed."""
    call = _CALL.match(text.strip().lower())
    if call is None:
        raise ValueError(
            f"{text[:80]!r} is not a gradient; allowed: linear-gradient(45deg, #f00, #00f 80%), "
            "radial-gradient(circle at 30% 30%, ...), conic-gradient(from 0deg, ...), repeating-..."
        )
    kind: Kind = call[2]  # type: ignore[assignment]
    parts = split_top(call[3], ",")
    settings = _SETTINGS[kind](parts[0])
    listed = parts if settings is None else parts[1:]
    stops = [stop for part in listed for stop in _stops(part, kind)]
    if not 2 <= len(stops) <= MAX_STOPS:
        raise ValueError(f"a gradient has 2 to {MAX_STOPS} colours, {text[:60]!r} has {len(stops)}")
    return Gradient(kind, tuple(stops), repeating=bool(call[1]), **(settings or {}))


def split_top(text: str, separator: str) -> list[str]:
    """Split a text at separators outside of brackets."""
    parts, depth, begin = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and (letter == separator or (separator == " " and letter.isspace())):
            parts.append(text[begin:at])
            begin = at + 1
    return [part.strip() for part in (*parts, text[begin:]) if part.strip()]


def _stops(part: str, kind: Kind) -> list[ColourStop]:
    words = split_top(part, " ")
    if not words or len(words) > 3:
        raise ValueError(f"{part[:60]!r} is not a colour stop; write a colour and a position")
    colour = parse_colour(words[0])
    places = [_place(word, kind) for word in words[1:]]
    return [ColourStop(colour, place) for place in places] or [ColourStop(colour, None)]


def _place(word: str, kind: Kind) -> Length:
    degrees = _angle(word) if kind == "conic" else None
    if degrees is not None:
        return Length(degrees / 3.6, is_share=True)
    return parse_length(word)


def _angle(word: str) -> float | None:
    found = _ANGLE.match(word)
    if found:
        return float(found[1]) * _TO_DEGREES[found[2]]
    return 0.0 if word == "0" else None


def _linear_settings(part: str) -> dict[str, Any] | None:
    angle = _angle(part)
    if angle is not None:
        return {"angle": angle}
    words = part.split()
    if words[:1] != ["to"]:
        return None
    if not 2 <= len(words) <= 3 or any(word not in _SIDES for word in words[1:]):
        raise ValueError(f"{part!r} is not a direction; allowed: 45deg, to right, to bottom left")
    sides = [_SIDES[word] for word in words[1:]]
    corner = (sum(side[0] for side in sides), sum(side[1] for side in sides))
    if corner in _SIDE_ANGLES:
        return {"angle": _SIDE_ANGLES[corner]}
    return {"corner": corner}


def _radial_settings(part: str) -> dict[str, Any] | None:
    shape, centre = _split_at(part)
    words = shape.split()
    lengths = [word for word in words if word[0].isdigit() or word[0] == "."]
    known = {"circle", "ellipse"} | _EXTENTS
    if not (words or centre) or any(word not in known for word in words if word not in lengths):
        return None
    settings: dict[str, Any] = {"is_circle": "circle" in words or len(lengths) == 1}
    if lengths:
        settings["extent"] = tuple(parse_length(word) for word in lengths[:2])
    for word in words:
        if word in _EXTENTS:
            settings["extent"] = word
    if centre:
        settings["centre"] = parse_position(centre)
    return settings


def _conic_settings(part: str) -> dict[str, Any] | None:
    beginning, centre = _split_at(part)
    words = beginning.split()
    if not centre and words[:1] != ["from"]:
        return None
    settings: dict[str, Any] = {"angle": 0.0}
    if words:
        angle = _angle(words[1]) if len(words) == 2 and words[0] == "from" else None
        if angle is None:
            raise ValueError(
                f"{part!r} is not a valid start of a conic gradient; allowed: from 45deg at 50% 50%"
            )
        settings["angle"] = angle
    if centre:
        settings["centre"] = parse_position(centre)
    return settings


def _split_at(part: str) -> tuple[str, str]:
    before, _, after = f" {part} ".partition(" at ")
    return before.strip(), after.strip()


_SETTINGS = {
    "linear": _linear_settings,
    "radial": _radial_settings,
    "conic": _conic_settings,
}
