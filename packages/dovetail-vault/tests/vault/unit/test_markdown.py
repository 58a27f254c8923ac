from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dovetail_vault.markdown import (
    find_block,
    find_headings,
    find_links,
    find_properties,
    find_tags,
    mask_code,
)

CODE = """a #one
```python
#two [[x]]
~~~
# three
```
`#four` ``a ` #five`` #six
~~~
#seven
"""


def test_code_is_blanked_and_offsets_do_not_change() -> None:
    masked = mask_code(CODE)
    assert len(masked) == len(CODE) and masked.count("\n") == CODE.count("\n")
    assert find_tags(masked) == ["one", "six"]
    assert find_links(masked) == [] and find_headings(masked, CODE) == []


def test_tags_are_those_of_obsidian() -> None:
    text = "#a #b/c-d_e #1 #1a x#no #(no) #é. #y, [t](#no) #z#no\n#日本 #[[two words]] ##no # no"
    assert find_tags(text) == ["a", "b/c-d_e", "1a", "é", "y", "z", "日本", "two words"]


def test_links_of_both_kinds_with_their_parts() -> None:
    text = "[[A]] ![[b/C.md#H^x|al]] [t](d%20e.md#h) ![i](<f g.md>) [w](https://x) [l](#h) [[#own]]"
    found = [
        (link.kind, link.target, link.anchor, link.alias, link.is_embed)
        for link in find_links(text)
    ]
    assert found == [
        ("wikilink", "A", "", "", False),
        ("wikilink", "b/C.md", "#H^x", "al", True),
        ("markdown", "d e.md", "#h", "t", False),
        ("markdown", "f g.md", "", "i", True),
        ("wikilink", "", "#own", "", False),
    ]
    for link in find_links(text):
        assert text[link.target_start : link.target_end] in (
            "A",
            "b/C.md",
            "d%20e.md",
            "f g.md",
            "",
        )


def test_a_link_in_a_table_keeps_its_escaped_bar() -> None:
    [link] = find_links(r"| [[A\|b]] |")
    assert (link.target, link.alias) == ("A", "b")


def test_headings_know_their_lines() -> None:
    text = "intro\n# A `code` #\n\n####### no\n#no\n## B\n"
    found = [(h.level, h.text, h.line) for h in find_headings(mask_code(text), text)]
    assert found == [(1, "A `code`", 2), (2, "B", 6)]


def test_blocks_are_list_items_or_paragraphs() -> None:
    text = "para\nmore ^p\n\n- one\n- two ^i\n\n| t |\n\n^t\n"
    spans = {name: find_block(text, text, name) for name in ("p", "i", "t", "none")}
    assert {name: span and text[slice(*span)] for name, span in spans.items()} == {
        "p": "para\nmore ^p",
        "i": "- two ^i",
        "t": "| t |\n\n^t",
        "none": None,
    }


def test_properties_of_logseq() -> None:
    assert find_properties("title:: A b\n- tags:: x, [[y z]]\na::b\ntitle:: second\n") == {
        "title": "A b",
        "tags": "x, [[y z]]",
    }


@given(st.text(alphabet="# \t\r\nab", max_size=40), st.integers(0, 10))
def test_headings_are_what_a_look_at_each_line_finds(text: str, start: int) -> None:
    start = min(start, len(text))
    expected, place = [], 0
    for number, line in enumerate(text.split("\n"), 1):
        marks = line.lstrip(" ")
        level = len(marks) - len(marks.lstrip("#"))
        is_indented = len(line) - len(marks) > 3
        is_heading = 1 <= level <= 6 and marks[level : level + 1] in (" ", "\t")
        if is_heading and not is_indented and place >= start:
            expected.append((level, number, place))
        place += len(line) + 1
    found = find_headings(text, text, start)
    assert [(one.level, one.line, one.start) for one in found] == expected


def test_only_the_first_headings_and_links_are_found() -> None:
    assert len(find_links("[[a]]" * 100_001)) == len(find_links("[](a)" * 100_001)) == 100_000
    text = "# a\n" * 100_001
    assert len(find_headings(text, text)) == 100_000
