"""Writes a design as slides: boxes, ellipses, lines, tables and text can be edited.

Pictures are used where PowerPoint would draw something different: shadows, filters, curves, codes,
and gradients that are conic, repeating or off centre.
"""

from __future__ import annotations

import io
import zipfile
from typing import Any

from pptx import Presentation
from pptx.enum.shapes import MSO_CONNECTOR, MSO_SHAPE
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.oxml import parse_xml
from pptx.oxml.ns import nsdecls, qn
from pptx.util import Emu, Pt

from dovetail_design.model.colours import Rgba, parse_colour
from dovetail_design.model.design import Design
from dovetail_design.model.elements import (
    AnyElement,
    Circle,
    Container,
    Line,
    Rectangle,
    Table,
    Text,
)
from dovetail_design.model.gradients import is_gradient
from dovetail_design.rendering.graphics import skia
from dovetail_design.rendering.mark_bounds import mark_bounds
from dovetail_design.rendering.marks import StrokeLine
from dovetail_design.rendering.outlines import Box
from dovetail_design.rendering.painting_values import (
    border_of,
    box_of,
    fill_of,
    inner_box,
    visible_paint,
)
from dovetail_design.rendering.pptx_paint import (
    can_paint,
    ending_markup,
    outline_markup,
    set_paint,
)
from dovetail_design.rendering.pptx_table import fill_table
from dovetail_design.rendering.render_options import RenderOptions
from dovetail_design.rendering.scene import background_marks, compose_scene
from dovetail_design.rendering.shape_marks import DEFAULT_FILL, DEFAULT_LINE, line_points
from dovetail_design.rendering.skia_painter import SkiaPainter
from dovetail_design.rendering.table_marks import TableLayout
from dovetail_design.rendering.text_blocks import (
    apply_transform,
    clean_text,
    weight_number,
)
from dovetail_design.rendering.text_marks import DEFAULT_SIZE, text_block

__all__ = ["write_slides"]

_EMU = 9525
_POINTS = 72 / 96
# The sides of a slide must be 1 to 56 inches.
_MIN_EMU, _MAX_EMU = 914_400, 51_206_400
_PICTURE_SCALE = 2.0
_MAX_PICTURE_SIDE = 4000
_BLANK_LAYOUT = 6
_MAX_LINES = 300
_MAX_CELLS = 2_000
_ALIGN = {
    "left": PP_ALIGN.LEFT,
    "center": PP_ALIGN.CENTER,
    "right": PP_ALIGN.RIGHT,
    "justify": PP_ALIGN.JUSTIFY,
}
_ANCHOR = {"top": MSO_ANCHOR.TOP, "middle": MSO_ANCHOR.MIDDLE, "bottom": MSO_ANCHOR.BOTTOM}
# The earliest timestamp of a zip file.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_slides(design: Design, options: RenderOptions) -> bytes:
    """Return a presentation with a slide for each page; raises ToolError."""
    presentation = Presentation()
    emu = _emu_per_pixel(design)
    presentation.slide_width = Emu(max(int(design.width * emu), _MIN_EMU))
    presentation.slide_height = Emu(max(int(design.height * emu), _MIN_EMU))
    for page in design.split():
        slide = presentation.slides.add_slide(presentation.slide_layouts[_BLANK_LAYOUT])
        _SlideWriter(slide, page, options, emu).write()
    stream = io.BytesIO()
    presentation.core_properties.title = clean_text(options.title)[:255]
    presentation.save(stream)
    return _with_fixed_dates(stream.getvalue())


class _SlideWriter:
    def __init__(self, slide: Any, design: Design, options: RenderOptions, emu: float) -> None:
        self.slide = slide
        self.design = design
        self.options = options
        self.context = options.context
        self.emu = emu

    def write(self) -> None:
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

    def _add_background(self) -> None:
        canvas = Box(0, 0, self.design.width, self.design.height)
        paint = visible_paint(self.design.background, canvas)
        is_opaque = not isinstance(paint, Rgba) or paint.alpha >= 1
        if is_opaque and can_paint(paint, canvas):
            set_paint(self.slide.background.fill, paint, canvas)
        else:
            self._add_picture(background_marks(self.design), canvas)

    def _add(self, element: AnyElement) -> None:
        if isinstance(element, Text) and _is_plain(element) and _is_plain_text(element):
            self._add_text(element)
        elif isinstance(element, Rectangle | Circle) and _is_plain(element) and _is_flat(element):
            self._add_shape(element)
        elif isinstance(element, Line) and _is_plain(element) and _is_straight(element):
            self._add_line(element)
        elif isinstance(element, Table) and _is_plain(element) and _is_plain_table(element):
            self._add_table(element)
        else:
            self._add_drawn(element)

    def _place(self, box: Box) -> tuple[Emu, Emu, Emu, Emu]:
        x, y, width, height = (Emu(round(value * self.emu)) for value in box)
        return x, y, width, height

    def _add_shape(self, element: Rectangle | Circle) -> None:
        box = box_of(element)
        radius = getattr(element, "borderRadius", None) or 0.0
        kind = MSO_SHAPE.OVAL if isinstance(element, Circle) else MSO_SHAPE.RECTANGLE
        if radius:
            kind = MSO_SHAPE.ROUNDED_RECTANGLE
        shape = self.slide.shapes.add_shape(kind, *self._place(box))
        if radius:
            shape.adjustments[0] = min(radius / min(box.width, box.height), 0.5)
        self._finish(shape, element)
        set_paint(shape.fill, fill_of(element, DEFAULT_FILL), box, element.opacity)
        self._set_outline(shape, border_of(element), element.opacity)

    def _add_line(self, element: Line) -> None:
        (x, y), (to_x, to_y) = line_points(element)
        ends = [Emu(round(value * self.emu)) for value in (x, y, to_x, to_y)]
        shape = self.slide.shapes.add_connector(MSO_CONNECTOR.STRAIGHT, *ends)
        self._finish(shape, element)
        stroke = _line_stroke(element)
        markup = ending_markup(element.lineStart, element.lineEnd)
        self._set_outline(shape, stroke, element.opacity, markup)

    def _add_table(self, element: Table) -> None:
        layout = TableLayout(element)
        place = self._place(box_of(element))
        frame = self.slide.shapes.add_table(layout.rows, layout.columns, *place)
        frame.name = clean_text(element.name or element.type)
        family = self.context.book.choose(element.fontFamily).family
        fill_table(frame, element, layout, family, self.emu)

    def _finish(self, shape: Any, element: AnyElement) -> None:
        """Set the name and rotation, and remove the theme's style, which adds shadows."""
        shape.name = clean_text(element.name or element.type)
        shape.rotation = element.rotation
        style = shape._element.find(qn("p:style"))
        if style is not None:
            shape._element.remove(style)

    def _set_outline(
        self, shape: Any, stroke: StrokeLine | None, opacity: float, ends: str = ""
    ) -> None:
        properties = shape._element.spPr
        for old in properties.findall(qn("a:ln")):
            properties.remove(old)
        markup = None
        if stroke is not None:
            markup = outline_markup(stroke, self.emu, opacity, ends=ends)
        properties.append(parse_xml(markup or f"<a:ln {nsdecls('a')}><a:noFill/></a:ln>"))

    def _add_text(self, element: Text) -> None:
        shape = self.slide.shapes.add_textbox(*self._place(inner_box(element)))
        self._finish(shape, element)
        frame = shape.text_frame
        frame.word_wrap = True
        frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = 0
        frame.vertical_anchor = _ANCHOR[element.verticalAlign]
        lines = apply_transform(element.text, element.textTransform).split("\n")
        colour = parse_colour(element.fill or element.color or "#000000")
        align = _ALIGN[text_block(element, self.context).align]
        size = (element.fontSize or DEFAULT_SIZE) * self.emu / _EMU
        spacing = round(element.letterSpacing * self.emu / _EMU * _POINTS * 100)
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
            set_paint(font.fill, colour, inner_box(element), element.opacity)
            if spacing:
                # In hundredths of a point.
                font._element.set("spc", str(spacing))

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
            shape.name = clean_text(element.name or element.type)


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
        not element.blur
        and not element.boxShadow
        and element.brightness == element.contrast == element.saturate == 100
        and not element.hueRotate
    )


def _is_flat(element: Rectangle | Circle) -> bool:
    corners = ("TopLeft", "TopRight", "BottomLeft", "BottomRight")
    fill, stroke = fill_of(element, DEFAULT_FILL), border_of(element)
    return (
        can_paint(fill, box_of(element))
        and (stroke is None or outline_markup(stroke, 1) is not None)
        # Together they are as transparent as one of them.
        and (element.opacity >= 1 or fill is None or stroke is None)
        and all(getattr(element, f"borderRadius{one}", None) is None for one in corners)
    )


def _line_stroke(element: Line) -> StrokeLine | None:
    return border_of(element, DEFAULT_LINE, cap=element.lineCap)


def _is_straight(element: Line) -> bool:
    stroke = _line_stroke(element)
    return (
        len(line_points(element)) == 2
        and not element.rotation
        and stroke is not None
        and outline_markup(stroke, 1) is not None
    )


def _is_plain_table(element: Table) -> bool:
    return (
        # PowerPoint neither turns tables nor makes them transparent.
        not element.rotation
        and element.opacity >= 1
        and border_of(element) is None
        and visible_paint(element.fill, box_of(element)) is None
        and element.tableRows * element.tableColumns <= _MAX_CELLS
    )


def _is_plain_text(element: Text) -> bool:
    asks_shadow = element.textShadowX or element.textShadowY or element.textShadowBlur
    size = element.fontSize or DEFAULT_SIZE
    return (
        # The limits of PowerPoint.
        4 <= size * element.lineHeight <= 1_500
        and element.text.count("\n") < _MAX_LINES
        and not is_gradient(element.fill or element.color or "")
        and not element.textStrokeWidth
        and not asks_shadow
        and element.textShadowColor is None
        and element.textDecoration in ("none", "underline")
    )


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
