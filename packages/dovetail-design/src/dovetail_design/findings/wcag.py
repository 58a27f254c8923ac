"""Contrast as defined by WCAG 2.2 (success criterion 1.4.3)."""

from __future__ import annotations

from functools import lru_cache

from dovetail_design.model import Rgba

__all__ = ["contrast", "luminance", "needed_contrast", "over", "readable_on"]

_WHITE, _BLACK, _SOFT_BLACK = Rgba(255, 255, 255), Rgba(0, 0, 0), Rgba(17, 17, 17)
_SMALL_TEXT, _LARGE_TEXT = 4.5, 3.0
# Large text is easier to read: 24 px, or 18.66 px in bold (18 and 14 points).
_LARGE, _LARGE_BOLD = 24.0, 18.66
_BOLD = 700


def _linear(channel: float) -> float:
    share = channel / 255
    return float(share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4)


_LINEAR = [_linear(value) for value in range(256)]


@lru_cache(maxsize=8192)
def luminance(colour: Rgba) -> float:
    """Return the relative luminance, from 0 to 1, without alpha."""
    red, green, blue = (_LINEAR[channel] for channel in colour[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Rgba, other: Rgba) -> float:
    """Return the contrast ratio, from 1 (same colour) to 21 (black on white)."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def over(front: Rgba, back: Rgba, opacity: float = 1.0) -> Rgba:
    """Blend a colour over another."""
    alpha = front.alpha * opacity
    mixed = (
        round(above * alpha + below * (1 - alpha))
        for above, below in zip(front[:3], back[:3], strict=True)
    )
    return Rgba(*mixed)


def needed_contrast(font_size: float, weight: int) -> float:
    """Return the contrast that text of this size needs."""
    is_large = font_size >= _LARGE or (weight >= _BOLD and font_size >= _LARGE_BOLD)
    return _LARGE_TEXT if is_large else _SMALL_TEXT


def readable_on(back: Rgba) -> str:
    """Return white, nearly black or black: the first that is readable at any size.

    One of them always is: in the worst case black and white both reach 4.58.
    """
    ranked = sorted((_WHITE, _BLACK), key=lambda colour: -contrast(colour, back))
    if ranked[0] is _BLACK and contrast(_SOFT_BLACK, back) >= _SMALL_TEXT:
        return _SOFT_BLACK.hex
    return ranked[0].hex
