"""A spatial index: boxes sorted into cells, to find neighbours quickly.

The number of cells follows the number of boxes. A box that spans a large part of the canvas (a
background) would be in every cell; those few are kept in a separate list that is always checked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import sqrt

from dovetail_design.findings.boxes import Box

__all__ = ["Grid"]

# A box in more cells than this goes to the separate list.
_MOST_CELLS = 64


class Grid:
    """Boxes by number, found by position."""

    def __init__(self, boxes: Sequence[Box], width: float, height: float) -> None:
        self._boxes = boxes
        per_side = max(1, min(64, round(sqrt(len(boxes)))))
        self._cell_width = max(width / per_side, 1.0)
        self._cell_height = max(height / per_side, 1.0)
        self._cells: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._large: list[int] = []
        # Everything far outside is in one cell: nothing is searched there.
        self._last = per_side
        for number, box in enumerate(boxes):
            columns, rows = self._span(box)
            if len(columns) * len(rows) > _MOST_CELLS:
                self._large.append(number)
                continue
            for column in columns:
                for row in rows:
                    self._cells[column, row].append(number)

    def near(self, box: Box) -> Iterator[int]:
        """Return the numbers of the boxes that intersect this one, lowest first."""
        columns, rows = self._span(box)
        found = {
            number
            for column in columns
            for row in rows
            for number in self._cells.get((column, row), ())
        }
        for number in sorted(found.union(self._large)):
            if self._boxes[number].meet(box):
                yield number

    def _span(self, box: Box) -> tuple[range, range]:
        def place(value: float, size: float) -> int:
            return min(max(int(value // size), -1), self._last)

        return (
            range(place(box.left, self._cell_width), place(box.right, self._cell_width) + 1),
            range(place(box.top, self._cell_height), place(box.bottom, self._cell_height) + 1),
        )
