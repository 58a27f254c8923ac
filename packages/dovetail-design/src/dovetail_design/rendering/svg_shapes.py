"""Writes outlines, colours and gradients as SVG."""

from __future__ import annotations

import math
from xml.sax.saxutils import quoteattr

from dovetail_design.model.colours import Rgba
from dovetail_design.model.svg_paths import PathCommand
from dovetail_design.rendering.gradient_lines import GradientFill
from dovetail_design.rendering.outlines import Box, Ellipse, Outline, PathShape, Rounded

__all__ = ["attributes", "gradient_markup", "number", "path_data"]


def number(value: float) -> str:
    """Format a number with at most four decimals and no redundant characters."""
    text = f"{value:.4f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def attributes(**values: str | float | None) -> str:
    """Format attributes in order, without those that are None; `_` stands for `-`."""
    parts = []
    for name, value in values.items():
        if value is None:
            continue
        text = value if isinstance(value, str) else number(value)
        parts.append(f" {name.rstrip('_').replace('_', '-')}={quoteattr(text)}")
    return "".join(parts)


def path_data(outline: Outline) -> str:
    """Return the `d` of an outline."""
    if isinstance(outline, Box):
        left, top, wide, high = map(number, outline)
        return f"M{left} {top}h{wide}v{high}h-{wide}z"
    if isinstance(outline, Rounded):
        return _rounded_data(outline)
    if isinstance(outline, Ellipse):
        x, y, width, height = outline.box
        radii = f"{number(width / 2)} {number(height / 2)} 0 1 1"
        return (
            f"M{number(x)} {number(y + height / 2)}a{radii} {number(width)} 0"
            f"a{radii} {number(-width)} 0z"
        )
    return "".join(_command(outline, *command) for command in _with_simple_arcs(outline))


def _rounded_data(outline: Rounded) -> str:
    x, y, width, height = outline.box
    one, two, three, four = outline.radii
    right, bottom = x + width, y + height
    corners = (
        ("M", x + one, y),
        ("L", right - two, y),
        (two, right, y + two),
        ("L", right, bottom - three),
        (three, right - three, bottom),
        ("L", x + four, bottom),
        (four, x, bottom - four),
        ("L", x, y + one),
        (one, x + one, y),
    )
    parts = []
    for kind, to_x, to_y in corners:
        if isinstance(kind, str):
            parts.append(f"{kind}{number(to_x)} {number(to_y)}")
        elif kind:
            parts.append(f"A{number(kind)} {number(kind)} 0 0 1 {number(to_x)} {number(to_y)}")
    return "".join(parts) + "Z"


def _command(shape: PathShape, letter: str, numbers: tuple[float, ...]) -> str:
    move_x, move_y = (0.0, 0.0) if letter.islower() else (shape.move_x, shape.move_y)
    kind = letter.lower()
    if kind == "h":
        scaled = [numbers[0] * shape.scale_x + move_x]
    elif kind == "v":
        scaled = [numbers[0] * shape.scale_y + move_y]
    elif kind == "a":
        radius_x, radius_y, turn, *flags, x, y = numbers
        scaled = [
            radius_x * shape.scale_x,
            radius_y * shape.scale_y,
            turn,
            *flags,
            x * shape.scale_x + move_x,
            y * shape.scale_y + move_y,
        ]
    else:
        scaled = [
            value * (shape.scale_y if at % 2 else shape.scale_x) + (move_y if at % 2 else move_x)
            for at, value in enumerate(numbers)
        ]
    return letter + " ".join(map(number, scaled))


def _with_simple_arcs(shape: PathShape) -> list[PathCommand]:
    """Return the commands with arcs that need not be both rotated and stretched."""
    if math.isclose(shape.scale_x, shape.scale_y):
        return list(shape.commands)
    return [_without_turn(command) for command in shape.commands]


def _without_turn(command: PathCommand) -> PathCommand:
    """Return an arc without rotation, if it is a circle or rotated by quarters."""
    letter, numbers = command
    if letter.lower() != "a":
        return command
    radius_x, radius_y, turn, *rest = numbers
    if turn % 180 == 90:
        radius_x, radius_y = radius_y, radius_x
    return PathCommand(letter, (radius_x, radius_y, 0.0, *rest))


def gradient_markup(fill: GradientFill, name: str) -> str:
    """A linear or radial gradient with an id."""
    stops = "".join(
        f"<stop{attributes(offset=place, stop_color=colour.hex, stop_opacity=_alpha(colour))}/>"
        for place, colour in fill.stops
    )
    shared = {
        "id": name,
        "gradientUnits": "userSpaceOnUse",
        "spreadMethod": "repeat" if fill.is_repeating else None,
    }
    if fill.kind == "linear":
        ends = {"x1": fill.x, "y1": fill.y, "x2": fill.x2, "y2": fill.y2}
        return f"<linearGradient{attributes(**shared, **ends)}>{stops}</linearGradient>"
    ratio = fill.y2 / fill.x2
    stretch = None
    if not math.isclose(ratio, 1):
        stretch = f"matrix(1 0 0 {ratio:.6g} 0 {number(fill.y - fill.y * ratio)})"
    circle = {"cx": fill.x, "cy": fill.y, "r": fill.x2, "gradientTransform": stretch}
    return f"<radialGradient{attributes(**shared, **circle)}>{stops}</radialGradient>"


def _alpha(colour: Rgba) -> float | None:
    return colour.alpha if colour.alpha < 1 else None
