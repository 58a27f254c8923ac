"""Adapts a design to a canvas of other proportions.

Text and boxes are scaled by one factor, so nothing is distorted; the remaining space goes into
the gaps. Along each axis the content forms bands (ranges without a gap); bands keep their order,
and the gaps and margins share the remaining space. Elements that span the canvas still do, and
elements at an edge stay there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dovetail_design.generating.unstacking import unstack
from dovetail_design.model import Design, parse_design, to_plain
from dovetail_design.scaling import scale_element

__all__ = ["resize"]

_CONTENT = frozenset({"text", "qr", "barcode", "table"})
_PICTURES = frozenset({"svg", "image"})
# Elements that cover this share of an axis span the canvas; frames leave a margin, and a text
# that is nearly as wide as the canvas belongs to the other content.
_FULL, _FULL_CONTENT = 0.84, 0.97
_NEAR_EDGE = 2.0
# From these proportions on, a stack of content becomes columns.
_MUCH_WIDER = 1.9
_Plain = Mapping[str, Any]


def resize(design: Design, width: int, height: int, *, in_columns: bool = True) -> Design:
    """Return the design with a layout for another size, in columns if it is much wider."""
    if (width, height) == (design.width, design.height):
        return design
    plain = to_plain(design)
    elements: list[dict[str, Any]] = [dict(element) for element in plain.get("elements", ())]
    old, new = (float(design.width), float(design.height)), (width, height)
    if in_columns and new[0] / new[1] >= _MUCH_WIDER * old[0] / old[1]:
        panels = _holders(elements, old)
        elements, old = unstack(
            elements,
            old,
            new,
            _bands(elements, panels, 1, old[1]),
            lambda number: elements[number]["type"] not in _CONTENT and number not in panels,
        )
    factor = min(width / old[0], height / old[1])
    holders = _holders(elements, old)
    axes = tuple(_Axis.of(elements, holders, axis, old[axis], new[axis], factor) for axis in (0, 1))
    parents = _parents(elements, holders, old)
    placed: list[dict[str, Any]] = []
    for number, element in enumerate(elements):
        parent = parents.get(number)
        if parent is None:
            placed.append(_place(element, axes, factor, is_holder=number in holders))
        else:
            placed.append(_follow(element, elements[parent], placed[parent], factor))
    return parse_design({**plain, "width": width, "height": height, "elements": placed})


@dataclass(frozen=True)
class _Axis:
    """How positions along one axis move: the start of each band before and after."""

    old: float
    new: float
    factor: float
    # (old start, old end, new start), in order.
    bands: tuple[tuple[float, float, float], ...]

    @classmethod
    def of(
        cls,
        elements: Sequence[_Plain],
        holders: set[int],
        axis: int,
        old: float,
        new: float,
        factor: float,
    ) -> _Axis:
        bands = _bands(elements, holders, axis, old)
        gaps = _gaps(bands, old)
        free = new - factor * (old - sum(gaps))
        share = free / sum(gaps) if sum(gaps) else 0
        placed, at = [], 0.0
        for (start, end), gap in zip(bands, gaps, strict=False):
            at += gap * share
            placed.append((start, end, at))
            at += (end - start) * factor
        if not sum(gaps) and placed:
            # No gap at all: everything moves to the centre.
            shift = (new - at) / 2
            placed = [(start, end, begin + shift) for start, end, begin in placed]
        return cls(old, new, factor, tuple(placed))

    def move(self, start: float, end: float) -> float:
        """Return the new start of something from `start` to `end`."""
        for begin, finish, place in self.bands:
            if begin - 0.5 <= start and end <= finish + 0.5:
                return place + (start - begin) * self.factor
        middle = (start + end) / 2 / self.old * self.new
        return middle - (end - start) * self.factor / 2


def _bands(
    elements: Sequence[_Plain], holders: set[int], axis: int, old: float
) -> list[tuple[float, float]]:
    """Return the ranges along an axis that content and its panels take."""
    spans = []
    for number, element in enumerate(elements):
        start, end = _span(element, axis)
        if _covers(start, end, old, element["type"]):
            continue
        if element["type"] in _CONTENT or number in holders or not _leans(start, end, old):
            spans.append((max(start, 0.0), min(end, float(old))))
    return _join(spans)


def _span(element: _Plain, axis: int) -> tuple[float, float]:
    start, size = (("x", "width"), ("y", "height"))[axis]
    return float(element[start]), float(element[start] + element[size])


def _covers(start: float, end: float, whole: float, kind: str = "") -> bool:
    if kind in _PICTURES:
        return start <= _NEAR_EDGE and end >= whole - _NEAR_EDGE
    least = _FULL_CONTENT if kind in _CONTENT else _FULL
    return min(end, whole) - max(start, 0) >= least * whole


def _leans(start: float, end: float, whole: float) -> bool:
    """Return whether decoration touches an edge; it then moves with the edge."""
    return start <= _NEAR_EDGE or end >= whole - _NEAR_EDGE


def _holders(elements: Sequence[_Plain], canvas: tuple[float, float]) -> set[int]:
    """Return the panels: boxes that contain content and move together with it."""
    content = [element for element in elements if element["type"] in _CONTENT]
    found = set()
    for number, element in enumerate(elements):
        if element["type"] not in ("rectangle", "container", "circle", "svg"):
            continue
        (left, right), (top, bottom) = _span(element, 0), _span(element, 1)
        if _covers(left, right, canvas[0]) and _covers(top, bottom, canvas[1]):
            continue
        for one in content:
            (a, b), (c, d) = _span(one, 0), _span(one, 1)
            if left - 1 <= a and b <= right + 1 and top - 1 <= c and d <= bottom + 1:
                found.add(number)
                break
    return found


def _parents(
    elements: Sequence[_Plain], holders: set[int], canvas: tuple[float, float]
) -> dict[int, int]:
    """Return the panel of decoration that lies on one; it moves with the panel."""
    panels = [
        number
        for number, element in enumerate(elements)
        if element["type"] in ("rectangle", "container")
        and number not in holders
        and not (_covers(*_span(element, 0), canvas[0]) and _covers(*_span(element, 1), canvas[1]))
    ]
    found = {}
    for number, element in enumerate(elements):
        if element["type"] in _CONTENT or number in holders:
            continue
        for panel in panels:
            if panel < number and _lies_in(element, elements[panel]):
                found[number] = panel
    return found


def _lies_in(element: _Plain, panel: _Plain) -> bool:
    return all(
        _span(panel, axis)[0] - 1 <= _span(element, axis)[0]
        and _span(element, axis)[1] <= _span(panel, axis)[1] + 1
        for axis in (0, 1)
    )


def _follow(
    element: _Plain, panel: _Plain, placed: Mapping[str, Any], factor: float
) -> dict[str, Any]:
    """Keep the distance to the nearer edge of the panel on each axis."""
    scaled = scale_element(element, factor, 0, 0)
    for axis, (start_name, size_name) in enumerate((("x", "width"), ("y", "height"))):
        start, end = _span(element, axis)
        low, high = _span(panel, axis)
        new_low = placed[start_name]
        new_high = new_low + placed[size_name]
        if start - low <= high - end:
            place = new_low + (start - low) * factor
        else:
            place = new_high - (high - end) * factor - scaled[size_name]
        scaled[start_name] = round(place, 2)
    return scaled


def _join(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    bands: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if bands and start <= bands[-1][1] + 0.5:
            bands[-1] = (bands[-1][0], max(bands[-1][1], end))
        else:
            bands.append((start, end))
    return bands


def _gaps(bands: Sequence[tuple[float, float]], whole: float) -> list[float]:
    """Return the gaps before each band and after the last."""
    edges = [0.0, *(edge for band in bands for edge in band), float(whole)]
    return [max(edges[at + 1] - edges[at], 0.0) for at in range(0, len(edges), 2)]


def _place(
    element: _Plain, axes: tuple[_Axis, ...], factor: float, *, is_holder: bool
) -> dict[str, Any]:
    scaled = scale_element(element, factor, 0, 0)
    is_free = element["type"] not in _CONTENT and not is_holder
    if element["type"] in _PICTURES and is_free:
        return _place_picture(element, scaled, axes)
    for axis, (start_name, size_name) in zip(axes, (("x", "width"), ("y", "height")), strict=True):
        start, end = element[start_name], element[start_name] + element[size_name]
        if _covers(start, end, axis.old, element["type"]):
            scaled[start_name], scaled[size_name] = _stretch(element, start, end, axis)
        elif is_free and _leans(start, end, axis.old):
            scaled[start_name] = _stick(start, end, axis, factor)
        else:
            scaled[start_name] = axis.move(start, end)
        scaled[start_name] = round(scaled[start_name], 2)
        scaled[size_name] = round(scaled[size_name], 2)
    return scaled


def _stretch(element: _Plain, start: float, end: float, axis: _Axis) -> tuple[float, float]:
    """Stretch from edge to edge, keeping the distances to both edges."""
    before, after = start * axis.factor, (axis.old - end) * axis.factor
    size = axis.new - before - after
    if element["type"] in ("qr", "barcode", "circle", "star", "polygon"):
        # These types keep their proportions.
        fixed = (end - start) * axis.factor
        return before + (size - fixed) / 2, fixed
    return before, size


def _stick(start: float, end: float, axis: _Axis, factor: float) -> float:
    if start <= _NEAR_EDGE and end < axis.old - _NEAR_EDGE:
        return start * factor
    if start > _NEAR_EDGE:
        return axis.new - (axis.old - start) * factor
    return (start + end) / 2 / axis.old * axis.new - (end - start) * factor / 2


def _place_picture(
    element: _Plain, scaled: dict[str, Any], axes: tuple[_Axis, ...]
) -> dict[str, Any]:
    """Scale a picture in proportion, so that it still spans the sides that it spanned."""
    factor = axes[0].factor
    for axis, (start_name, size_name) in zip(axes, (("x", "width"), ("y", "height")), strict=True):
        start, end = element[start_name], element[start_name] + element[size_name]
        if _covers(start, end, axis.old, element["type"]):
            factor = max(factor, axis.new / axis.old)
    for axis, (start_name, size_name) in zip(axes, (("x", "width"), ("y", "height")), strict=True):
        start, end = element[start_name], element[start_name] + element[size_name]
        scaled[size_name] = round((end - start) * factor, 2)
        if _covers(start, end, axis.old, element["type"]):
            middle = (start + end) / 2 / axis.old * axis.new
            place = middle - (end - start) * factor / 2
        elif _leans(start, end, axis.old):
            place = _stick(start, end, axis, factor)
        else:
            place = axis.move(start, end)
        scaled[start_name] = round(place, 2)
    return scaled
