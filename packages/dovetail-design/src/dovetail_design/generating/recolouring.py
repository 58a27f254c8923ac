"""Recolours a design: by a hue, or by a style such as pastel or dark.

All colours shift together, so lighter colours stay lighter: the hue of the dominant colour moves
to the target and the others keep their distance from it. Text that loses its contrast is fixed
afterwards (`autofix`).
"""

from __future__ import annotations

import colorsys
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dovetail_design.model import Rgba, parse_colour

__all__ = ["HUES", "MANNERS", "Recolouring", "read_style", "recolour"]

# Word -> hue in degrees.
HUES: dict[str, int] = {
    "red": 355,
    "crimson": 348,
    "coral": 12,
    "orange": 24,
    "amber": 40,
    "gold": 44,
    "golden": 44,
    "yellow": 48,
    "lime": 80,
    "green": 140,
    "emerald": 150,
    "mint": 160,
    "teal": 178,
    "turquoise": 180,
    "cyan": 190,
    "sky": 200,
    "blue": 215,
    "navy": 222,
    "indigo": 240,
    "violet": 265,
    "purple": 275,
    "lavender": 265,
    "magenta": 310,
    "pink": 335,
    "rose": 345,
}

# Word -> change of saturation and lightness (both from 0 to 1).
_Change = Callable[[float, float], tuple[float, float]]
MANNERS: dict[str, _Change] = {
    "pastel": lambda s, light: (s * 0.6, light + (1 - light) * 0.35 if light > 0.45 else light),
    "soft": lambda s, light: (s * 0.7, light + (1 - light) * 0.25 if light > 0.45 else light),
    "vibrant": lambda s, light: (min(1, s * 1.35), light),
    "bold": lambda s, light: (min(1, s * 1.3), light),
    "colorful": lambda s, light: (min(1, s * 1.3), light),
    "muted": lambda s, light: (s * 0.5, light),
    "vintage": lambda s, light: (s * 0.55, light * 0.96),
    "monochrome": lambda s, light: (0, light),
    "grey": lambda s, light: (0, light),
    "gray": lambda s, light: (0, light),
    "minimal": lambda s, light: (s * 0.35, light),
    "minimalist": lambda s, light: (s * 0.35, light),
    "dark": lambda s, light: (s, light),
    "light": lambda s, light: (s, light),
}
_PAINTS = (
    "fill",
    "stroke",
    "color",
    "textShadowColor",
    "textStrokeColor",
    "tableHeaderBackground",
    "tableHeaderTextColor",
    "tableCellTextColor",
    "tableBorderColor",
    "tableAlternateRowColor",
)
_COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b")
# Below this saturation a colour counts as grey.
_GREY = 0.12
# The share of their hue distance that other colours keep from the dominant one.
_KINSHIP = 0.3


@dataclass(frozen=True)
class Recolouring:
    """The requested colour change."""

    hue: int | None = None
    manner: str | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether the colours stay the same."""
        return self.hue is None and self.manner is None


def read_style(style: str) -> tuple[Recolouring, list[str]]:
    """Return the colour change that the words of a style name, and the words that name none."""
    words = style.lower().replace(",", " ").split()
    hue = next((HUES[word] for word in words if word in HUES), None)
    manner = next((word for word in words if word in MANNERS), None)
    return Recolouring(hue, manner), [
        word for word in words if word not in HUES and word not in MANNERS
    ]


def recolour(plain: Mapping[str, Any], request: Recolouring) -> dict[str, Any]:
    """Return the plain values of a design in other colours; library pictures keep theirs."""
    if request.is_nothing:
        return dict(plain)
    lead = _leading_hue(plain)
    goal = lead if request.hue is None else request.hue / 360

    def turn(hue: float) -> float:
        if request.hue is None:
            return hue
        # The shorter direction, and closer together: similar hues match.
        apart = (hue - lead + 0.5) % 1 - 0.5
        return (goal + apart * _KINSHIP) % 1

    flips = _must_flip(plain, request.manner)
    change = MANNERS.get(request.manner or "", lambda s, light: (s, light))

    def convert(colour: Rgba) -> Rgba:
        return _convert(colour, turn, flips, change)

    elements = [
        element if _is_picture(element) else _repaint(element, convert)
        for element in plain.get("elements", ())
    ]
    return {
        **plain,
        "background": _replace(plain.get("background", "#ffffff"), convert),
        "elements": elements,
    }


def _is_picture(element: Mapping[str, Any]) -> bool:
    # The layers of a picture belong together and keep their colours.
    return element.get("type") == "image" or (
        element.get("type") == "svg" and bool(element.get("groupId"))
    )


def _repaint(element: Mapping[str, Any], convert: Callable[[Rgba], Rgba]) -> dict[str, Any]:
    painted = dict(element)
    for key in _PAINTS:
        if isinstance(painted.get(key), str):
            painted[key] = _replace(painted[key], convert)
    return painted


def _replace(paint: str, convert: Callable[[Rgba], Rgba]) -> str:
    def one(found: re.Match[str]) -> str:
        colour = convert(parse_colour(found[0]))
        alpha = "" if colour.alpha >= 1 else f"{round(colour.alpha * 255):02x}"
        return f"{colour.hex}{alpha}"

    return _COLOUR.sub(one, paint)


def _convert(colour: Rgba, turn: Callable[[float], float], flips: bool, change: _Change) -> Rgba:
    hue, light, saturation = colorsys.rgb_to_hls(*(channel / 255 for channel in colour[:3]))
    if flips:
        # Not quite black: a white background becomes dark grey.
        light = 0.08 + (1 - light) * 0.9
    saturation, light = change(saturation, light)
    red, green, blue = colorsys.hls_to_rgb(turn(hue), light, saturation)
    return Rgba(round(255 * red), round(255 * green), round(255 * blue), colour.alpha)


def _leading_hue(plain: Mapping[str, Any]) -> float:
    """Return the dominant hue, weighted by area and opacity."""
    width, height = plain.get("width", 1), plain.get("height", 1)
    weights: dict[float, float] = defaultdict(float)
    painted = [(plain.get("background", "#ffffff"), float(width * height))]
    painted += [
        (element.get("fill") or "", float(element["width"] * element["height"]))
        for element in plain.get("elements", ())
        if element.get("type") != "text" and not _is_picture(element)
    ]
    for paint, area in painted:
        for found in _COLOUR.findall(paint):
            colour = parse_colour(found)
            hue, light, saturation = colorsys.rgb_to_hls(*(value / 255 for value in colour[:3]))
            strength = saturation * (1 - abs(2 * light - 1))
            if strength > _GREY:
                weights[round(hue, 2)] += area * strength * colour.alpha
    return max(weights, key=lambda hue: weights[hue]) if weights else 0.6


def _must_flip(plain: Mapping[str, Any], manner: str | None) -> bool:
    if manner not in ("dark", "light"):
        return False
    colours = [parse_colour(one) for one in _COLOUR.findall(plain.get("background", "#ffffff"))]
    lights = [colorsys.rgb_to_hls(*(v / 255 for v in colour[:3]))[1] for colour in colours] or [1.0]
    is_dark = sum(lights) / len(lights) < 0.5
    return is_dark == (manner == "light")
