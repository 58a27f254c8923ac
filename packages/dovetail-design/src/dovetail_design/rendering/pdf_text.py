"""Makes the text of a PDF real: embedded fonts, and the exact text of every glyph.

skia derives the text of a glyph from the character table of its font. A ligature, an Arabic form
or another substituted glyph is not in that table, so its text would be lost when somebody copies
or searches it. The text is computed from the substitutions of the font instead.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Iterator, Mapping

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from dovetail_design.rendering.font_subsets import glyph_texts, is_postscript, truetype_subset
from dovetail_design.rendering.graphics import skia
from dovetail_design.rendering.marks import GroupMark, Mark, TextMark
from dovetail_design.rendering.text_blocks import TextBlock
from dovetail_design.rendering.typesetting import Typesetter

__all__ = ["DocumentFonts"]

# The entries that one block of a character map may have.
_MOST_ENTRIES = 100
_HEAD = (
    "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n"
    "/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n"
    "/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n"
    "1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n"
)
_END = "endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n"


class DocumentFonts:
    """The fonts of one document."""

    def __init__(self, typesetter: Typesetter, marks: Iterable[Mark]) -> None:
        used: dict[int, tuple[skia.Typeface, set[str]]] = {}
        for block in _blocks(marks):
            for typeface in typesetter.typefaces(block):
                # A character may need a neighbour from the same font, so it gets all of them.
                used.setdefault(typeface.uniqueID(), (typeface, set()))[1].update(block.text)
        replaced = {
            id: _embeddable(typeface, characters)
            for id, (typeface, characters) in used.items()
            if is_postscript(typeface)
        }
        # With the same fonts in the same order, so that the layout is the same.
        self.typesetter = typesetter.with_typefaces(replaced)
        self._used = list(used.values())

    def name_glyphs(self, data: bytes) -> bytes:
        """Return the document with the exact text of every glyph."""
        texts: dict[str, dict[int, str]] = {}
        for typeface, characters in self._used:
            known = texts.setdefault(str(typeface.getPostScriptName()), {})
            known.update(glyph_texts(typeface, characters))
        writer = PdfWriter(clone_from=io.BytesIO(data))
        for font in _fonts(writer):
            name = str(font["/BaseFont"]).removeprefix("/").partition("+")[2]
            if name in texts:
                stream = DecodedStreamObject()
                stream.set_data(_character_map(texts[name]).encode("ascii"))
                font[NameObject("/ToUnicode")] = writer._add_object(stream.flate_encode())
        out = io.BytesIO()
        writer.write(out)
        return out.getvalue()


def _blocks(marks: Iterable[Mark]) -> Iterator[TextBlock]:
    for mark in marks:
        if isinstance(mark, TextMark):
            yield mark.block
        elif isinstance(mark, GroupMark):
            yield from _blocks(mark.marks)


def _embeddable(typeface: skia.Typeface, characters: Collection[str]) -> skia.Typeface:
    data = skia.Data.MakeWithCopy(truetype_subset(typeface, characters))
    return skia.FontMgr.New_Custom_Empty().makeFromData(data, 0)


def _fonts(writer: PdfWriter) -> Iterator[DictionaryObject]:
    for held in writer._objects:
        if isinstance(held, DictionaryObject) and held.get("/Subtype") == "/Type0":
            yield held


def _character_map(texts: Mapping[int, str]) -> str:
    lines = [
        f"<{glyph:04X}> <{text.encode('utf-16-be').hex().upper()}>"
        for glyph, text in sorted(texts.items())
    ]
    parts = [
        "\n".join((f"{len(some)} beginbfchar", *some, "endbfchar\n"))
        for some in (lines[at : at + _MOST_ENTRIES] for at in range(0, len(lines), _MOST_ENTRIES))
    ]
    return "".join((_HEAD, *parts, _END))
