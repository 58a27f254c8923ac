"""Images and SVG files as marks, with a placeholder for missing pictures."""

from __future__ import annotations

from dovetail_design.model.colours import Rgba
from dovetail_design.model.elements import Image, Svg
from dovetail_design.model.positions import parse_position
from dovetail_design.rendering.drawing_context import DrawingContext
from dovetail_design.rendering.image_files import Picture, load_picture
from dovetail_design.rendering.marks import (
    DrawingMark,
    GroupMark,
    ImageMark,
    Mark,
    PathMark,
    StrokeLine,
)
from dovetail_design.rendering.outlines import Box, path_of_points
from dovetail_design.rendering.painting_values import (
    border_of,
    box_of,
    corner_outline,
    fill_of,
    visible_paint,
)
from dovetail_design.rendering.safe_svg import SvgDrawing
from dovetail_design.rendering.shape_marks import svg_path_outline

__all__ = ["fit_picture", "image_marks", "svg_marks"]

_LOST_FILL = Rgba(229, 231, 235)
_LOST_LINE = Rgba(156, 163, 175)
_DEFAULT_SVG_FILL = "#000000"


def image_marks(element: Image, context: DrawingContext) -> tuple[Mark, ...]:
    """Return the picture clipped at the corners, its background and its border."""
    outline = corner_outline(element)
    behind = visible_paint(element.fill, box_of(element))
    picture = load_picture(element.src, context.find_asset) if element.src else None
    inside = _lost(box_of(element)) if picture is None else _placed(element, picture)
    marks: list[Mark] = [] if behind is None else [PathMark(outline, behind)]
    marks.append(GroupMark(inside, clip=outline))
    border = border_of(element)
    if border is not None:
        marks.append(PathMark(outline, None, border))
    return tuple(marks)


def svg_marks(element: Svg, context: DrawingContext) -> tuple[Mark, ...]:
    """Return the marks of the path or the file."""
    if element.svgPath is not None:
        fill = fill_of(element, _DEFAULT_SVG_FILL)
        return (PathMark(svg_path_outline(element), fill, border_of(element)),)
    drawing = load_picture(element.src, context.find_asset) if element.src else None
    inside = _lost(box_of(element)) if drawing is None else _placed(element, drawing)
    return (GroupMark(inside, clip=box_of(element)),)


def _placed(element: Image | Svg, picture: Picture | SvgDrawing) -> tuple[Mark, ...]:
    target = fit_picture(
        picture.width, picture.height, box_of(element), element.objectFit, element.objectPosition
    )
    if isinstance(picture, Picture):
        source = Box(0, 0, picture.width, picture.height)
        return (ImageMark(picture.data, source, target),)
    return (DrawingMark(picture.markup, picture.width, picture.height, target),)


def fit_picture(width: float, height: float, box: Box, fit: str, position: str) -> Box:
    """Return the position of a picture by object-fit and object-position."""
    scale_x, scale_y = box.width / width, box.height / height
    if fit == "contain":
        scale_x = scale_y = min(scale_x, scale_y)
    elif fit == "cover":
        scale_x = scale_y = max(scale_x, scale_y)
    elif fit == "none":
        scale_x = scale_y = 1.0
    elif fit == "scale-down":
        scale_x = scale_y = min(scale_x, scale_y, 1.0)
    wide, high = width * scale_x, height * scale_y
    place = parse_position(position)
    # Percentages refer to the remaining space, which may be negative.
    return Box(
        box.x + place.x.of(box.width - wide), box.y + place.y.of(box.height - high), wide, high
    )


def _lost(box: Box) -> tuple[Mark, ...]:
    """Return a grey box with a cross, for a missing picture."""
    line = StrokeLine(_LOST_LINE, max(min(box.width, box.height) / 100, 1.0))
    left, top, right, bottom = box.x, box.y, box.x + box.width, box.y + box.height
    cross = [[(left, top), (right, bottom)], [(left, bottom), (right, top)]]
    return (
        PathMark(box, _LOST_FILL, line),
        *(PathMark(path_of_points(ends, closed=False), None, line) for ends in cross),
    )
