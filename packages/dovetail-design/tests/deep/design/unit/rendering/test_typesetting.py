from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from dovetail import ToolError
from dovetail_design.fonts import FontBook, bundled_book
from dovetail_design.fonts.bundled import bundled_faces
from dovetail_design.rendering import typesetting
from dovetail_design.rendering.graphics import skia
from dovetail_design.rendering.text_blocks import TextBlock
from dovetail_design.rendering.typesetting import Typesetter, typesetter_for

BOOK = bundled_book()


def block(text: str, **properties: object) -> TextBlock:
    values = {"size": 20, "weight": 400, "is_italic": False, "width": 200, **properties}
    return TextBlock(text, BOOK.chain("Inter"), **values)  # type: ignore[arg-type]


def test_text_wraps_at_the_width() -> None:
    setter = typesetter_for(BOOK)
    one, two = setter.measure(block("word word")), setter.measure(block("word word", width=60))
    assert two.height == 2 * one.height
    assert two.width < 60 < one.width


def test_the_longest_word_is_told_even_when_it_was_broken() -> None:
    measure = typesetter_for(BOOK).measure(block("incomprehensibilities", width=50))
    assert measure.width <= 50 < measure.longest_word


def test_line_height_counts_in_font_sizes() -> None:
    setter = typesetter_for(BOOK)
    assert setter.measure(block("a\nb", line_height=2)).height == 80
    assert setter.measure(block("a", line_height=1)).height == 20


def test_heights_do_not_depend_on_the_letters() -> None:
    setter = typesetter_for(BOOK)
    latin, arabic = (setter.measure(block(text)).height for text in ("abc", "مرحبا"))
    assert abs(latin - arabic) <= 1


def test_a_layout_is_kept() -> None:
    setter = Typesetter(BOOK)
    assert setter.paragraph(block("a"), None) is setter.paragraph(block("a"), None)
    for number in range(600):
        setter.paragraph(block(str(number)), None)
    assert len(setter._kept) == 512


def test_letters_that_no_font_has_are_told() -> None:
    assert typesetter_for(BOOK).missing_letters(block("abc 漢字 שלום\n")) == "字漢"


def test_a_system_font_is_used_for_letters_that_the_book_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = skia.FontMgr.New_Custom_Directory(str(bundled_faces()[0].path.parent))
    asked: list[str] = []

    class System:
        def matchFamilyStyleCharacter(self, _: str, style: Any, __: Any, code: int) -> Any:
            asked.append(chr(code))
            return folder.matchFamilyStyle("Inter", style)

    monkeypatch.setattr(typesetting, "_system_fonts", System)
    setter = Typesetter(BOOK)
    # The font that is found lacks the letter, so it is not used.
    assert setter.families("Inter", "abc漢", 400, False) == BOOK.chain("Inter")
    monkeypatch.setattr(BOOK, "chain", lambda _: ("Noto Sans Hebrew",))
    families = setter.families("Inter", "שb", 700, False)
    assert families == ("Noto Sans Hebrew", "Inter 700")
    assert setter.families("Inter", "b", 700, False) == families and asked == ["漢", "b"]
    [hebrew, inter] = setter.typefaces(block("שb")._replace(families=families))
    assert "Hebrew" in str(hebrew.getFamilyName()) and str(inter.getFamilyName()) == "Inter"


def test_the_language_of_a_text_is_read_off_its_script() -> None:
    assert [typesetting._languages(text) for text in ("漢字かな", "한국어", "漢字")] == [
        ["ja"],
        ["ko"],
        [],
    ]


def test_words_are_seen_in_order_from_the_right() -> None:
    text = block("שלום!", is_rtl=True, align="right")
    runs = [node for node in typesetter_for(BOOK).written(text, 0, 0) if node.text]
    places = {node.text: float(node.get("x", "").split(",")[0]) for node in runs}
    assert places["!"] < min(place for run, place in places.items() if run != "!")


def test_letters_can_be_had_as_shapes() -> None:
    nodes = typesetter_for(BOOK).shapes(block("ab", decoration="underline"), 5, 5)
    assert [node.tag.rpartition("}")[2] for node in nodes] == ["path", "rect"]


def test_a_font_with_broken_tables_is_named(tmp_path: Path) -> None:
    data = bytearray(
        next(face for face in BOOK.faces if face.family == "Open Sans").path.read_bytes()
    )
    for at in range(12, 12 + 16 * struct.unpack_from(">H", data, 4)[0], 16):
        tag, _, offset, length = struct.unpack_from(">4sLLL", data, at)
        if tag in (b"head", b"maxp", b"loca"):
            data[offset : offset + length] = b"\xff" * length
    (tmp_path / "broken.ttf").write_bytes(data)
    with pytest.raises(ToolError, match=r"The font 'broken.ttf' .* cannot be drawn"):
        Typesetter(FontBook(tmp_path))


def test_a_font_of_the_operators_folder_is_used(tmp_path: Path) -> None:
    script = next(face for face in BOOK.faces if face.family == "Dancing Script")
    (tmp_path / "mine.otf").write_bytes(script.path.read_bytes())
    book = FontBook(tmp_path)
    text = block("words")._replace(families=book.chain("Dancing Script"))
    assert Typesetter(book).measure(text) == typesetter_for(BOOK).measure(text)
    assert Typesetter(book).measure(text) != typesetter_for(BOOK).measure(block("words"))
