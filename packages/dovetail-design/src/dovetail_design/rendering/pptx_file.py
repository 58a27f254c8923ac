"""Writes a design as a slide: boxes, ellipses and text are editable, the rest are pictures.

Pictures are used where PowerPoint would draw something different: gradients, shadows, filters,
curves, codes and tables.
"""

from __future__ import annotations

import io
import zipfile
from typing import Any

from pptx import Presentation
from pptx.dml.color import RGBColor
from pptx.enum.shapes import MSO_SHAPE
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.util import Emu, Pt

from dovetail_design.model.colours import Rgba, parse_colour
from dovetail_design.model.design import Design
from dovetail_design.model.elements import AnyElement, Circle, Container, Rectangle, Text
from dovetail_design.model.gradients import parse_paint
from dovetail_design.rendering.graphics import skia
from dovetail_design.rendering.mark_bounds import mark_bounds
from dovetail_design.rendering.outlines import Box
from dovetail_design.rendering.painting_values import inner_box
from dovetail_design.rendering.render_options import RenderOptions
from dovetail_design.rendering.scene import background_marks, compose_scene
from dovetail_design.rendering.shape_marks import DEFAULT_FILL
from dovetail_design.rendering.skia_painter import SkiaPainter
from dovetail_design.rendering.text_blocks import (
    apply_transform,
    clean_text,
    weight_number,
)
from dovetail_design.rendering.text_marks import DEFAULT_SIZE, text_block

__all__ = ["write_slide"]

_EMU = 9525
_POINTS = 72 / 96
# The sides of a slide must be 1 to 56 inches.
_MIN_EMU, _MAX_EMU = 914_400, 51_206_400
_PICTURE_SCALE = 2.0
_MAX_PICTURE_SIDE = 4000
_BLANK_LAYOUT = 6
_MAX_LINES = 300
_ALIGN = {
    "left": PP_ALIGN.LEFT,
    "center": PP_ALIGN.CENTER,
    "right": PP_ALIGN.RIGHT,
    "justify": PP_ALIGN.JUSTIFY,
}
_ANCHOR = {"top": MSO_ANCHOR.TOP, "middle": MSO_ANCHOR.MIDDLE, "bottom": MSO_ANCHOR.BOTTOM}
# The earliest timestamp of a zip file.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_slide(design: Design, options: RenderOptions) -> bytes:
    """Return a presentation with one slide; raises ToolError."""
    return _SlideWriter(design, options).write()


class _SlideWriter:
    def __init__(self, design: Design, options: RenderOptions) -> None:
        self.design = design
        self.options = options
        self.context = options.context
        self.emu = _emu_per_pixel(design)
        self.presentation = Presentation()
        self.presentation.slide_width = Emu(max(int(design.width * self.emu), _MIN_EMU))
        self.presentation.slide_height = Emu(max(int(design.height * self.emu), _MIN_EMU))
        layout = self.presentation.slide_layouts[_BLANK_LAYOUT]
        self.slide = self.presentation.slides.add_slide(layout)

    def write(self) -> bytes:
        if not self.options.transparent:
            self._add_background()
        wanted = self.options.element_ids
        hidden: set[str] = set()
        for element in self.design.elements:
            is_wanted = wanted is None or element.id in wanted or element.groupId in wanted
            if not is_wanted or not element.visible or element.groupId in hidden:
                continue
            if isinstance(element, Container) and _holds_together(element):
                # Its children are part of the picture.
                hidden.add(element.id)
            self._add(element)
        stream = io.BytesIO()
        self.presentation.core_properties.title = clean_text(self.options.title)[:255]
        self.presentation.save(stream)
        return _with_fixed_dates(stream.getvalue())

    def _add_background(self) -> None:
        paint = parse_paint(self.design.background)
        if isinstance(paint, Rgba) and paint.alpha >= 1:
            fill = self.slide.background.fill
            fill.solid()
            fill.fore_color.rgb = _rgb(paint)
            return
        canvas = Box(0, 0, self.design.width, self.design.height)
        self._add_picture(background_marks(self.design), canvas)

    def _add(self, element: AnyElement) -> None:
        if isinstance(element, Text) and _is_plain(element) and _is_plain_text(element):
            self._add_text(element)
        elif isinstance(element, Rectangle | Circle) and _is_plain(element) and _is_flat(element):
            self._add_shape(element)
        else:
            self._add_drawn(element)

    def _place(self, box: Box) -> tuple[Emu, Emu, Emu, Emu]:
        x, y, width, height = (Emu(round(value * self.emu)) for value in box)
        return x, y, width, height

    def _add_shape(self, element: Rectangle | Circle) -> None:
        box = Box(element.x, element.y, element.width, element.height)
        radius = getattr(element, "borderRadius", None) or 0.0
        kind = MSO_SHAPE.OVAL if isinstance(element, Circle) else MSO_SHAPE.RECTANGLE
        if radius:
            kind = MSO_SHAPE.ROUNDED_RECTANGLE
        shape = self.slide.shapes.add_shape(kind, *self._place(box))
        shape.shadow.inherit = False
        if radius:
            shape.adjustments[0] = min(radius / min(box.width, box.height), 0.5)
        _set_name(shape, element)
        shape.rotation = element.rotation
        bare = element.stroke is None and not element.strokeWidth
        fill = element.fill or (DEFAULT_FILL if bare else "none")
        _set_fill(shape.fill, parse_colour(fill))
        if bare:
            shape.line.fill.background()
        else:
            _set_fill(shape.line.fill, parse_colour(element.stroke or "#000000"))
            shape.line.width = Emu(round((element.strokeWidth or 1.0) * self.emu))

    def _add_text(self, element: Text) -> None:
        shape = self.slide.shapes.add_textbox(*self._place(inner_box(element)))
        _set_name(shape, element)
        shape.rotation = element.rotation
        frame = shape.text_frame
        frame.word_wrap = True
        frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = 0
        frame.vertical_anchor = _ANCHOR[element.verticalAlign]
        lines = apply_transform(element.text, element.textTransform).split("\n")
        colour = parse_colour(element.fill or element.color or "#000000")
        align = _ALIGN[text_block(element, self.context).align]
        size = (element.fontSize or DEFAULT_SIZE) * self.emu / _EMU
        for at, line in enumerate(lines):
            paragraph = frame.paragraphs[0] if at == 0 else frame.add_paragraph()
            paragraph.alignment = align
            # A fixed distance: a factor would depend on the line height of the font.
            paragraph.line_spacing = Pt(size * _POINTS * element.lineHeight)
            run = paragraph.add_run()
            run.text = line
            font = run.font
            font.name = self.context.book.choose(element.fontFamily).family
            font.size = Pt(size * _POINTS)
            font.bold = weight_number(element.fontWeight) >= 600
            font.italic = element.fontStyle != "normal"
            font.underline = element.textDecoration == "underline"
            font.color.rgb = _rgb(colour)

    def _add_drawn(self, element: AnyElement) -> None:
        """Add a picture of the element, with its children if they cannot be separated."""
        elements: tuple[AnyElement, ...] = (element,)
        if isinstance(element, Container) and _holds_together(element):
            elements += tuple(one for one in self.design.elements if one.groupId == element.id)
        marks = compose_scene(_with_elements(self.design, elements), self.context)
        if not marks:
            return
        box = self._on_slide(mark_bounds(marks[0], self.context.typesetter))
        if box is not None:
            self._add_picture(marks, box, element)

    def _on_slide(self, box: Box) -> Box | None:
        """Return the visible part of a box."""
        left, top = max(box.x, 0.0), max(box.y, 0.0)
        right = min(box.x + box.width, self.design.width)
        bottom = min(box.y + box.height, self.design.height)
        if right <= left or bottom <= top:
            return None
        return Box(left, top, right - left, bottom - top)

    def _add_picture(self, marks: Any, box: Box, element: AnyElement | None = None) -> None:
        scale = min(_PICTURE_SCALE, _MAX_PICTURE_SIDE / max(box.width, box.height, 1))
        surface = skia.Surface(max(round(box.width * scale), 1), max(round(box.height * scale), 1))
        canvas = surface.getCanvas()
        canvas.scale(scale, scale)
        canvas.translate(-box.x, -box.y)
        with self.context.typesetter.lock:
            SkiaPainter(canvas, self.context.typesetter).paint(marks)
        data = bytes(surface.makeImageSnapshot().encodeToData())
        shape = self.slide.shapes.add_picture(io.BytesIO(data), *self._place(box))
        if element is not None:
            _set_name(shape, element)


def _with_elements(design: Design, elements: tuple[AnyElement, ...]) -> Design:
    """Return the same canvas with other elements."""
    return Design(
        width=design.width, height=design.height, background=design.background, elements=elements
    )


def _emu_per_pixel(design: Design) -> float:
    """Return the CSS scale, unless the slide would be too small or too large."""
    wanted = max(_EMU, _MIN_EMU / min(design.width, design.height))
    return min(wanted, _MAX_EMU / max(design.width, design.height))


def _holds_together(element: Container) -> bool:
    return bool(
        element.rotation or element.opacity < 1 or element.blur or element.overflow == "hidden"
    )


def _is_plain(element: AnyElement) -> bool:
    return (
        element.opacity >= 1
        and not element.blur
        and not element.boxShadow
        and element.brightness == element.contrast == element.saturate == 100
        and not element.hueRotate
    )


def _is_flat(element: Any) -> bool:
    corners = ("TopLeft", "TopRight", "BottomLeft", "BottomRight")
    return (
        all(_is_solid(text) for text in (element.fill, element.stroke))
        and element.borderStyle == "solid"
        and all(getattr(element, f"borderRadius{one}", None) is None for one in corners)
    )


def _is_plain_text(element: Text) -> bool:
    asks_shadow = element.textShadowX or element.textShadowY or element.textShadowBlur
    size = element.fontSize or DEFAULT_SIZE
    return (
        # The limits of PowerPoint.
        4 <= size * element.lineHeight <= 1_500
        and element.text.count("\n") < _MAX_LINES
        and _is_solid(element.fill)
        and _is_solid(element.color)
        and not element.textStrokeWidth
        and not asks_shadow
        and element.textShadowColor is None
        and not element.letterSpacing
        and element.textDecoration in ("none", "underline")
    )


def _is_solid(text: str | None) -> bool:
    paint = None if text is None else parse_paint(text)
    return paint is None or (isinstance(paint, Rgba) and paint.alpha in (0.0, 1.0))


def _set_fill(fill: Any, colour: Rgba) -> None:
    if colour.alpha <= 0:
        fill.background()
    else:
        fill.solid()
        fill.fore_color.rgb = _rgb(colour)


def _set_name(shape: Any, element: AnyElement) -> None:
    shape.name = clean_text(element.name or element.type)


def _rgb(colour: Rgba) -> RGBColor:
    # python-pptx is typed in parts.
    return RGBColor(colour.red, colour.green, colour.blue)  # type: ignore[no-untyped-call]


def _with_fixed_dates(data: bytes) -> bytes:
    """Return the archive with fixed timestamps."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as source,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for name in source.namelist():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(entry, source.read(name))
    return stream.getvalue()
