from __future__ import annotations

import io

import pytest
from fontTools.ttLib import TTFont

from dovetail_design.fonts.bundled import bundled_faces
from dovetail_design.rendering.font_subsets import (
    glyph_texts,
    has_colour,
    is_postscript,
    subset_woff,
    truetype_subset,
)
from dovetail_design.rendering.graphics import skia


def typeface(family: str) -> skia.Typeface:
    face = next(one for one in bundled_faces() if one.family == family)
    return skia.FontMgr.New_Custom_Empty().makeFromFile(str(face.path), face.number)


def test_a_subset_has_the_letters_and_few_others() -> None:
    data = subset_woff(typeface("Roboto"), "Abc-")
    font = TTFont(io.BytesIO(data))
    assert sorted(map(chr, font.getBestCmap())) == ["-", "A", "b", "c"]
    assert data[:4] == b"wOFF" and len(data) < 6_000
    assert data == subset_woff(typeface("Roboto"), "cbA-")


def test_postscript_outlines_are_converted_and_glyphs_keep_their_numbers() -> None:
    inter = typeface("Inter")
    assert is_postscript(inter) and not is_postscript(typeface("Roboto"))
    data = skia.Data.MakeWithCopy(truetype_subset(inter, "office-"))
    converted = skia.FontMgr.New_Custom_Empty().makeFromData(data, 0)
    assert not is_postscript(converted) and not has_colour(converted)
    assert str(converted.getPostScriptName()) == str(inter.getPostScriptName())
    codes = [ord(letter) for letter in "office-"]
    assert converted.unicharsToGlyphs(codes) == inter.unicharsToGlyphs(codes)
    fonts = skia.Font(inter, 100), skia.Font(converted, 100)
    for glyph in inter.unicharsToGlyphs(codes):
        one, other = (font.getPath(glyph).computeTightBounds() for font in fonts)
        assert tuple(one) == pytest.approx(tuple(other), abs=0.2)


@pytest.mark.parametrize(
    ("family", "text", "expected"),
    [
        ("Roboto", "office", {"o", "f", "i", "c", "e", "ff", "fi", "ffi"}),
        ("Inter", "->", {"-", ">", "->"}),
        ("Lobster", "bs", {"b", "s", "bs"}),
    ],
)
def test_the_text_of_ligatures_is_known(family: str, text: str, expected: set[str]) -> None:
    assert set(glyph_texts(typeface(family), text).values()) >= expected


def test_joined_letters_have_the_text_of_the_letter() -> None:
    texts = list(glyph_texts(typeface("Noto Sans Arabic"), "مرحبا").values())
    # Alone, at the start, in the middle, at the end.
    assert texts.count("م") >= 4 and not any("\ufb50" <= one[0] <= "\ufeff" for one in texts)
