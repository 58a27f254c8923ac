"""The drawing as somebody would write it who knows what is to be drawn: skia, and nothing else."""

from __future__ import annotations

import math
from typing import Any

import skia

from dovetail_design.fonts.font_book import bundled_book

__all__ = ["Direct"]

_layout = skia.textlayout
_TEXT_SIZE = 18
_POINTS = 72 / 96


class Direct:
    """Draws with fonts that were loaded once."""

    def __init__(self) -> None:
        reader = skia.FontMgr.New_Custom_Empty()
        provider = _layout.TypefaceFontProvider()
        for face in bundled_book().faces:
            if face.family == "Inter":
                typeface = reader.makeFromFile(str(face.path), face.number)
                provider.registerTypeface(typeface, skia.String("Inter"))
        self._fonts = _layout.FontCollection()
        self._fonts.setDefaultFontManager(provider)
        self._unicode = skia.Unicodes.ICU.Make()
        self._draw = {
            "rectangle": self._rectangle,
            "gradient": self._gradient,
            "circle": self._circle,
            "star": self._star,
            "line": self._line,
            "text": self._text,
        }

    def png(self, drawing: list[dict[str, Any]], size: tuple[int, int], width: int) -> bytes:
        """The drawing as PNG, `width` pixels wide."""
        scale = width / size[0]
        surface = skia.Surface.MakeRasterN32Premul(width, round(size[1] * scale))
        canvas = surface.getCanvas()
        canvas.scale(scale, scale)
        self._paint(canvas, drawing)
        return bytes(surface.makeImageSnapshot().encodeToData(skia.kPNG, 100))

    def pdf(self, drawing: list[dict[str, Any]], size: tuple[int, int]) -> bytes:
        """The drawing as one page."""
        stream = skia.DynamicMemoryWStream()
        document = skia.PDF.MakeDocument(stream)
        canvas = document.beginPage(size[0] * _POINTS, size[1] * _POINTS)
        canvas.scale(_POINTS, _POINTS)
        self._paint(canvas, drawing)
        document.endPage()
        document.close()
        return bytes(stream.detachAsData())

    def _paint(self, canvas: skia.Canvas, drawing: list[dict[str, Any]]) -> None:
        canvas.clear(skia.ColorWHITE)
        for element in drawing:
            box = skia.Rect.MakeXYWH(
                element["x"], element["y"], element["width"], element["height"]
            )
            self._draw[element["kind"]](canvas, element, box)

    def _rectangle(self, canvas: skia.Canvas, element: dict[str, Any], box: skia.Rect) -> None:
        canvas.drawRoundRect(box, 12, 12, _fill(element))

    def _gradient(self, canvas: skia.Canvas, element: dict[str, Any], box: skia.Rect) -> None:
        paint = skia.Paint(AntiAlias=True)
        ends = [skia.Point(box.left(), 0), skia.Point(box.right(), 0)]
        colours = [_colour(each) for each in element["colours"]]
        paint.setShader(skia.GradientShader.MakeLinear(ends, colours))
        canvas.drawRect(box, paint)

    def _circle(self, canvas: skia.Canvas, element: dict[str, Any], box: skia.Rect) -> None:
        canvas.drawOval(box, _fill(element))

    def _star(self, canvas: skia.Canvas, element: dict[str, Any], box: skia.Rect) -> None:
        path = skia.Path()
        for index in range(10):
            channels = 1 if index % 2 == 0 else 0.4
            angle = math.pi * index / 5 - math.pi / 2
            x = box.centerX() + channels * box.width() / 2 * math.cos(angle)
            y = box.centerY() + channels * box.height() / 2 * math.sin(angle)
            (path.lineTo if index else path.moveTo)(x, y)
        path.close()
        canvas.drawPath(path, _fill(element))

    def _line(self, canvas: skia.Canvas, element: dict[str, Any], box: skia.Rect) -> None:
        paint = _fill(element)
        paint.setStyle(skia.Paint.kStroke_Style)
        paint.setStrokeWidth(4)
        canvas.drawLine(box.left(), box.centerY(), box.right(), box.centerY(), paint)

    def _text(self, canvas: skia.Canvas, element: dict[str, Any], box: skia.Rect) -> None:
        style = _layout.TextStyle()
        style.setFontFamilies([skia.String("Inter")])
        style.setFontSize(_TEXT_SIZE)
        style.setForegroundPaint(_fill(element))
        frame = _layout.ParagraphStyle()
        frame.setTextStyle(style)
        builder = _layout.ParagraphBuilder(frame, self._fonts, self._unicode)
        builder.pushStyle(style)
        builder.addText(element["text"])
        paragraph = builder.Build()
        paragraph.layout(box.width())
        paragraph.paint(canvas, box.left(), box.top())


def _colour(text: str) -> int:
    return 0xFF000000 | int(text[1:], 16)


def _fill(element: dict[str, Any]) -> skia.Paint:
    return skia.Paint(AntiAlias=True, Color=_colour(element["colours"][0]))
