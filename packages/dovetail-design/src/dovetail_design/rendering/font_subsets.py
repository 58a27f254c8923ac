"""Font files that contain only the characters of a design, for embedding in documents.

skia embeds TrueType outlines in a PDF as a font; PostScript outlines (CFF) become Type 3 fonts,
which print badly. So these are converted, with the same glyph numbers and metrics.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from typing import Any

from fontTools.pens.cu2quPen import Cu2QuPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont, newTable
from fontTools.ttLib.sfnt import SFNTWriter

from dovetail_design.rendering.graphics import skia

__all__ = ["glyph_texts", "has_colour", "is_postscript", "subset_woff", "truetype_subset"]

_POSTSCRIPT = 0x43464620
# CBDT, COLR, sbix, SVG.
_COLOUR = frozenset({0x43424454, 0x434F4C52, 0x73626978, 0x53564720})
# Units of the font by which a converted curve may differ.
_MAX_ERROR = 0.5
_SINGLE, _MULTIPLE, _ALTERNATE, _LIGATURE, _EXTENSION = 1, 2, 3, 4, 7


def is_postscript(typeface: skia.Typeface) -> bool:
    """Return whether a font has PostScript outlines."""
    return _POSTSCRIPT in typeface.getTableTags()


def has_colour(typeface: skia.Typeface) -> bool:
    """Return whether a font has coloured glyphs, such as emoji."""
    return not _COLOUR.isdisjoint(typeface.getTableTags())


def subset_woff(typeface: skia.Typeface, characters: Collection[str]) -> bytes:
    """Return a WOFF file with these characters."""
    font, _ = _subset(typeface, characters, layout_features=[])
    font.flavor = "woff"
    return _save(font)


def truetype_subset(typeface: skia.Typeface, characters: Collection[str]) -> bytes:
    """Return a TrueType file with these characters, for a font with PostScript outlines."""
    font, kept = _subset(typeface, characters, layout_features=["*"], retain_gids=True)
    glyphs, names = font.getGlyphSet(), font.getGlyphOrder()
    drawn = dict.fromkeys(names, TTGlyphPen(None).glyph())
    for name in kept:
        pen = TTGlyphPen(None)
        glyphs[name].draw(Cu2QuPen(pen, _MAX_ERROR, reverse_direction=True))
        drawn[name] = pen.glyph()
    font["loca"] = newTable("loca")
    font["glyf"] = table = newTable("glyf")
    table.glyphOrder, table.glyphs = names, drawn
    font["maxp"].tableVersion = 0x00010000
    for name in _MAXIMA:
        setattr(font["maxp"], name, 0)
    font["maxp"].maxZones = 1
    font["post"].formatType = 3.0
    for tag in ("CFF ", "VORG"):
        if tag in font:
            del font[tag]
    font.sfntVersion = "\000\001\000\000"
    return _save(font)


# The values of `maxp` that TrueType has and PostScript has not.
_MAXIMA = (
    "maxTwilightPoints",
    "maxStorage",
    "maxFunctionDefs",
    "maxInstructionDefs",
    "maxStackElements",
    "maxSizeOfInstructions",
    "maxComponentElements",
)


def glyph_texts(typeface: skia.Typeface, characters: Collection[str]) -> dict[int, str]:
    """Return the text of each glyph that these characters can become, also as a ligature."""
    font = _read(typeface)
    codes = font.getBestCmap() or {}
    texts = {codes[ord(one)]: one for one in sorted(characters, reverse=True) if ord(one) in codes}
    steps = list(_substitutions(font)) if "GSUB" in font else []
    found = -1
    while found != len(texts):
        found = len(texts)
        for before, after in steps:
            if after not in texts and all(name in texts for name in before):
                texts[after] = "".join(texts[name] for name in before)
    return {font.getGlyphID(name): text for name, text in texts.items()}


def _substitutions(font: TTFont) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the glyphs before and after each substitution of a font."""
    lookups = font["GSUB"].table.LookupList
    for lookup in lookups.Lookup if lookups is not None else ():
        for table in lookup.SubTable:
            kind = lookup.LookupType
            if kind == _EXTENSION:
                kind, table = table.ExtensionLookupType, table.ExtSubTable
            if kind == _SINGLE:
                yield from (((name,), after) for name, after in table.mapping.items())
            elif kind == _MULTIPLE:
                yield from (
                    ((name,), one) for name, new in table.mapping.items() for one in new[:1]
                )
            elif kind == _ALTERNATE:
                yield from (((name,), one) for name, new in table.alternates.items() for one in new)
            elif kind == _LIGATURE:
                yield from (
                    ((name, *one.Component), one.LigGlyph)
                    for name, new in table.ligatures.items()
                    for one in new
                )


def _subset(
    typeface: skia.Typeface, characters: Collection[str], **options: Any
) -> tuple[TTFont, set[str]]:
    """Return the font, and the glyphs that are left in it."""
    font = _read(typeface)
    subsetter = Subsetter(Options(hinting=False, notdef_outline=True, name_IDs=["*"], **options))
    subsetter.populate(text="".join(sorted(characters)))
    subsetter.subset(font)
    return font, subsetter.glyphs_retained


def _read(typeface: skia.Typeface) -> TTFont:
    """Return the font of a typeface, which may be one of a collection."""
    tags = [tag.to_bytes(4, "big").decode("latin-1") for tag in typeface.getTableTags()]
    stream = io.BytesIO()
    version = "OTTO" if is_postscript(typeface) else "\000\001\000\000"
    writer: Any = SFNTWriter(stream, len(tags), version)
    for tag in sorted(tags):
        writer[tag] = bytes(typeface.copyTableData(int.from_bytes(tag.encode("latin-1"), "big")))
    writer.close()
    stream.seek(0)
    return TTFont(stream, lazy=True, recalcTimestamp=False)


def _save(font: TTFont) -> bytes:
    stream = io.BytesIO()
    font.save(stream)
    return stream.getvalue()
