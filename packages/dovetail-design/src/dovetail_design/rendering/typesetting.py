"""Typesetting with skia's paragraph engine: shaping, wrapping, alignment, bidirectional text.

A `Typesetter` belongs to a font book and caches layouts, because previews set the same text again.
Only this module and the painters load the graphics library.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from typing import NamedTuple
from xml.etree import ElementTree

from dovetail import ToolError
from dovetail_design.fonts.font_book import FontBook
from dovetail_design.rendering.graphics import skia
from dovetail_design.rendering.text_blocks import TextBlock

__all__ = ["Measure", "Typesetter", "typesetter_for"]

_KEPT = 512
_FAR = 30_000
_AS_PATHS = skia.SVGCanvas.kConvertTextToPaths_Flag
# Isolates: right-to-left text keeps its punctuation at its own end.
_RTL_BEGIN, _RTL_END = "\u2067", "\u2069"
_BLACK = 0xFF000000

_layout = skia.textlayout
_ALIGN = {
    "left": _layout.TextAlign.kLeft,
    "center": _layout.TextAlign.kCenter,
    "right": _layout.TextAlign.kRight,
    "justify": _layout.TextAlign.kJustify,
}
_DECORATION = {
    "underline": _layout.TextDecoration.kUnderline,
    "line-through": _layout.TextDecoration.kLineThrough,
    "overline": _layout.TextDecoration.kOverline,
}


class Measure(NamedTuple):
    """The size of a text layout."""

    width: float
    height: float
    # The widest piece that cannot be broken at a space.
    longest_word: float


class Typesetter:
    """Sets text in the fonts of one book."""

    def __init__(self, book: FontBook) -> None:
        self.book = book
        self._fonts, self._typefaces = _collect_fonts(book)
        self._unicode = skia.Unicodes.ICU.Make()
        self._kept: OrderedDict[tuple[TextBlock, object], skia.textlayout.Paragraph] = OrderedDict()
        # Paragraphs and their caches are not thread-safe.
        self.lock = threading.RLock()

    def measure(self, block: TextBlock) -> Measure:
        """Return the size of the text."""
        with self.lock:
            paragraph = self.paragraph(block, None)
            return Measure(paragraph.LongestLine, paragraph.Height, paragraph.MinIntrinsicWidth)

    def paragraph(
        self, block: TextBlock, key: object, paint: skia.Paint | None = None
    ) -> skia.textlayout.Paragraph:
        """Return the layout with a paint, identified by `key`. Hold the lock while using it."""
        found = self._kept.get((block, key))
        if found is not None:
            self._kept.move_to_end((block, key))
            return found
        made = self._set(block, paint)
        self._kept[block, key] = made
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return made

    def missing_letters(self, block: TextBlock) -> str:
        """Return characters that none of its families has; they are drawn as empty boxes."""
        letters = sorted({letter for letter in block.text if letter.isprintable()} - {" "})
        faces = [self._typefaces[name] for name in block.families if name in self._typefaces]
        return "".join(
            letter
            for letter in letters
            if not any(face.unicharToGlyph(ord(letter)) for face in faces)
        )

    def shapes(self, block: TextBlock, x: float, y: float) -> ElementTree.Element:
        """Return the glyphs as paths, in skia's SVG. Hold the lock while using it."""
        return self.written(block, x, y, _AS_PATHS)

    def written(self, block: TextBlock, x: float, y: float, flags: int = 0) -> ElementTree.Element:
        """Return what skia's SVG canvas writes: runs of glyphs with their positions."""
        paragraph = self.paragraph(block, None)
        stream = skia.DynamicMemoryWStream()
        bounds = skia.Rect.MakeWH(_FAR, _FAR)
        canvas = skia.SVGCanvas.Make(bounds, stream, flags | skia.SVGCanvas.kNoPrettyXML_Flag)
        try:
            paragraph.paint(canvas, x, y)
        finally:
            # The canvas writes its end when it is deleted, which must be before the stream is.
            del canvas
        return ElementTree.fromstring(bytes(stream.detachAsData()))

    def _set(self, block: TextBlock, paint: skia.Paint | None) -> skia.textlayout.Paragraph:
        style = _text_style(block, paint)
        frame = _layout.ParagraphStyle()
        frame.setTextAlign(_ALIGN[block.align])
        frame.setTextStyle(style)
        builder = _layout.ParagraphBuilder(frame, self._fonts, self._unicode)
        builder.pushStyle(style)
        builder.addText(_directed(block))
        paragraph = builder.Build()
        paragraph.layout(block.width)
        return paragraph


def _directed(block: TextBlock) -> str:
    if not block.is_rtl:
        return block.text
    # Isolates end with their paragraph, so every line of the text gets its own.
    return "\n".join(f"{_RTL_BEGIN}{line}{_RTL_END}" for line in block.text.split("\n"))


def _text_style(block: TextBlock, paint: skia.Paint | None) -> skia.textlayout.TextStyle:
    style = _layout.TextStyle()
    style.setFontFamilies([skia.String(family) for family in block.families])
    style.setFontSize(block.size)
    slant = skia.FontStyle.kItalic_Slant if block.is_italic else skia.FontStyle.kUpright_Slant
    style.setFontStyle(skia.FontStyle(block.weight, skia.FontStyle.kNormal_Width, slant))
    style.setHeight(block.line_height)
    style.setHeightOverride(True)
    style.setHalfLeading(True)
    if block.letter_spacing:
        style.setLetterSpacing(block.letter_spacing)
    if block.decoration in _DECORATION:
        style.setDecoration(_DECORATION[block.decoration])
        style.setDecorationMode(_layout.TextDecorationMode.kThrough)
        style.setDecorationColor(_BLACK if paint is None else paint.getColor())
    style.setForegroundPaint(paint or skia.Paint(Color=_BLACK, AntiAlias=True))
    return style


def _collect_fonts(
    book: FontBook,
) -> tuple[skia.textlayout.FontCollection, dict[str, skia.Typeface]]:
    """Return the faces for the paragraph engine, and one face of each family."""
    # An empty manager reads files without system fonts.
    reader = skia.FontMgr.New_Custom_Empty()
    provider = _layout.TypefaceFontProvider()
    typefaces: dict[str, skia.Typeface] = {}
    for face in book.faces:
        typeface = reader.makeFromFile(str(face.path), face.number)
        if typeface is None:
            raise ToolError(
                f"The font {face.path.name!r} of the operator's folder has the tables of a "
                "font but cannot be drawn; remove it from the folder"
            )
        provider.registerTypeface(typeface, skia.String(face.family))
        typefaces.setdefault(face.family, typeface)
    collection = _layout.FontCollection()
    collection.setDefaultFontManager(provider)
    return collection, typefaces


@functools.lru_cache(maxsize=4)
def typesetter_for(book: FontBook) -> Typesetter:
    """Return the typesetter of a book; there is one for each."""
    return Typesetter(book)
