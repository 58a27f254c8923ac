"""The operations of edit_design: their types, and how they are applied to a canvas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from dovetail import ToolError
from dovetail_design.arrangements import Arrangement, Mode
from dovetail_design.arranging import Alignment, Axis, Box, align, around, distribute
from dovetail_design.canvases import Canvas, box_of, new_id, to_design
from dovetail_design.connecting import Side, bind, follow_connectors
from dovetail_design.inputs import Description, DesignName, refuse_invisible
from dovetail_design.model import ELEMENT_TYPES
from dovetail_design.model.design import CanvasSide
from dovetail_design.model.values import Paint

__all__ = [
    "MOST_OPERATIONS",
    "OPERATIONS",
    "ElementId",
    "ElementIds",
    "Operation",
    "Place",
    "apply_operations",
]

MOST_OPERATIONS = 500

ElementId = Annotated[str, Meta(min_length=1, max_length=100)]
ElementIds = Annotated[list[str], Meta(min_length=1, max_length=10_000)]
Place = Literal["front", "back", "forward", "backward"]
_Shift = Annotated[float, Meta(ge=-100_000, le=100_000, description="Pixels.")]
_Gap = Annotated[float, Meta(ge=0, le=10_000, description="Pixels between elements.")]


class _Operation(
    msgspec.Struct, tag_field="op", kw_only=True, forbid_unknown_fields=True, rename="camel"
):
    pass


class Add(_Operation, tag="add"):
    """Add an element on top, with the properties of add_element."""

    element: Annotated[
        dict[str, Any],
        Meta(
            description=f"As in add_element: type ({', '.join(ELEMENT_TYPES)}), x, y, width, "
            "height and the properties of the type."
        ),
    ]


class Update(_Operation, tag="update"):
    """Change properties of an element; null removes a property."""

    element_id: ElementId
    updates: Annotated[dict[str, Any], Meta(min_length=1)]


class Delete(_Operation, tag="delete"):
    """Delete elements."""

    element_ids: ElementIds


class Move(_Operation, tag="move"):
    """Move elements by dx, dy, or move the box around them to x, y."""

    element_ids: ElementIds
    dx: _Shift | None = None
    dy: _Shift | None = None
    x: _Shift | None = None
    y: _Shift | None = None


class Group(_Operation, tag="group"):
    """Group elements; groupId null removes them from their group."""

    element_ids: ElementIds
    group_id: Annotated[str, Meta(min_length=1, max_length=100)] | msgspec.UnsetType | None = (
        msgspec.UNSET
    )


class Align(_Operation, tag="align"):
    """Align elements with each other, or with the canvas."""

    element_ids: ElementIds
    to: Annotated[list[Alignment], Meta(min_length=1, max_length=2)]
    relative_to: Literal["selection", "canvas"] = "selection"


class Distribute(_Operation, tag="distribute"):
    """Give elements equal gaps."""

    element_ids: ElementIds
    axis: Axis = "horizontal"
    gap: _Gap | None = None


class Order(_Operation, tag="order"):
    """Change the drawing order: to the front or back, one step, or an index from 0."""

    element_ids: ElementIds
    to: Place | Annotated[int, Meta(ge=0, le=10_000)]


class SetCanvas(_Operation, tag="canvas"):
    """Change the background, name, description or size of the design."""

    background: Paint | None = None
    name: DesignName | None = None
    description: Description | None = None
    width: CanvasSide | None = None
    height: CanvasSide | None = None


class Arrange(_Operation, tag="arrange"):
    """Arrange elements as arrange_elements does."""

    element_ids: ElementIds
    mode: Mode
    align: list[Alignment] = []
    relative_to: Literal["selection", "canvas"] = "selection"
    axis: Axis = "horizontal"
    gap: _Gap | None = None
    columns: Annotated[int, Meta(ge=1, le=1_000)] | None = None
    container_id: ElementId | None = None
    padding: Annotated[float, Meta(ge=0, le=5_000)] = 0.0


class BindConnector(_Operation, tag="bind_connector"):
    """Connect a line to two elements; it follows when they move."""

    element_id: ElementId
    source: Annotated[ElementId, Meta(description="Id of the element where it starts.")] = (
        msgspec.field(name="from")
    )
    target: Annotated[ElementId, Meta(description="Id of the element where it ends.")] = (
        msgspec.field(name="to")
    )
    from_side: Side = "auto"
    to_side: Side = "auto"


Operation = (
    Add
    | Update
    | Delete
    | Move
    | Group
    | Align
    | Distribute
    | Arrange
    | Order
    | SetCanvas
    | BindConnector
)


# Operation -> its fields, for the list of tools. A test compares them with the types.
OPERATIONS: dict[str, str] = {
    "add": f"element {{type {'|'.join(ELEMENT_TYPES)}, x, y, width, height, text, fontSize, "
    "fontFamily, fontWeight, textAlign, fill, stroke, strokeWidth, borderRadius, src, page...} "
    "(describe_design with elementType lists all properties)",
    "update": "elementId, updates (null removes a property)",
    "delete": "elementIds",
    "move": "elementIds, dx, dy (by), or x, y (to)",
    "group": "elementIds, groupId (null: ungroup)",
    "align": "elementIds, to [left|center|right|top|middle|bottom], relativeTo selection|canvas",
    "distribute": "elementIds, axis horizontal|vertical, gap",
    "arrange": "elementIds, mode stack|grid|auto_layout|align|distribute, align, relativeTo, axis, "
    "gap, columns, containerId, padding",
    "order": "elementIds, to front|back|forward|backward or an index",
    "canvas": "background, name, description, width, height",
    "bind_connector": "elementId (a line), from, to, fromSide, toSide",
}


def apply_operations(canvas: Canvas, operations: Sequence[Operation]) -> list[str]:
    """Apply operations in order and return the added ids; a ToolError names the failed one."""
    added: list[str] = []
    for number, operation in enumerate(operations):
        try:
            made = _APPLY[type(operation)](canvas, operation)
        except ToolError as error:
            tag = operation.__struct_config__.tag
            raise ToolError(
                f"Nothing was changed, because operations[{number}] ({tag}) failed: {error}"
            ) from None
        if made is not None:
            added.append(made)
    follow_connectors(canvas)
    return added


def _add(canvas: Canvas, one: Add) -> str:
    return canvas.add(one.element)


def _update(canvas: Canvas, one: Update) -> None:
    canvas.update(one.element_id, one.updates)


def _delete(canvas: Canvas, one: Delete) -> None:
    canvas.delete(one.element_ids)


def _move(canvas: Canvas, one: Move) -> None:
    if (one.dx, one.dy, one.x, one.y) == (None, None, None, None):
        raise ToolError("pass dx and dy, or x and y")
    if (one.x is not None and one.dx is not None) or (one.y is not None and one.dy is not None):
        raise ToolError("pass either dx and dy or x and y, not both")
    boxes = canvas.boxes(one.element_ids)
    frame = around(boxes)
    dx = one.x - frame.x if one.x is not None else one.dx or 0
    dy = one.y - frame.y if one.y is not None else one.dy or 0
    canvas.place(
        {id: Box(box.x + dx, box.y + dy, box.width, box.height) for id, box in boxes.items()}
    )


def _group(canvas: Canvas, one: Group) -> None:
    group = new_id("grp", 8) if one.group_id is msgspec.UNSET else one.group_id
    for id in one.element_ids:
        canvas.update(id, {"groupId": group})


def _align(canvas: Canvas, one: Align) -> None:
    boxes = canvas.outer_boxes(one.element_ids)
    frame = canvas.frame if one.relative_to == "canvas" else around(boxes)
    if one.relative_to == "selection" and len(boxes) < 2:
        raise ToolError(
            'a single element can only be aligned to the canvas: pass relativeTo "canvas"'
        )
    canvas.place_outer(align(boxes, one.to, frame))


def _distribute(canvas: Canvas, one: Distribute) -> None:
    if len(one.element_ids) < 2:
        raise ToolError("distribute needs at least two elements")
    canvas.place_outer(distribute(canvas.outer_boxes(one.element_ids), one.axis, one.gap))


def _arrange(canvas: Canvas, one: Arrange) -> None:
    arrangement = Arrangement(
        mode=one.mode,
        edges=one.align,
        by_canvas=one.relative_to == "canvas",
        axis=one.axis,
        gap=one.gap,
        columns=one.columns,
        padding=one.padding,
    )
    inside = canvas.frame if one.container_id is None else box_of(canvas.get(one.container_id))
    boxes = canvas.outer_boxes(dict.fromkeys(one.element_ids))
    canvas.place_outer(arrangement.arrange(boxes, canvas.frame, inside))


def _order(canvas: Canvas, one: Order) -> None:
    moved = dict.fromkeys(one.element_ids)
    for id in moved:
        canvas.get(id)
        canvas.touched[id] = None
    # Moved elements keep their relative order.
    chosen = [id for id in canvas.elements if id in moved]
    rest = [id for id in canvas.elements if id not in moved]
    before = list(canvas.elements)
    lowest = before.index(chosen[0])
    places: dict[Any, int] = {
        "front": len(rest),
        "back": 0,
        "forward": sum(id not in moved for id in before[: before.index(chosen[-1]) + 1]) + 1,
        "backward": max(0, sum(id not in moved for id in before[:lowest]) - 1),
    }
    at = places[one.to] if isinstance(one.to, str) else min(one.to, len(rest))
    canvas.reorder([*rest[:at], *chosen, *rest[at:]])


def _set_canvas(canvas: Canvas, one: SetCanvas) -> None:
    given = {
        "background": one.background,
        "name": one.name,
        "description": one.description,
        "width": one.width,
        "height": one.height,
    }
    values = {key: value for key, value in given.items() if value is not None}
    if one.name is not None:
        refuse_invisible(one.name)
    if not values:
        raise ToolError("pass background, name, description, width or height")
    canvas.set(**values)
    to_design({**canvas.state(), "elements": []})


def _bind_connector(canvas: Canvas, one: BindConnector) -> None:
    bind(
        canvas,
        one.element_id,
        {
            "from": one.source,
            "to": one.target,
            "fromSide": one.from_side,
            "toSide": one.to_side,
        },
    )


_APPLY: dict[type[Any], Callable[[Canvas, Any], str | None]] = {
    Add: _add,
    Update: _update,
    Delete: _delete,
    Move: _move,
    Group: _group,
    Align: _align,
    Distribute: _distribute,
    Arrange: _arrange,
    Order: _order,
    SetCanvas: _set_canvas,
    BindConnector: _bind_connector,
}
