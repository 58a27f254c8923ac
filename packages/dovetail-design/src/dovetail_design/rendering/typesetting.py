"""Typesetting with skia's paragraph engine: shaping, wrapping, alignment, bidirectional text.

A `Typesetter` belongs to a font book and caches layouts, because previews set the same text again.
Only this module and the painters load the graphics library.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
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
_FIRST_VARIANT, _LAST_VARIANT = "\ufe00", "\ufe0f"
_FIRST_KANA, _LAST_KANA = "\u3040", "\u30ff"
_FIRST_HANGUL, _LAST_HANGUL = "\uac00", "\ud7a3"

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


class _Registered(NamedTuple):
    """A typeface and the family that it belongs to."""

    family: str
    typeface: skia.Typeface


class Measure(NamedTuple):
    """The size of a text layout."""

    width: float
    height: float
    # The widest piece that cannot be broken at a space.
    longest_word: float


class Typesetter:
    """Sets text in the fonts of one book."""

    def __init__(self, book: FontBook, typefaces: Sequence[_Registered] | None = None) -> None:
        self.book = book
        self._provider = _layout.TypefaceFontProvider()
        self._registered: list[_Registered] = []
        for one in _read_faces(book) if typefaces is None else typefaces:
            self._register(one)
        self._fonts = _layout.FontCollection()
        self._fonts.setDefaultFontManager(self._provider)
        self._unicode = skia.Unicodes.ICU.Make()
        self._kept: OrderedDict[tuple[TextBlock, object], skia.textlayout.Paragraph] = OrderedDict()
        # Family by character and style, for characters that the book lacks.
        self._system: dict[tuple[str, int, bool], str | None] = {}
        # Paragraphs and their caches are not thread-safe.
        self.lock = threading.RLock()

    def _register(self, one: _Registered) -> None:
        self._provider.registerTypeface(one.typeface, skia.String(one.family))
        self._registered.append(one)

    def with_typefaces(self, replaced: Mapping[int, skia.Typeface]) -> Typesetter:
        """Return a typesetter with other typefaces; the keys are unique ids."""
        return Typesetter(
            self.book,
            [
                one._replace(typeface=replaced.get(one.typeface.uniqueID(), one.typeface))
                for one in self._registered
            ],
        )

    def families(self, asked: str, text: str, weight: int, is_italic: bool) -> tuple[str, ...]:
        """Return the families for a text: the one asked for, then those for missing characters."""
        chain = self.book.chain(self.book.choose(asked).family)
        style = _font_style(weight, is_italic)
        with self.lock:
            lacking = self._lacking(text, chain, style)
            added = [self._system_family(one, weight, is_italic, text) for one in lacking]
        return tuple(dict.fromkeys((*chain, *(name for name in added if name is not None))))

    def typefaces(self, block: TextBlock) -> list[skia.Typeface]:
        """Return the typefaces that a text may use."""
        style = _font_style(block.weight, block.is_italic)
        left = _visible(block.text)
        found = []
        for family in block.families:
            typeface = self._provider.matchFamilyStyle(family, style)
            has = {one for one in left if typeface and typeface.unicharToGlyph(ord(one))}
            if has:
                found.append(typeface)
                left -= has
        return found

    def missing_letters(self, block: TextBlock) -> str:
        """Return characters that none of its families has; they are drawn as empty boxes."""
        style = _font_style(block.weight, block.is_italic)
        return "".join(self._lacking(block.text, block.families, style))

    def _lacking(self, text: str, families: Sequence[str], style: skia.FontStyle) -> list[str]:
        left = _visible(text)
        for family in families:
            if not left:
                break
            typeface = self._provider.matchFamilyStyle(family, style)
            if typeface is not None:
                left = {one for one in left if not typeface.unicharToGlyph(ord(one))}
        return sorted(left)

    def _system_family(self, letter: str, weight: int, is_italic: bool, text: str) -> str | None:
        """Return a family of the system that has a character, and register it."""
        key = (letter, weight, is_italic)
        if key not in self._system:
            style = _font_style(weight, is_italic)
            found = _system_fonts().matchFamilyStyleCharacter(
                "", style, _languages(text), ord(letter)
            )
            name = None
            if found is not None and found.unicharToGlyph(ord(letter)):
                name = f"{found.getFamilyName()} {weight}{' italic' if is_italic else ''}"
                if all(one.family != name for one in self._registered):
                    self._register(_Registered(name, found))
            self._system[key] = name
        return self._system[key]

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
    style.setFontStyle(_font_style(block.weight, block.is_italic))
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


def _font_style(weight: int, is_italic: bool) -> skia.FontStyle:
    slant = skia.FontStyle.kItalic_Slant if is_italic else skia.FontStyle.kUpright_Slant
    return skia.FontStyle(weight, skia.FontStyle.kNormal_Width, slant)


def _visible(text: str) -> set[str]:
    """Return the characters of a text that need a glyph."""
    return {
        letter
        for letter in text
        if letter.isprintable() and letter != " " and not _FIRST_VARIANT <= letter <= _LAST_VARIANT
    }


def _languages(text: str) -> list[str]:
    """Return the language of a text if its script shows it; it decides the form of Han letters."""
    if any(_FIRST_KANA <= letter <= _LAST_KANA for letter in text):
        return ["ja"]
    return ["ko"] if any(_FIRST_HANGUL <= letter <= _LAST_HANGUL for letter in text) else []


@functools.cache
def _system_fonts() -> skia.FontMgr:
    return skia.FontMgr.RefDefault()


def _read_faces(book: FontBook) -> Iterator[_Registered]:
    # An empty manager reads files without system fonts.
    reader = skia.FontMgr.New_Custom_Empty()
    for face in book.faces:
        typeface = reader.makeFromFile(str(face.path), face.number)
        if typeface is None:
            raise ToolError(
                f"The font {face.path.name!r} of the operator's folder has the tables of a "
                "font but cannot be drawn; remove it from the folder"
            )
        yield _Registered(face.family, typeface)


@functools.lru_cache(maxsize=4)
def typesetter_for(book: FontBook) -> Typesetter:
    """Return the typesetter of a book; there is one for each."""
    return Typesetter(book)
