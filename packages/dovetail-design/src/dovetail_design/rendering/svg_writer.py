"""Writes marks as SVG. Ids are numbered, so the same marks give the same bytes.

Conic gradients and blurred backgrounds become pictures, because SVG cannot express them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from xml.sax.saxutils import escape

from dovetail_design.model.colours import Rgba
from dovetail_design.model.design import Design
from dovetail_design.rendering.backdrops import blurred_backdrop
from dovetail_design.rendering.gradient_lines import GradientFill
from dovetail_design.rendering.graphics import skia
from dovetail_design.rendering.image_files import Picture, read_picture
from dovetail_design.rendering.mark_bounds import mark_bounds, outline_box
from dovetail_design.rendering.marks import (
    DrawingMark,
    Fill,
    GroupMark,
    ImageMark,
    Mark,
    PathMark,
    StrokeLine,
    TextMark,
)
from dovetail_design.rendering.outlines import Box, Outline, PathShape
from dovetail_design.rendering.render_options import RenderOptions
from dovetail_design.rendering.scene import background_marks, compose_scene
from dovetail_design.rendering.skia_painter import SkiaPainter
from dovetail_design.rendering.skia_shapes import fill_paint
from dovetail_design.rendering.svg_fonts import SVG, SvgFonts, decoration
from dovetail_design.rendering.svg_shapes import (
    attributes,
    gradient_markup,
    number,
    path_data,
)
from dovetail_design.rendering.text_blocks import clean_text
from dovetail_design.rendering.typesetting import Typesetter

__all__ = ["render_svg"]

_IDS = re.compile(r'(?<=\bid=")([^"]+)|(?<=url\(#)([^)]+)|(?<=href="#)([^"]+)')
_PICTURE_SCALE, _MAX_PICTURE_SIDE = 3.0, 4000
# Large enough for every filter and clip of a canvas.
_FAR = 30_000


def render_svg(design: Design, options: RenderOptions | None = None) -> bytes:
    """Render an SVG, with text as text or as paths; raises ToolError."""
    options = options or RenderOptions()
    context = options.context
    writer = _Writer(context.typesetter, text_as_paths=options.text_as_paths)
    with context.typesetter.lock:
        body = "" if options.transparent else writer.write(background_marks(design))
        body += writer.write(compose_scene(design, context, options.element_ids))
    size = attributes(
        width=design.width * options.scale,
        height=design.height * options.scale,
        viewBox=f"0 0 {design.width} {design.height}",
    )
    title = f"<title>{escape(clean_text(options.title))}</title>" if options.title else ""
    inner = f"{writer.fonts.style()}{''.join(writer.definitions)}"
    defs = f"<defs>{inner}</defs>" if inner else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"{size}>'
        f"{title}{defs}{body}</svg>\n"
    ).encode()


class _Writer:
    """Writes marks and collects the definitions that they refer to."""

    def __init__(self, typesetter: Typesetter, *, text_as_paths: bool) -> None:
        self.typesetter = typesetter
        self.text_as_paths = text_as_paths
        self.fonts = SvgFonts(typesetter)
        self.definitions: list[str] = []
        self._names: dict[object, str] = {}
        self._below: list[Mark] = []

    def write(self, marks: Sequence[Mark]) -> str:
        """Return the marks as SVG, the first at the bottom."""
        parts = []
        for mark in marks:
            parts.append(self._write_all((mark,)))
            self._below.append(mark)
        return "".join(parts)

    def _write_all(self, marks: Sequence[Mark]) -> str:
        return "".join(_WRITE[type(mark)](self, mark) for mark in marks)

    def _define(self, key: object, make: Callable[[str], str]) -> str:
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = f"d{len(self._names) + 1}"
            self.definitions.append(make(name))
        return name

    def _gradient(self, fill: GradientFill) -> str:
        return self._define(fill, lambda name: gradient_markup(fill, name))

    def _clip(self, outline: Outline, *, is_inside_out: bool) -> str:
        def make(name: str) -> str:
            data, rule = path_data(outline), None
            if is_inside_out:
                data = f"M-{_FAR} -{_FAR}H{_FAR}V{_FAR}H-{_FAR}Z{data}"
                rule = "evenodd"
            path = f"<path{attributes(d=data, clip_rule=rule)}/>"
            return f"<clipPath{attributes(id=name)}>{path}</clipPath>"

        return self._define(("clip", outline, is_inside_out), make)

    def _filter(self, blur: float, colours: tuple[float, ...] | None, reach: Box) -> str:
        def make(name: str) -> str:
            steps = f"<feGaussianBlur{attributes(stdDeviation=blur)}/>" if blur else ""
            if colours is not None:
                values = " ".join(map(number, colours))
                steps += f"<feColorMatrix{attributes(type='matrix', values=values)}/>"
            head = attributes(
                id=name,
                filterUnits="userSpaceOnUse",
                **reach._asdict(),
                color_interpolation_filters="sRGB",
            )
            return f"<filter{head}>{steps}</filter>"

        return self._define(("filter", blur, colours, reach), make)

    def _soft(self, mark: PathMark | TextMark) -> str | None:
        if not mark.blur:
            return None
        return f"url(#{self._filter(mark.blur, None, mark_bounds(mark, self.typesetter))})"

    def _fill(self, fill: Fill | None, side: str = "fill") -> dict[str, str | float | None]:
        if fill is None:
            return {side: "none"}
        if isinstance(fill, Rgba):
            return {side: fill.hex, f"{side}_opacity": fill.alpha if fill.alpha < 1 else None}
        if fill.kind == "conic":
            return {side: fill.stops[0][1].hex}
        return {side: f"url(#{self._gradient(fill)})"}

    def _stroke(self, stroke: StrokeLine | None) -> dict[str, str | float | None]:
        if stroke is None:
            return {}
        dashes = ",".join(map(number, stroke.dashes)) or None
        return {
            **self._fill(stroke.paint, "stroke"),
            "stroke_width": stroke.width,
            "stroke_linecap": stroke.cap if stroke.cap != "butt" else None,
            "stroke_linejoin": stroke.join if stroke.join != "miter" else None,
            "stroke_dasharray": dashes,
        }

    def path(self, mark: PathMark) -> str:
        """A shape."""
        fill, before = mark.fill, ""
        if isinstance(fill, GradientFill) and fill.kind == "conic":
            before, fill = self._conic(mark.outline, fill), None
        soft = self._soft(mark)
        written = attributes(
            d=path_data(mark.outline),
            **self._fill(fill),
            **self._stroke(mark.stroke),
            fill_rule="evenodd" if _is_even_odd(mark.outline) else None,
            filter=soft,
            shape_rendering="crispEdges" if mark.is_crisp else None,
        )
        return f"{before}<path{written}/>"

    def _conic(self, outline: Outline, fill: GradientFill) -> str:
        """The gradient as a picture behind a clip."""
        box = outline_box(outline)
        surface = skia.Surface(max(round(box.width), 1), max(round(box.height), 1))
        with surface as canvas:
            canvas.translate(-box.x, -box.y)
            canvas.drawPaint(fill_paint(fill))
        data = bytes(surface.makeImageSnapshot().encodeToData())
        clip = self._clip(outline, is_inside_out=False)
        return f"<g{attributes(clip_path=f'url(#{clip})')}>{_image(data, 'image/png', box)}</g>"

    def text(self, mark: TextMark) -> str:
        """Return a text as text or paths, with the outline below the fill."""
        colours = self._fill(mark.fill)
        if mark.stroke_width and mark.stroke_colour is not None:
            line = StrokeLine(mark.stroke_colour, mark.stroke_width, join="round")
            colours |= {**self._stroke(line), "paint_order": "stroke"}
        soft = self._soft(mark)
        if self.fonts.has_colour(mark.block):
            # The pictures in such a font are neither outlines nor letters.
            return self._picture(mark)
        runs = None if self.text_as_paths else self.fonts.runs(mark)
        if runs is not None:
            return f"<g{attributes(**colours, filter=soft)}>{runs}</g>"
        inside, label = self._shapes(mark), attributes(role="img", aria_label=mark.block.text)
        if "paint_order" in colours and mark.fill is not None:
            # Not all viewers support paint-order, so paths are written twice.
            under = attributes(**{**colours, "fill": "none", "paint_order": None})
            over = attributes(**self._fill(mark.fill))
            both = f"<g{under}>{inside}</g><g{over}>{inside}</g>"
            return f"<g{attributes(filter=soft)}{label}>{both}</g>"
        return f"<g{attributes(**colours, filter=soft)}{label}>{inside}</g>"

    def _shapes(self, mark: TextMark) -> str:
        parts = []
        for node in self.typesetter.shapes(mark.block, mark.x, mark.y):
            if node.tag == f"{SVG}path" and node.get("d"):
                parts.append(f"<path{attributes(d=node.get('d'))}/>")
            elif node.tag == f"{SVG}rect":
                parts.append(decoration(node))
        return "".join(parts)

    def _picture(self, mark: TextMark) -> str:
        box = mark_bounds(mark, self.typesetter)
        scale = min(_PICTURE_SCALE, _MAX_PICTURE_SIDE / max(box.width, box.height, 1))
        surface = skia.Surface(max(round(box.width * scale), 1), max(round(box.height * scale), 1))
        with surface as canvas:
            canvas.scale(scale, scale)
            canvas.translate(-box.x, -box.y)
            self._paint_below(canvas, (mark,))
        return _image(bytes(surface.makeImageSnapshot().encodeToData()), "image/png", box)

    def image(self, mark: ImageMark) -> str:
        """Return a picture, embedded in the file."""
        picture = read_picture(mark.data)
        kind = picture.mime_type if isinstance(picture, Picture) else "image/png"
        return _image(mark.data, kind, mark.target)

    def drawing(self, mark: DrawingMark) -> str:
        """Return a sanitised document as a part of this one, with unique ids."""
        prefix = f"n{len(self._names) + 1}-"
        self._names[prefix] = prefix
        markup = _IDS.sub(lambda found: prefix + found[0], mark.markup)
        box = mark.target
        head = attributes(
            x=box.x,
            y=box.y,
            width=box.width,
            height=box.height,
            viewBox=f"0 0 {number(mark.width)} {number(mark.height)}",
            preserveAspectRatio="none",
        )
        return f"<svg{head}>{markup}</svg>"

    def group(self, mark: GroupMark) -> str:
        """Marks together."""
        inside = self._write_all(mark.marks)
        if mark.backdrop_blur and mark.clip is not None:
            box = outline_box(mark.clip)
            data = blurred_backdrop(self._below, box, mark.backdrop_blur, self._paint_below)
            inside = _image(data, "image/png", box) + inside
        if not inside:
            return ""
        if mark.opacity < 1 or mark.blur or mark.colours is not None:
            effect = None
            if mark.blur or mark.colours is not None:
                reach = mark_bounds(replace(mark, turn=None), self.typesetter)
                effect = f"url(#{self._filter(mark.blur, mark.colours, reach)})"
            opacity = mark.opacity if mark.opacity < 1 else None
            inside = f"<g{attributes(filter=effect, opacity=opacity)}>{inside}</g>"
        if mark.clip is not None:
            clip = self._clip(mark.clip, is_inside_out=mark.clips_inside)
            inside = f"<g{attributes(clip_path=f'url(#{clip})')}>{inside}</g>"
        if mark.turn is not None:
            turn = f"rotate({' '.join(map(number, mark.turn))})"
            inside = f"<g{attributes(transform=turn)}>{inside}</g>"
        return inside

    def _paint_below(self, canvas: skia.Canvas, marks: Sequence[Mark]) -> None:
        SkiaPainter(canvas, self.typesetter).paint(marks)


_WRITE: dict[type, Callable[[_Writer, Any], str]] = {
    PathMark: _Writer.path,
    TextMark: _Writer.text,
    ImageMark: _Writer.image,
    DrawingMark: _Writer.drawing,
    GroupMark: _Writer.group,
}


def _image(data: bytes, mime_type: str, box: Box) -> str:
    link = f"data:{mime_type};base64,{base64.b64encode(data).decode()}"
    place = attributes(x=box.x, y=box.y, width=box.width, height=box.height)
    return f'<image{place} preserveAspectRatio="none" xlink:href="{link}"/>'


def _is_even_odd(outline: Outline) -> bool:
    return isinstance(outline, PathShape) and outline.is_even_odd
