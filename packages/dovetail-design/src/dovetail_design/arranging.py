"""Geometry of aligning, distributing and stacking boxes, and of grids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

__all__ = [
    "ALIGNMENTS",
    "Alignment",
    "Axis",
    "Box",
    "Flow",
    "align",
    "around",
    "distribute",
    "flow",
    "grid",
    "stack",
]

Alignment = Literal["left", "center", "right", "top", "middle", "bottom"]
Axis = Literal["horizontal", "vertical"]


@dataclass(frozen=True, slots=True)
class Box:
    """The position and size of an element, without its rotation."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.y + self.height


Boxes = Mapping[str, Box]


@dataclass(frozen=True, slots=True)
class Flow:
    """The box that elements flow in, and the gaps between them."""

    within: Box
    gap: float
    padding: float = 0.0


# Alignment -> the position of a box inside another.
ALIGNMENTS: dict[Alignment, Callable[[Box, Box], Box]] = {
    "left": lambda box, frame: replace(box, x=frame.x),
    "center": lambda box, frame: replace(box, x=frame.x + (frame.width - box.width) / 2),
    "right": lambda box, frame: replace(box, x=frame.right - box.width),
    "top": lambda box, frame: replace(box, y=frame.y),
    "middle": lambda box, frame: replace(box, y=frame.y + (frame.height - box.height) / 2),
    "bottom": lambda box, frame: replace(box, y=frame.bottom - box.height),
}


def around(boxes: Boxes) -> Box:
    """Return the smallest box that contains all boxes."""
    left = min(box.x for box in boxes.values())
    top = min(box.y for box in boxes.values())
    right = max(box.right for box in boxes.values())
    bottom = max(box.bottom for box in boxes.values())
    return Box(left, top, right - left, bottom - top)


def align(boxes: Boxes, how: Sequence[Alignment], frame: Box) -> dict[str, Box]:
    """Align each box to an edge or the centre of the frame."""
    moved = dict(boxes)
    for one in how:
        moved = {id: ALIGNMENTS[one](box, frame) for id, box in moved.items()}
    return moved


def distribute(boxes: Boxes, axis: Axis, gap: float | None) -> dict[str, Box]:
    """Distribute with equal gaps, by position; the outermost boxes stay unless gap is given."""
    if axis == "vertical":
        return _turned(distribute(_turned(boxes), "horizontal", gap))
    ordered = sorted(boxes.items(), key=lambda pair: (pair[1].x, pair[1].right))
    frame = around(boxes)
    if gap is None:
        room = frame.width - sum(box.width for _, box in ordered)
        gap = room / max(1, len(ordered) - 1)
    return _in_a_row(ordered, frame.x, gap)


def stack(boxes: Boxes, axis: Axis, gap: float, start: Box) -> dict[str, Box]:
    """Place the boxes one after the other, in the given order."""
    if axis == "vertical":
        return _turned(stack(_turned(boxes), "horizontal", gap, _turn(start)))
    row = _in_a_row(list(boxes.items()), start.x, gap)
    return {id: replace(box, y=start.y) for id, box in row.items()}


def grid(boxes: Boxes, columns: int, gap: float, start: Box) -> dict[str, Box]:
    """Place the boxes row by row, centred in cells of the size of the largest box."""
    width = max(box.width for box in boxes.values())
    height = max(box.height for box in boxes.values())
    placed = {}
    for number, (id, box) in enumerate(boxes.items()):
        row, column = divmod(number, columns)
        cell = Box(start.x + column * (width + gap), start.y + row * (height + gap), width, height)
        placed[id] = ALIGNMENTS["middle"](ALIGNMENTS["center"](box, cell), cell)
    return placed


def flow(boxes: Boxes, how: Flow) -> dict[str, Box]:
    """Wrap boxes like words on a page; rows and the whole are centred.

    A box wider than the frame is scaled down in proportion. If the rows are higher than the frame,
    all boxes are scaled down step by step.
    """
    room = Box(
        how.within.x + how.padding,
        how.within.y + how.padding,
        max(1.0, how.within.width - 2 * how.padding),
        max(1.0, how.within.height - 2 * how.padding),
    )
    scale = 1.0
    while True:
        fitted = {id: _fit(box, room.width, scale) for id, box in boxes.items()}
        rows = _break(fitted, room.width, how.gap)
        height = sum(_height(row) for row in rows) + how.gap * (len(rows) - 1)
        if height <= room.height or scale < 0.1:
            break
        scale *= 0.9
    top = room.y + max(0.0, (room.height - height) / 2)
    placed: dict[str, Box] = {}
    for row in rows:
        length = sum(box.width for _, box in row) + how.gap * (len(row) - 1)
        cell = Box(room.x, top, room.width, _height(row))
        for id, box in _in_a_row(row, room.x + (room.width - length) / 2, how.gap).items():
            placed[id] = ALIGNMENTS["middle"](box, cell)
        top += cell.height + how.gap
    return placed


def _fit(box: Box, width: float, scale: float) -> Box:
    scale = min(scale, width / box.width) if box.width else scale
    return replace(box, width=box.width * scale, height=box.height * scale)


def _break(boxes: Boxes, width: float, gap: float) -> list[list[tuple[str, Box]]]:
    rows: list[list[tuple[str, Box]]] = [[]]
    used = 0.0
    for id, box in boxes.items():
        needed = box.width + (gap if rows[-1] else 0)
        if rows[-1] and used + needed > width + 0.001:
            rows.append([])
            used, needed = 0.0, box.width
        rows[-1].append((id, box))
        used += needed
    return rows


def _height(row: Sequence[tuple[str, Box]]) -> float:
    return max(box.height for _, box in row)


def _in_a_row(boxes: Sequence[tuple[str, Box]], left: float, gap: float) -> dict[str, Box]:
    placed = {}
    for id, box in boxes:
        placed[id] = replace(box, x=left)
        left += box.width + gap
    return placed


def _turn(box: Box) -> Box:
    return Box(box.y, box.x, box.height, box.width)


def _turned(boxes: Boxes) -> dict[str, Box]:
    return {id: _turn(box) for id, box in boxes.items()}
