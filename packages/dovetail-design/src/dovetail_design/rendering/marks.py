"""Marks: the drawing instructions between elements and painters.

Elements are composed into marks once; each painter (skia for pictures and PDF, our writer for
SVG) handles a few kinds of marks and no elements. Later marks cover earlier ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dovetail_design.model.colours import Rgba
from dovetail_design.rendering.gradient_lines import GradientFill
from dovetail_design.rendering.outlines import Box, Outline
from dovetail_design.rendering.text_blocks import TextBlock

__all__ = [
    "DrawingMark",
    "Fill",
    "GroupMark",
    "ImageMark",
    "Mark",
    "PathMark",
    "StrokeLine",
    "TextMark",
]

Fill = Rgba | GradientFill


@dataclass(frozen=True, slots=True)
class StrokeLine:
    """How an outline is drawn."""

    paint: Fill
    width: float
    cap: str = "butt"
    dashes: tuple[float, ...] = ()
    join: str = "miter"


@dataclass(frozen=True, slots=True)
class PathMark:
    """A shape, filled or stroked or both."""

    outline: Outline
    fill: Fill | None = None
    stroke: StrokeLine | None = None
    # Standard deviation of a soft edge.
    blur: float = 0.0
    # No antialiasing: the bars of a code must not have grey edges.
    is_crisp: bool = False


@dataclass(frozen=True, slots=True)
class TextMark:
    """A text layout with its top left corner."""

    block: TextBlock
    x: float
    y: float
    fill: Fill | None
    stroke_width: float = 0.0
    stroke_colour: Rgba | None = None
    blur: float = 0.0


@dataclass(frozen=True, slots=True)
class ImageMark:
    """A part of a picture in a box."""

    data: bytes
    source: Box
    target: Box


@dataclass(frozen=True, slots=True)
class DrawingMark:
    """A sanitised SVG document in a box; the document has its own size."""

    markup: str
    width: float
    height: float
    target: Box


@dataclass(frozen=True, slots=True)
class GroupMark:
    """Marks that are rotated, clipped, filtered and faded together, in that order of nesting."""

    marks: tuple[Mark, ...]
    # Degrees around a point.
    turn: tuple[float, float, float] | None = None
    clip: Outline | None = None
    # Draw only outside of the clip.
    clips_inside: bool = False
    opacity: float = 1.0
    blur: float = 0.0
    # A colour matrix, row by row, 4 x 5, offsets from 0 to 1.
    colours: tuple[float, ...] | None = None
    # Standard deviation of the blur of the background, inside the clip.
    backdrop_blur: float = 0.0
    # The name of the element, for readers of the output.
    name: str | None = field(default=None, compare=False)


Mark = PathMark | TextMark | ImageMark | DrawingMark | GroupMark
