"""Layers of paint and path as an SVG text, with the CSS gradients that the library uses."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, hypot, radians, sin
from xml.sax.saxutils import quoteattr

from dovetail_design.library.outlines import format_number as number
from dovetail_design.model import Gradient, Rgba, parse_paint

__all__ = ["write_svg"]


def write_svg(layers: Sequence[tuple[str, str]], width: float, height: float) -> str:
    """An SVG text of this size, painted bottom first."""
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
    size = f'width="{number(width)}" height="{number(height)}"'
    box = f'viewBox="0 0 {number(width)} {number(height)}"'
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
        where = f'cx="{number(x)}" cy="{number(y)}" r="{number(reach)}"'
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
    where = f'x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"'
    return (
        f'<linearGradient id="{id}" gradientUnits="userSpaceOnUse" {where}>{stops}</linearGradient>'
    )


def _centre(gradient: Gradient, width: float, height: float) -> tuple[float, float]:
    across, down = gradient.centre
    return across.of(width), down.of(height)
