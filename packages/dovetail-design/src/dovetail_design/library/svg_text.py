"""Writes layers of paint and path as SVG text, including the CSS gradients of the library."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, hypot, radians, sin
from xml.sax.saxutils import quoteattr

from dovetail_design.model import Gradient, Rgba, parse_paint

__all__ = ["format_number", "rectangle", "write_svg"]


def format_number(value: float) -> str:
    """Format a coordinate with at most two decimals."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def rectangle(width: int, height: int) -> str:
    """The path of a rectangle with its top left corner at 0, 0."""
    return f"M0 0 L{width} 0 L{width} {height} L0 {height} Z"


def write_svg(layers: Sequence[tuple[str, str]], width: float, height: float) -> str:
    """Write an SVG text of this size; the first layer is at the bottom."""
    gradients: list[str] = []
    paths = []
    for paint, path in layers:
        parsed = parse_paint(paint)
        if isinstance(parsed, Rgba):
            fill = _colour("fill", parsed)
        else:
            gradients.append(_gradient(parsed, f"g{len(gradients)}", width, height))
            fill = f'fill="url(#g{len(gradients) - 1})"'
        paths.append(f"<path d={quoteattr(path)} {fill}/>")
    defs = f"<defs>{''.join(gradients)}</defs>" if gradients else ""
    size = f'width="{format_number(width)}" height="{format_number(height)}"'
    box = f'viewBox="0 0 {format_number(width)} {format_number(height)}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box}>{defs}{"".join(paths)}</svg>'


def _colour(name: str, colour: Rgba) -> str:
    alpha = "" if colour.alpha >= 1 else f' {name}-opacity="{colour.alpha:.3f}"'
    return f'{name}="{colour.hex}"{alpha}'


def _gradient(gradient: Gradient, id: str, width: float, height: float) -> str:
    last = len(gradient.stops) - 1
    stops = "".join(
        f'<stop offset="{(place / last if stop.at is None else stop.at.value / 100):.3f}" '
        f"{_colour('stop-color', stop.colour).replace('stop-color-opacity', 'stop-opacity')}/>"
        for place, stop in enumerate(gradient.stops)
    )
    if gradient.kind == "radial":
        x, y = _centre(gradient, width, height)
        # CSS: a circle reaches its farthest corner.
        reach = max(hypot(x - a, y - b) for a in (0, width) for b in (0, height))
        where = f'cx="{format_number(x)}" cy="{format_number(y)}" r="{format_number(reach)}"'
        return (
            f'<radialGradient id="{id}" gradientUnits="userSpaceOnUse" {where}>'
            f"{stops}</radialGradient>"
        )
    angle = radians(gradient.angle)
    across, down = sin(angle), -cos(angle)
    # CSS: the line is as long as the box is in its direction.
    half = (abs(width * across) + abs(height * down)) / 2
    x1, y1 = width / 2 - across * half, height / 2 - down * half
    x2, y2 = width / 2 + across * half, height / 2 + down * half
    ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    where = " ".join(f'{name}="{format_number(value)}"' for name, value in ends.items())
    return (
        f'<linearGradient id="{id}" gradientUnits="userSpaceOnUse" {where}>{stops}</linearGradient>'
    )


def _centre(gradient: Gradient, width: float, height: float) -> tuple[float, float]:
    across, down = gradient.centre
    return across.of(width), down.of(height)
