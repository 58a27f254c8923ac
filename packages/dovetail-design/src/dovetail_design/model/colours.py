"""Parses CSS colours into red, green, blue and alpha.

Accepted: `#rgb`, `#rgba`, `#rrggbb`, `#rrggbbaa`, `rgb()` and `rgba()` with numbers or per cent,
`hsl()` and `hsla()`, both with commas or with spaces and a slash, CSS colour names,
`transparent` and `none`.
"""

from __future__ import annotations

import colorsys
import difflib
import functools
import re
from typing import NamedTuple

from dovetail_design.model.colour_names import COLOUR_NAMES

__all__ = ["BLACK", "NO_COLOUR", "Rgba", "parse_colour"]


class Rgba(NamedTuple):
    """Red, green and blue from 0 to 255, alpha from 0 to 1."""

    red: int
    green: int
    blue: int
    alpha: float = 1.0

    @property
    def hex(self) -> str:
        """`#rrggbb`, without alpha."""
        return f"#{self.red:02x}{self.green:02x}{self.blue:02x}"


BLACK = Rgba(0, 0, 0)
NO_COLOUR = Rgba(0, 0, 0, 0.0)

_NOTHING = frozenset({"none", "transparent"})
_HEX = re.compile(r"#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})\Z")
_CALL = re.compile(r"(rgb|hsl)a?\(\s*([^()]*?)\s*\)\Z")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)\Z")
_ALLOWED = "#rgb, #rrggbb, #rrggbbaa, rgb(), rgba(), hsl(), hsla(), a CSS name, transparent, none"


@functools.lru_cache(maxsize=4096)
def parse_colour(text: str) -> Rgba:
    """Parse a colour; raises ValueError with what is allowed."""
    word = text.strip().lower()
    if word in _NOTHING:
        return NO_COLOUR
    if word in COLOUR_NAMES:
        return _of_hex(COLOUR_NAMES[word])
    if _HEX.match(word):
        return _of_hex(word[1:])
    call = _CALL.match(word)
    found = _of_call(call[1], call[2]) if call else None
    if found is None:
        raise ValueError(f"{text[:60]!r} is not a colour{_near(word)}; allowed: {_ALLOWED}")
    return found


def _near(word: str) -> str:
    near = difflib.get_close_matches(word, COLOUR_NAMES, n=1) if word.isalpha() else []
    return f" (did you mean {near[0]!r}?)" if near else ""


def _of_hex(digits: str) -> Rgba:
    if len(digits) < 6:
        digits = "".join(digit * 2 for digit in digits)
    red, green, blue = (int(digits[at : at + 2], 16) for at in (0, 2, 4))
    return Rgba(red, green, blue, int(digits[6:8], 16) / 255 if len(digits) == 8 else 1.0)


def _of_call(kind: str, inside: str) -> Rgba | None:
    if "," in inside:
        parts = [part.strip() for part in inside.split(",")]
    else:
        parts = inside.replace("/", " ").split()
    if len(parts) not in (3, 4):
        return None
    alpha = _scaled(parts[3], 1.0) if len(parts) == 4 else 1.0
    channels = _of_rgb(parts) if kind == "rgb" else _of_hsl(parts)
    if channels is None or alpha is None:
        return None
    return Rgba(*channels, min(max(alpha, 0.0), 1.0))


def _of_rgb(parts: list[str]) -> tuple[int, int, int] | None:
    values = [_scaled(part, 255.0) for part in parts[:3]]
    if None in values:
        return None
    red, green, blue = (_channel(value) for value in values if value is not None)
    return red, green, blue


def _of_hsl(parts: list[str]) -> tuple[int, int, int] | None:
    hue = parts[0].removesuffix("deg")
    saturation, lightness = (
        _scaled(part if part.endswith("%") else f"{part}%", 1.0) for part in parts[1:3]
    )
    if not _NUMBER.match(hue) or saturation is None or lightness is None:
        return None
    light, saturated = min(max(lightness, 0.0), 1.0), min(max(saturation, 0.0), 1.0)
    red, green, blue = colorsys.hls_to_rgb(float(hue) % 360 / 360, light, saturated)
    return _channel(red * 255), _channel(green * 255), _channel(blue * 255)


def _scaled(text: str, whole: float) -> float | None:
    """Parse a number, or a percentage of `whole`."""
    is_share = text.endswith("%")
    digits = text.removesuffix("%")
    if not _NUMBER.match(digits):
        return None
    return float(digits) * whole / 100 if is_share else float(digits)


def _channel(value: float) -> int:
    return min(max(int(value + 0.5), 0), 255)
