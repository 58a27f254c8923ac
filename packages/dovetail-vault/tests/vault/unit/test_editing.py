from __future__ import annotations

from typing import Any

import pytest

from dovetail import ToolError
from dovetail_vault.editing import Edit, EditTarget, apply_edits, diff_of

NOTE = "---\na: 1\n---\n# T\n\n## One\n\nfirst ^x\n\n### Sub\n\nsub\n\n## Two\n\nsecond"


def edit(op: Any, content: Any = None, count: int = 1, **target: Any) -> str:
    return apply_edits("n.md", NOTE, [Edit(op, EditTarget(**target), content, count)])[0]


def test_edit_sections() -> None:
    assert edit("append", "more", heading="One") == NOTE.replace("^x\n", "^x\nmore\n")
    assert edit("append", "more", heading="Two") == NOTE + "\nmore\n"
    assert edit("prepend", "top", heading="Two") == NOTE.replace("## Two\n", "## Two\ntop\n")
    assert edit("insert_before", "x", heading="Two") == NOTE.replace("## Two", "x\n## Two")
    assert edit("delete", heading=["One", "Sub"]) == NOTE.replace("### Sub\n\nsub\n\n", "")
    assert edit("replace", "new", heading="Two") == NOTE.replace("\nsecond", "new\n")
    assert "## One\nnew\n\n## Two" in edit("replace", "new", heading="One")


def test_blocks_keep_their_id() -> None:
    assert edit("replace", "1st", block="x") == NOTE.replace("first ^x", "1st ^x")
    assert edit("insert_after", "y", block="^x") == NOTE.replace("^x\n", "^x\ny\n")
    assert edit("delete", block="x") == NOTE.replace("first ^x\n", "")


def test_edit_properties_text_and_regex() -> None:
    assert edit("append", "b", frontmatter="a") == NOTE.replace("a: 1", "a:\n- 1\n- b")
    assert edit("replace", "S", 2, text="o") == NOTE.replace("o", "S")
    assert edit("replace", r"<\1>", regex=r"^(\w+)st") == NOTE.replace("first", "<fir>")
    assert edit("delete", regex="(?i)sub$", count=2) == NOTE.replace("Sub", "").replace("sub", "")
    assert edit("insert_after", "!", text="second") == f"{NOTE}!"
    assert edit("replace", r"[\1]", regex=r"(sec)ond") == NOTE.replace("second", "[sec]")


@pytest.mark.parametrize(
    ("op", "content", "target", "said"),
    [
        ("replace", "x", {"text": "o"}, "occurs 2 times"),
        ("replace", "x", {}, "exactly one"),
        ("replace", "x", {"text": "a", "block": "x"}, "exactly one"),
        ("replace", 5, {"text": "first"}, "type string"),
        ("set", "x", {"heading": "One"}, "only for properties"),
        ("insert_before", "x", {"frontmatter": "a"}, "not work for properties"),
        ("replace", "x", {"heading": "Nine"}, "no heading"),
        ("replace", "x", {"block": "nine"}, "no block"),
        ("replace", r"\9", {"regex": "first"}, "group"),
        ("replace", "x", {"regex": "("}, "Invalid regular expression"),
        ("replace", "x", {"text": ""}, "empty"),
    ],
)
def test_invalid_edits_are_rejected(
    op: Any, content: Any, target: dict[str, Any], said: str
) -> None:
    with pytest.raises(ToolError, match=said):
        edit(op, content, **target)


def test_a_diff_has_three_lines_of_context() -> None:
    before = "\n".join(map(str, range(50)))
    shown = diff_of("n.md", before, before.replace("25", "x"))
    assert shown.splitlines()[2:] == [
        "@@ -23,7 +23,7 @@",
        " 22",
        " 23",
        " 24",
        "-25",
        "+x",
        " 26",
        " 27",
        " 28",
    ]
