"""Composes the marks of a design: one composer for each element type."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from dovetail import ToolError
from dovetail_design.model.design import Design
from dovetail_design.model.elements import AnyElement, Container
from dovetail_design.rendering.code_marks import barcode_marks, qr_marks
from dovetail_design.rendering.drawing_context import DrawingContext
from dovetail_design.rendering.effects import apply_effects
from dovetail_design.rendering.marks import GroupMark, Mark, PathMark
from dovetail_design.rendering.outlines import Box, Rounded
from dovetail_design.rendering.painting_values import (
    corner_outline,
    inner_box,
    visible_paint,
)
from dovetail_design.rendering.picture_marks import image_marks, svg_marks
from dovetail_design.rendering.render_options import RenderOptions
from dovetail_design.rendering.shape_marks import (
    bezier_marks,
    circle_marks,
    container_marks,
    line_marks,
    polygon_marks,
    rectangle_marks,
    star_marks,
)
from dovetail_design.rendering.table_marks import table_marks
from dovetail_design.rendering.text_marks import text_marks

__all__ = ["background_marks", "compose_scene", "page_marks"]

# Containers in containers deeper than this are drawn flat.
MAX_DEPTH = 20

_COMPOSERS: dict[str, Callable[[Any, DrawingContext], tuple[Mark, ...]]] = {
    "rectangle": rectangle_marks,
    "circle": circle_marks,
    "text": text_marks,
    "image": image_marks,
    "line": line_marks,
    "polygon": polygon_marks,
    "star": star_marks,
    "svg": svg_marks,
    "bezier": bezier_marks,
    "container": container_marks,
    "table": table_marks,
    "qr": qr_marks,
    "barcode": barcode_marks,
}


def background_marks(design: Design) -> tuple[Mark, ...]:
    """Return the marks of the background."""
    canvas = Box(0, 0, design.width, design.height)
    paint = visible_paint(design.background, canvas)
    return () if paint is None else (PathMark(canvas, paint),)


def page_marks(page: Design, options: RenderOptions) -> tuple[Mark, ...]:
    """Return the marks of a page: its background, unless it is transparent, and its elements."""
    background = () if options.transparent else background_marks(page)
    known = {element.id for element in page.elements}
    only = options.element_ids
    if only is not None:
        # Of a document with several pages, each has some of the elements.
        only = tuple(id for id in only if id in known)
    return (*background, *compose_scene(page, options.context, only))


def compose_scene(
    design: Design, context: DrawingContext, only: Collection[str] | None = None
) -> tuple[Mark, ...]:
    """Return the marks of the elements, bottom first; with `only`, of these and their children."""
    children = _children(design.elements)
    if only is not None:
        _refuse_unknown(design, only)
    marks = []
    for element in design.elements:
        if only is None:
            is_top = element.groupId is None or element.groupId not in children
            if not is_top:
                continue
        elif element.id not in only or element.groupId in only:
            continue
        mark = _compose(element, children, context, MAX_DEPTH)
        if mark is not None:
            marks.append(mark)
    return tuple(marks)


def _children(elements: Sequence[AnyElement]) -> dict[str, list[AnyElement]]:
    """Return the children by container id. A container that is its own ancestor has none."""
    containers = {one.id: one for one in elements if isinstance(one, Container) and one.id}
    found: dict[str, list[AnyElement]] = {}
    for element in elements:
        parent = element.groupId
        if parent is not None and parent in containers and not _is_circular(element, containers):
            found.setdefault(parent, []).append(element)
    return found


def _is_circular(element: AnyElement, containers: dict[str, Container]) -> bool:
    seen = {element.id}
    parent = containers.get(element.groupId or "")
    while parent is not None:
        if parent.id in seen:
            return True
        seen.add(parent.id)
        parent = containers.get(parent.groupId or "")
    return False


def _compose(
    element: AnyElement,
    children: dict[str, list[AnyElement]],
    context: DrawingContext,
    depth: int,
) -> Mark | None:
    if not element.visible or element.opacity <= 0:
        return None
    try:
        marks = _COMPOSERS[element.type](element, context)
    except ToolError as error:
        raise ToolError(
            f"Element {element.id or element.name or element.type!r}: {error}"
        ) from None
    inside: tuple[Mark, ...] = ()
    if isinstance(element, Container) and element.id in children and depth > 0:
        composed = (_compose(one, children, context, depth - 1) for one in children[element.id])
        inside = tuple(mark for mark in composed if mark is not None)
        if element.overflow == "hidden" and inside:
            inside = (GroupMark(inside, clip=_inner_outline(element)),)
    return apply_effects(element, marks, inside)


def _inner_outline(element: Container) -> Any:
    outline, box = corner_outline(element), inner_box(element)
    if not isinstance(outline, Rounded):
        return box
    shrink = max(box.x - element.x, box.y - element.y)
    top_left, top_right, bottom_right, bottom_left = (
        max(radius - shrink, 0.0) for radius in outline.radii
    )
    return Rounded(box, (top_left, top_right, bottom_right, bottom_left))


def _refuse_unknown(design: Design, only: Collection[str]) -> None:
    known = {element.id for element in design.elements}
    missing = [one for one in only if one not in known]
    if missing:
        raise ToolError(
            f"There is no element {missing[0][:60]!r} in this design; describe_design lists them"
        )
