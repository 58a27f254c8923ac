"""The tools that change many elements at once: edit_design and arrange_elements."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from dovetail import Context, ToolError, ToolResult
from dovetail_design.answers import Registrar, answer, tool
from dovetail_design.arrangements import Arrangement, Mode
from dovetail_design.arranging import Alignment, Axis
from dovetail_design.canvases import Canvas, box_of
from dovetail_design.connecting import follow_connectors
from dovetail_design.inputs import ApiKey, DesignId, DryRun, IfVersion
from dovetail_design.operations import (
    MOST_OPERATIONS,
    OPERATIONS,
    ElementId,
    ElementIds,
    Operation,
    apply_operations,
)
from dovetail_design.result_views import changed, fit_budget
from dovetail_design.results import Arranged, Changed, NewBox
from dovetail_design.studio import Studio, caller_of
from dovetail_serverkit.answer_size import AnswerBudget
from dovetail_serverkit.tool_descriptions import EDITS, SETS

__all__ = ["add_edit_tools"]

_MOST_SHOWN = 300


def _edit_schema() -> dict[str, Any]:
    """Return a schema that lists the operations in one text: their types would be 6,000 characters.

    The types check what arrives.
    """
    return {
        "type": "object",
        "properties": {
            "designId": {"type": "string"},
            "operations": {
                "type": "array",
                "minItems": 1,
                "maxItems": MOST_OPERATIONS,
                "items": {
                    "type": "object",
                    "properties": {"op": {"enum": [*OPERATIONS]}},
                    "required": ["op"],
                },
                "description": "; ".join(f"{op}: {fields}" for op, fields in OPERATIONS.items()),
            },
            "ifVersion": {
                "type": "integer",
                "minimum": 1,
                "description": "Fail if it is at another version",
            },
            "dryRun": {"type": "boolean", "description": "Only report"},
        },
        "required": ["designId", "operations"],
    }


def _read_operations(operations: list[dict[str, Any]]) -> list[Operation]:
    typed = []
    for number, one in enumerate(operations):
        try:
            typed.append(msgspec.convert(one, Operation, strict=True))
        except msgspec.ValidationError as error:
            fields = OPERATIONS[one["op"]]
            raise ToolError(
                f"Nothing was changed: operations[{number}] ({one['op']}): {error}. "
                f"It takes {fields}"[: _MOST_SHOWN + 200]
            ) from None
    return typed


def add_edit_tools(tools: Registrar, studio: Studio) -> None:
    """Register them."""

    @tool(
        tools,
        "edit_design",
        "Make many changes as one version, all or none, in the given order. An added element can "
        "be used by its `id` in later operations. Returns warnings about what looks wrong.",
        EDITS,
        Changed,
        input_schema=_edit_schema(),
    )
    def edit_design(
        ctx: Context,
        designId: str,
        operations: list[dict[str, Any]],
        ifVersion: int | None = None,
        dryRun: bool = False,
        apiKey: str | None = None,
    ) -> ToolResult:
        typed = _read_operations(operations)

        def edit(canvas: Canvas) -> str:
            apply_operations(canvas, typed)
            tags = [str(one["op"]) for one in operations]
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
        tools,
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
        mode: Mode,
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
        arrangement = Arrangement(
            mode=mode,
            edges=align or (),
            by_canvas=relativeTo == "canvas",
            axis=axis,
            gap=gap,
            columns=columns,
            padding=padding,
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
        shown = fit_budget(views, AnswerBudget(10_000))
        return answer(
            Arranged(
                **{name: getattr(told, name) for name in told.__struct_fields__},
                boxes=shown,
                more_boxes=len(views) - len(shown),
            )
        )
