"""Resolves a CSS gradient on a box: its line, ellipse or angle, and its stops."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from dovetail_design.model.colours import Rgba
from dovetail_design.model.gradients import Gradient
from dovetail_design.model.positions import Length
from dovetail_design.rendering.outlines import Box

__all__ = ["GradientFill", "place_gradient"]

# A minimal radius, for gradients whose edge touches their centre.
_TINY = 1e-3


class GradientFill(NamedTuple):
    """A gradient in pixels of the canvas; `stops` run from 0 to 1 and never back."""

    kind: Literal["linear", "radial", "conic"]
    stops: tuple[tuple[float, Rgba], ...]
    is_repeating: bool
    # Linear: from here to there. Radial: centre and radii. Conic: centre, and where it begins.
    x: float
    y: float
    x2: float
    y2: float


def place_gradient(gradient: Gradient, box: Box) -> GradientFill:
    """Return the gradient on a box."""
    return _PLACERS[gradient.kind](gradient, box)


def _place_linear(gradient: Gradient, box: Box) -> GradientFill:
    angle = math.radians(gradient.angle)
    if gradient.corner is not None:
        # The line's 50 per cent crosses the two other corners (CSS images, 3.1.1).
        to_x, to_y = gradient.corner
        angle = math.atan2(to_x * box.height, -to_y * box.width)
    sine, cosine = math.sin(angle), math.cos(angle)
    length = abs(box.width * sine) + abs(box.height * cosine)
    stops, begin, end = _spread(gradient, length)
    middle_x, middle_y = box.centre
    start_x, start_y = middle_x - sine * length / 2, middle_y + cosine * length / 2
    return GradientFill(
        "linear",
        stops,
        gradient.repeating,
        start_x + sine * length * begin,
        start_y - cosine * length * begin,
        start_x + sine * length * end,
        start_y - cosine * length * end,
    )


def _place_radial(gradient: Gradient, box: Box) -> GradientFill:
    left, top = gradient.centre.x.of(box.width), gradient.centre.y.of(box.height)
    radius_x, radius_y = _radii(gradient, box, left, top)
    radius_x, radius_y = max(radius_x, _TINY), max(radius_y, _TINY)
    # A first stop away from the centre stays where it is: the ellipse begins at its centre.
    stops, _, end = _spread(gradient, radius_x, from_zero=True)
    return GradientFill(
        "radial",
        stops,
        gradient.repeating,
        box.x + left,
        box.y + top,
        radius_x * end,
        radius_y * end,
    )


def _place_conic(gradient: Gradient, box: Box) -> GradientFill:
    stops, _, end = _spread(gradient, 1.0, from_zero=True)
    return GradientFill(
        "conic",
        stops,
        gradient.repeating,
        box.x + gradient.centre.x.of(box.width),
        box.y + gradient.centre.y.of(box.height),
        gradient.angle,
        end,
    )


_PLACERS = {"linear": _place_linear, "radial": _place_radial, "conic": _place_conic}


def _radii(gradient: Gradient, box: Box, left: float, top: float) -> tuple[float, float]:
    if not isinstance(gradient.extent, str):
        lengths: tuple[Length, ...] = gradient.extent
        radius_x = lengths[0].of(box.width)
        return radius_x, lengths[1].of(box.height) if len(lengths) > 1 else radius_x
    pick = min if gradient.extent.startswith("closest") else max
    side_x = pick(abs(left), abs(box.width - left))
    side_y = pick(abs(top), abs(box.height - top))
    to_corner = gradient.extent.endswith("corner")
    if gradient.is_circle:
        radius = math.hypot(side_x, side_y) if to_corner else pick(side_x, side_y)
        return radius, radius
    # The ellipse to a corner has the proportions of the one to the sides.
    factor = math.sqrt(2) if to_corner else 1.0
    return side_x * factor, side_y * factor


def _spread(
    gradient: Gradient, length: float, *, from_zero: bool = False
) -> tuple[tuple[tuple[float, Rgba], ...], float, float]:
    """Stops from 0 to 1, and where on the length that 0 and 1 are."""
    places = _fill_gaps(gradient, length)
    begin = 0.0 if from_zero else places[0]
    end = places[-1]
    if not gradient.repeating or end - begin < _TINY:
        begin, end = min(begin, 0.0), max(end, 1.0)
    listed = [
        ((place - begin) / (end - begin), stop.colour)
        for place, stop in zip(places, gradient.stops, strict=True)
    ]
    stops = _without_grey(listed)
    if stops[0][0] > 0:
        stops.insert(0, (0.0, stops[0][1]))
    if stops[-1][0] < 1:
        stops.append((1.0, stops[-1][1]))
    return tuple((min(max(place, 0.0), 1.0), colour) for place, colour in stops), begin, end


def _without_grey(stops: list[tuple[float, Rgba]]) -> list[tuple[float, Rgba]]:
    """Give transparent stops the colour of their neighbours: `transparent` is nominally black."""
    kept: list[tuple[float, Rgba]] = []
    for at, (place, colour) in enumerate(stops):
        if colour.alpha > 0:
            kept.append((place, colour))
            continue
        around = [stops[side][1] for side in (at - 1, at + 1) if 0 <= side < len(stops)]
        kept += [(place, near._replace(alpha=0.0)) for near in around]
    return kept


def _fill_gaps(gradient: Gradient, length: float) -> list[float]:
    """Give every stop a position: the first 0, the last 1, the others evenly between."""
    known = [None if stop.at is None else stop.at.of(length) / length for stop in gradient.stops]
    known[0] = 0.0 if known[0] is None else known[0]
    known[-1] = 1.0 if known[-1] is None else known[-1]
    places: list[float] = []
    for at, place in enumerate(known):
        if place is None:
            after = next(index for index in range(at, len(known)) if known[index] is not None)
            target = known[after] or 0.0
            step = (max(target, places[-1]) - places[-1]) / (after - at + 1)
            place = places[-1] + step
        places.append(max(place, places[-1]) if places else place)
    return places
