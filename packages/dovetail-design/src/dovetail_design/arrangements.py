"""The modes of arrange_elements and of the operation arrange."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dovetail import ToolError
from dovetail_design.arranging import (
    ALIGNMENTS,
    Alignment,
    Axis,
    Box,
    Flow,
    align,
    around,
    distribute,
    flow,
    grid,
    stack,
)

__all__ = ["Arrangement", "Mode"]

Mode = Literal["align", "distribute", "stack", "grid", "auto_layout"]
# Axis -> alignments along the axis, which would put all elements of a stack in one place.
_ALONG: dict[Axis, set[Alignment]] = {
    "horizontal": {"left", "center", "right"},
    "vertical": {"top", "middle", "bottom"},
}
_GAP = 16.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """How elements are arranged."""

    mode: Mode
    edges: Sequence[Alignment] = ()
    by_canvas: bool = False
    axis: Axis = "horizontal"
    gap: float | None = None
    columns: int | None = None
    padding: float = 0.0

    def arrange(self, boxes: dict[str, Box], canvas: Box, within: Box) -> dict[str, Box]:
        """Return the new position of each element."""
        frame = canvas if self.by_canvas else around(boxes)
        gap = _GAP if self.gap is None else self.gap
        match self.mode:
            case "align":
                if not self.edges:
                    raise ToolError(
                        "mode align needs `align`: left, center, right, top, middle or bottom"
                    )
                if len(boxes) < 2 and not self.by_canvas:
                    raise ToolError(
                        "A single element can only be aligned to the canvas: pass "
                        'relativeTo "canvas"'
                    )
                return align(boxes, list(self.edges), frame)
            case "distribute":
                if len(boxes) < 2:
                    raise ToolError("distribute needs at least two elements")
                return distribute(boxes, self.axis, self.gap)
            case "stack":
                along = _ALONG[self.axis]
                if along & set(self.edges):
                    across = ", ".join(one for one in ALIGNMENTS if one not in along)
                    raise ToolError(f"A {self.axis} stack aligns by {across}")
                stacked = stack(boxes, self.axis, gap, frame)
                return align(stacked, list(self.edges), around(stacked)) if self.edges else stacked
            case "grid":
                columns = self.columns or math.ceil(math.sqrt(len(boxes)))
                return grid(boxes, columns, gap, frame)
            case "auto_layout":
                return flow(boxes, Flow(within, gap, self.padding))
