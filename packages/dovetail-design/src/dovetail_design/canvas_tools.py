"""The tools that change the canvas: add, update and delete elements, resize, clear."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from msgspec import Meta

from dovetail import Context, ToolError, ToolResult
from dovetail_design import render_jobs
from dovetail_design.answers import Registrar, answer, tool
from dovetail_design.canvases import Canvas, refuse_too_many
from dovetail_design.connecting import follow_connectors
from dovetail_design.element_schema import lean_element
from dovetail_design.inputs import ApiKey, DesignId, IfVersion, Side
from dovetail_design.model import MAX_ELEMENTS
from dovetail_design.operations import ElementId
from dovetail_design.result_views import changed
from dovetail_design.results import Changed
from dovetail_design.scaling import scale_element, scale_to_fit
from dovetail_design.studio import Studio, caller_of
from dovetail_serverkit.tool_descriptions import CHANGES, DESTROYS, SETS

__all__ = ["add_canvas_tools"]


def _add_schema() -> dict[str, Any]:
    """Return a short schema; a full one of the thirteen types would be 17,000 characters."""
    element = lean_element()
    return {
        "type": "object",
        "properties": {
            "designId": {"type": "string"},
            "element": element,
            "elements": {
                "type": "array",
                "items": {"type": "object"},
                "minItems": 1,
                "maxItems": MAX_ELEMENTS,
                "description": "Several, bottom first; all are added or none",
            },
        },
        "required": ["designId"],
    }


def add_canvas_tools(tools: Registrar, studio: Studio) -> None:
    """Register them."""

    @tool(
        tools,
        "add_element",
        "Add one or more elements on top. Coordinates are pixels from the top left corner; colours "
        "are CSS colours or gradients; texts may contain {{fields}}. describe_design with "
        "elementType lists all properties of a type. Returns ids and warnings.",
        CHANGES,
        Changed,
        input_schema=_add_schema(),
    )
    def add_element(
        ctx: Context,
        designId: str,
        element: dict[str, Any] | None = None,
        elements: list[dict[str, Any]] | None = None,
        ifVersion: int | None = None,
        apiKey: str | None = None,
    ) -> ToolResult:
        if (element is None) == (elements is None):
            raise ToolError("Pass either `element` or `elements`, not both")
        given = [element] if element is not None else elements or []

        def edit(canvas: Canvas) -> str:
            refuse_too_many(len(canvas.elements) + len(given))
            for number, one in enumerate(given):
                try:
                    canvas.add(one)
                except ToolError as error:
                    if element is not None:
                        raise
                    raise ToolError(f"Nothing was added: elements[{number}]: {error}") from None
            return f"{len(given)} elements" if len(given) > 1 else str(given[0]["type"])

        change = studio.change(caller_of(ctx), designId, "add_element", edit, if_version=ifVersion)
        what = "1 element" if len(given) == 1 else f"{len(given)} elements"
        return answer(changed(studio, change, f"Added {what}."))

    @tool(
        tools,
        "update_element",
        "Change properties of an element; null removes one.",
        SETS,
        Changed,
    )
    def update_element(
        ctx: Context,
        designId: DesignId,
        elementId: ElementId,
        updates: Annotated[
            dict[str, Any], Meta(min_length=1, description="Properties as in add_element")
        ],
        ifVersion: IfVersion = None,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        def edit(canvas: Canvas) -> str:
            canvas.update(elementId, updates)
            follow_connectors(canvas)
            return f"{elementId}: {', '.join(updates)}"

        change = studio.change(
            caller_of(ctx), designId, "update_element", edit, if_version=ifVersion
        )
        return answer(changed(studio, change, f"Updated {elementId}: {', '.join(updates)[:500]}."))

    @tool(
        tools,
        "delete_element",
        "Delete an element.",
        DESTROYS,
        Changed,
    )
    def delete_element(
        ctx: Context,
        designId: DesignId,
        elementId: ElementId,
        ifVersion: IfVersion = None,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        def edit(canvas: Canvas) -> str:
            canvas.delete([elementId])
            follow_connectors(canvas)
            return elementId

        change = studio.change(
            caller_of(ctx), designId, "delete_element", edit, if_version=ifVersion
        )
        return answer(changed(studio, change, f"Deleted {elementId}."))

    _add_whole(tools, studio)


def _add_whole(tools: Registrar, studio: Studio) -> None:
    @tool(
        tools,
        "resize_canvas",
        "Resize the canvas. keep: elements stay; scale: everything is scaled to fit; smart: a new "
        "layout for the new proportions.",
        SETS,
        Changed,
    )
    def resize_canvas(
        ctx: Context,
        designId: DesignId,
        width: Side,
        height: Side,
        mode: Literal["keep", "scale", "smart"] = "keep",
        ifVersion: IfVersion = None,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        caller = caller_of(ctx)
        layout: list[dict[str, Any]] = []
        if mode == "smart":
            # Before the transaction, because it may take long; so it fits this version only.
            record, state = studio.load(caller, designId)
            ifVersion = record.version if ifVersion is None else ifVersion
            with _explaining(width, height):
                layout = studio.renderer.run(
                    render_jobs.resize,
                    state,
                    width,
                    height,
                    returns=list[dict[str, Any]],
                    kept="",
                )

        def edit(canvas: Canvas) -> str:
            with _explaining(width, height):
                if mode == "scale":
                    _scale(canvas, width, height)
                for element in layout:
                    canvas.put(element)
            # Elements that stay where they are may be outside of the canvas now.
            canvas.touched.update(dict.fromkeys(canvas.elements))
            canvas.set(width=width, height=height)
            follow_connectors(canvas)
            return f"{width} x {height} ({mode})"

        change = studio.change(caller, designId, "resize_canvas", edit, if_version=ifVersion)
        return answer(changed(studio, change, f"The canvas is {width} x {height} px."))

    @tool(
        tools,
        "clear_canvas",
        "Delete all elements of a design, including locked ones.",
        DESTROYS,
        Changed,
    )
    def clear_canvas(
        ctx: Context, designId: DesignId, ifVersion: IfVersion = None, apiKey: ApiKey = None
    ) -> ToolResult:
        removed = 0

        def edit(canvas: Canvas) -> str:
            nonlocal removed
            removed = len(canvas.elements)
            canvas.touched.update(dict.fromkeys(canvas.elements))
            canvas.elements.clear()
            follow_connectors(canvas)
            return f"{removed} elements"

        change = studio.change(caller_of(ctx), designId, "clear_canvas", edit, if_version=ifVersion)
        return answer(changed(studio, change, f"Removed {removed} elements."))


@contextlib.contextmanager
def _explaining(width: int, height: int) -> Iterator[None]:
    """Add what to do to errors of the new layout."""
    try:
        yield
    except ToolError as error:
        raise ToolError(
            f"Nothing was changed: at {width} x {height} px the elements cannot be placed "
            f"({error}); mode keep leaves the elements as they are"
        ) from None


def _scale(canvas: Canvas, width: int, height: int) -> None:
    frame = canvas.frame
    factor, dx, dy = scale_to_fit((int(frame.width), int(frame.height)), (width, height))
    for id, element in list(canvas.elements.items()):
        canvas.put({**scale_element(element, factor, dx, dy), "id": id})
