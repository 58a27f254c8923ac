"""Blank lines between blocks, and prefixes of quotes and items."""

from __future__ import annotations

from dovetail_browser.block_layout import BlockLayout


def test_blocks_are_separated_by_a_blank_line() -> None:
    layout = BlockLayout()
    for text in ("a\nb", "", "c"):
        layout.write(text)
    assert layout.text() == "a\nb\n\nc"


def test_items_follow_each_other_and_their_content_is_indented() -> None:
    layout = BlockLayout()
    layout.write("intro")
    for number, texts in enumerate((["a", "more\n\nof a"], ["b"])):
        layout.enter_item("- ", opens_list=number == 0)
        for text in texts:
            layout.write(text)
        layout.leave()
    layout.write("end")
    assert layout.text() == "intro\n\n- a\n\n  more\n\n  of a\n- b\n\nend"


def test_a_list_in_an_item_begins_on_the_next_line() -> None:
    layout = BlockLayout()
    layout.enter_item("1. ", opens_list=True)
    layout.write("a")
    layout.enter_item("- ", opens_list=True)
    layout.write("b")
    assert layout.text() == "1. a\n   - b"


def test_a_quote_marks_its_blank_lines_too() -> None:
    layout = BlockLayout()
    layout.enter_quote("> ")
    layout.write("a")
    layout.write("b")
    layout.leave()
    layout.write("c")
    assert layout.text() == "> a\n>\n> b\n\nc"


def test_prefixes_have_a_maximum_depth() -> None:
    layout = BlockLayout()
    for _ in range(1_000):
        layout.enter_quote("> ")
    layout.write("deep")
    for _ in range(1_000):
        layout.leave()
    layout.write("out")
    first, _, last = layout.text().split("\n")
    assert len(first) < 100 and last == "out"
