"""The tools that change many elements at once: edit_design and arrange_elements."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from msgspec import Meta

from dovetail import Context, Server, ToolError, ToolResult
from dovetail_design.answers import answer, tool
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
from dovetail_design.canvases import Canvas, box_of
from dovetail_design.connecting import follow_connectors
from dovetail_design.inputs import ApiKey, DesignId, DryRun, IfVersion
from dovetail_design.operations import (
    MOST_OPERATIONS,
    ElementId,
    ElementIds,
    Operation,
    apply_operations,
)
from dovetail_design.result_views import changed, fit_budget
from dovetail_design.results import Arranged, Changed, NewBox
from dovetail_design.studio import Studio, caller_of
from dovetail_serverkit.text_budget import Budget
from dovetail_serverkit.tool_descriptions import EDITS, SETS

__all__ = ["add_edit_tools"]

# Axis -> alignments along the axis, which would put all elements of a stack in one place.
_ALONG: dict[Axis, set[Alignment]] = {
    "horizontal": {"left", "center", "right"},
    "vertical": {"top", "middle", "bottom"},
}
_Mode = Literal["align", "distribute", "stack", "grid", "auto_layout"]


def add_edit_tools(server: Server, studio: Studio) -> None:
    """Register them."""

    @tool(
        server,
        "edit_design",
        "Make many changes as one version, all or none. Operations: add, update, delete, move, "
        "group, align, distribute, order, canvas, bind_connector; they run in the given order. "
        "Later operations can refer to an element by the `id` that you gave it when adding it.",
        EDITS,
        Changed,
    )
    def edit_design(
        ctx: Context,
        designId: DesignId,
        operations: Annotated[list[Operation], Meta(min_length=1, max_length=MOST_OPERATIONS)],
        ifVersion: IfVersion = None,
        dryRun: DryRun = False,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        def edit(canvas: Canvas) -> str:
            apply_operations(canvas, operations)
            tags = [str(one.__struct_config__.tag) for one in operations]
            return ", ".join(f"{tag} {tags.count(tag)}" for tag in dict.fromkeys(tags))

        change = studio.change(
            caller_of(ctx),
            designId,
            "edit_design",
            edit,
            if_version=ifVersion,
            dry_run=dryRun,
        )
        done = "would be applied" if dryRun else "applied as one version"
        text = f"{len(operations)} operations {done}."
        return answer(changed(studio, change, text, dry_run=dryRun))

    @tool(
        server,
        "arrange_elements",
        "Arrange elements. align: by edges or centres, relative to each other or to the canvas; "
        "distribute: equal gaps; stack: one after the other in the given order; grid: rows of "
        "equal cells; auto_layout: wrap like words on a page, inside a container or the canvas. "
        "A container moves its children along. Margins are kept free; rotation is ignored.",
        SETS,
        Arranged,
    )
    def arrange_elements(  # noqa: PLR0913 - parameters of the tool
        ctx: Context,
        designId: DesignId,
        elementIds: ElementIds,
        mode: _Mode,
        align: Annotated[list[Alignment] | None, "Edges or centres, for align and stack."] = None,
        relativeTo: Literal["selection", "canvas"] = "selection",
        axis: Axis = "horizontal",
        gap: Annotated[
            Annotated[float, Meta(ge=0, le=10_000)] | None,
            "Pixels between elements. Default: equal gaps that fit, or 16.",
        ] = None,
        columns: Annotated[
            Annotated[int, Meta(ge=1, le=1_000)] | None, "Columns of the grid."
        ] = None,
        containerId: Annotated[
            ElementId | None, "Container for auto_layout. Default: the canvas."
        ] = None,
        padding: Annotated[float, Meta(ge=0, le=5_000)] = 0.0,
        ifVersion: IfVersion = None,
        dryRun: DryRun = False,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        arrangement = _Arrangement(
            mode, align or [], relativeTo == "canvas", axis, gap, columns, padding
        )
        placed: list[str] = list(dict.fromkeys(elementIds))

        def edit(canvas: Canvas) -> str:
            boxes = canvas.outer_boxes(placed)
            within = canvas.frame if containerId is None else box_of(canvas.get(containerId))
            canvas.place_outer(arrangement.arrange(boxes, canvas.frame, within))
            follow_connectors(canvas)
            return f"{mode} {len(placed)} elements"

        change = studio.change(
            caller_of(ctx),
            designId,
            "arrange_elements",
            edit,
            if_version=ifVersion,
            dry_run=dryRun,
        )
        told = changed(studio, change, f"Arranged {len(placed)} elements ({mode}).", dry_run=dryRun)
        by_id = {element["id"]: element for element in change.state["elements"]}
        views = [
            NewBox(
                element_id=id, **{side: by_id[id][side] for side in ("x", "y", "width", "height")}
            )
            for id in placed
        ]
        shown = fit_budget(views, Budget(10_000))
        return answer(
            Arranged(
                **{name: getattr(told, name) for name in told.__struct_fields__},
                boxes=shown,
                more_boxes=len(views) - len(shown),
            )
        )


class _Arrangement:
    """The parameters of arrange_elements."""

    def __init__(
        self,
        mode: _Mode,
        edges: list[Alignment],
        by_canvas: bool,
        axis: Axis,
        gap: float | None,
        columns: int | None,
        padding: float,
    ) -> None:
        self._mode = mode
        self._edges = edges
        self._by_canvas = by_canvas
        self._axis = axis
        self._gap = gap
        self._columns = columns
        self._padding = padding

    def arrange(self, boxes: dict[str, Box], canvas: Box, within: Box) -> dict[str, Box]:
        """Return the new position of each element."""
        frame = canvas if self._by_canvas else around(boxes)
        gap = 16.0 if self._gap is None else self._gap
        match self._mode:
            case "align":
                if not self._edges:
                    raise ToolError(
                        "mode align needs `align`: left, center, right, top, middle or bottom"
                    )
                if len(boxes) < 2 and not self._by_canvas:
                    raise ToolError(
                        "A single element can only be aligned to the canvas: pass "
                        'relativeTo "canvas"'
                    )
                return align(boxes, self._edges, frame)
            case "distribute":
                if len(boxes) < 2:
                    raise ToolError("distribute needs at least two elements")
                return distribute(boxes, self._axis, self._gap)
            case "stack":
                along = _ALONG[self._axis]
                if along & set(self._edges):
                    across = ", ".join(one for one in ALIGNMENTS if one not in along)
                    raise ToolError(f"A {self._axis} stack aligns by {across}")
                stacked = stack(boxes, self._axis, gap, frame)
                return align(stacked, self._edges, around(stacked)) if self._edges else stacked
            case "grid":
                columns = self._columns or math.ceil(math.sqrt(len(boxes)))
                return grid(boxes, columns, gap, frame)
            case "auto_layout":
                return flow(boxes, Flow(within, gap, self._padding))
