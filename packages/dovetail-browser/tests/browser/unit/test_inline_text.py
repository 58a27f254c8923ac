"""Inline text: white space outside of marks, no nested links."""

from __future__ import annotations

from dovetail_browser.formatter import Formatter
from dovetail_browser.inline_text import InlineText


class Marked(Formatter):
    def escape(self, text: str, in_link: bool) -> str:
        return text.upper() if in_link else text

    def emphasis(self, kind: str, text: str) -> str:
        return f"<{kind}:{text}>"

    def code(self, text: str) -> str:
        return f"`{text}`"

    def link(self, text: str, url: str) -> str:
        return f"[{text}]({url})"

    def image(self, alt: str, url: str) -> str:
        return f"!{alt}!"


def test_white_space_is_outside_of_the_marks() -> None:
    inline = InlineText(Marked())
    inline.add_text("a")
    inline.start("b", {})
    inline.add_text(" b  c ")
    assert inline.end("b")
    inline.add_text("d")
    assert inline.take() == "a <strong:b c> d"
    assert inline.take() == ""


def test_only_formatted_elements_are_opened_and_closed() -> None:
    inline = InlineText(Marked())
    inline.start("span", {})
    assert not inline.is_nested
    assert not inline.end("span")


def test_code_is_not_escaped_and_links_are() -> None:
    inline = InlineText(Marked())
    inline.start("a", {"href": "u"})
    inline.add_text("x ")
    inline.start("code", {})
    inline.add_text("y")
    inline.end("code")
    inline.add_image("cat", "i")
    inline.end("a")
    assert inline.take() == "[X `y`CAT](u)"


def test_nested_links_and_links_within_the_page_are_plain_text() -> None:
    inline = InlineText(Marked())
    for href in ("u", "v"):
        inline.start("a", {"href": href})
    inline.add_text("x")
    inline.end("a")
    inline.end("a")
    inline.start("a", {"href": "#part"})
    inline.add_text(" y")
    inline.end("a")
    assert inline.take() == "[X](u) Y"


def test_there_is_no_emphasis_in_a_heading() -> None:
    inline = InlineText(Marked())
    inline.is_heading = True
    inline.start("b", {})
    inline.add_text("x")
    inline.end("b")
    assert inline.take() == "x"


def test_a_break_is_a_line_break_or_a_space() -> None:
    inline = InlineText(Marked())
    for _ in range(2):
        inline.add_text("a ")
        inline.add_break()
        inline.add_text(" b")
        inline.add_break()
        if _ == 0:
            assert inline.take() == "a\nb"
    assert inline.take(" ") == "a b"


def test_the_text_of_a_cell_is_separate() -> None:
    inline = InlineText(Marked())
    inline.add_text("out")
    inline.start_cell()
    inline.add_text("in")
    inline.add_code("x\n  y")
    assert inline.end_cell() == "in`x y`"
    assert inline.take() == "out"
