"""Rearranges a stack of content into columns, for canvases that are much wider than before.

Scaled as it is, a stack would be as small as the height demands and leave most of the width empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["unstack"]

Band = tuple[float, float]
_Plain = Mapping[str, Any]

_MOST_COLUMNS = 4
# Columns must make everything larger by this factor.
_WORTH = 1.2
_MARGIN = 0.06
_NEAR_EDGE = 2.0


def unstack(
    elements: Sequence[_Plain],
    canvas: tuple[float, float],
    new: tuple[float, float],
    bands: Sequence[Band],
    is_decoration: Callable[[int], bool],
) -> tuple[list[dict[str, Any]], tuple[float, float]]:
    """Return the elements in columns, and the canvas around them; unchanged if that is no gain.

    The bands are the ranges from top to bottom that content takes.
    """
    plain = [dict(element) for element in elements]
    width, height = canvas
    best, most = None, min(new[0] / width, new[1] / height) * _WORTH
    for count in range(2, min(_MOST_COLUMNS, len(bands)) + 1):
        columns = _divide(bands, count)
        tall = max(end - start for start, end in columns) * (1 + 2 * _MARGIN)
        factor = min(new[0] / (width * count), new[1] / tall)
        if factor > most:
            best, most = (columns, tall), factor
    if best is None:
        return plain, canvas
    columns, tall = best
    wide = width * len(columns)
    for number, element in enumerate(plain):
        if is_decoration(number):
            _stretch(element, canvas, (wide, tall), columns)
        else:
            _move(element, width, tall, columns)
    return plain, (wide, tall)


def _divide(bands: Sequence[Band], count: int) -> list[Band]:
    """Return the ranges of `count` columns whose heights differ least."""
    columns: list[Band] = []
    left = list(bands)
    for remaining in range(count, 0, -1):
        target = (left[-1][1] - left[0][0]) / remaining
        taken = 1
        # Each further column needs a band.
        while taken < len(left) - remaining + 1:
            now, then = left[taken - 1][1] - left[0][0], left[taken][1] - left[0][0]
            if abs(then - target) > abs(now - target):
                break
            taken += 1
        if remaining == 1:
            taken = len(left)
        columns.append((left[0][0], left[taken - 1][1]))
        left = left[taken:]
    return columns


def _move(element: dict[str, Any], width: float, tall: float, columns: Sequence[Band]) -> None:
    """Move an element with its column, which is centred from top to bottom."""
    middle = element["y"] + element["height"] / 2
    at = min(
        range(len(columns)),
        key=lambda one: max(columns[one][0] - middle, middle - columns[one][1], 0),
    )
    start, end = columns[at]
    element["x"] += width * at
    element["y"] += (tall - (end - start)) / 2 - start


def _stretch(
    element: dict[str, Any],
    canvas: tuple[float, float],
    new: tuple[float, float],
    columns: Sequence[Band],
) -> None:
    """Keep decoration at the edges that it touches."""
    touches = []
    for axis, (start, size) in enumerate((("x", "width"), ("y", "height"))):
        low = element[start] <= _NEAR_EDGE
        high = element[start] + element[size] >= canvas[axis] - _NEAR_EDGE
        touches.append(low or high)
    if not any(touches):
        _move(element, canvas[0], new[1], columns)
        return
    for axis, (start, size) in enumerate((("x", "width"), ("y", "height"))):
        before, after = element[start], canvas[axis] - element[start] - element[size]
        if before <= _NEAR_EDGE and after <= _NEAR_EDGE:
            element[size] = new[axis] - before - after
        elif after <= _NEAR_EDGE:
            element[start] = new[axis] - after - element[size]
        elif before > _NEAR_EDGE:
            # In proportion, between the edges.
            share = (before + element[size] / 2) / canvas[axis]
            element[start] = share * new[axis] - element[size] / 2
