from __future__ import annotations

import pytest

from dovetail import ToolError
from dovetail_vault.frontmatter import (
    as_list,
    delete_key,
    parse_frontmatter,
    set_key,
    split_frontmatter,
)

NOTE = """---
# on top
title: "A: b"   # quoted
tags:
  - one
  # between
  - two

when: 2025-01-31
nested: {a: [1, 2]}
yes: no
---
body: not yaml
"""


# Each line repeats the one before nine times by alias: small as YAML, huge when expanded.
LAUGHS = "a: &a0 [x]\n" + "\n".join(
    f"b{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 7)
)


def test_values_are_those_of_yaml_1_2_with_dates_as_text() -> None:
    assert parse_frontmatter(NOTE).values == {
        "title": "A: b",
        "tags": ["one", "two"],
        "when": "2025-01-31",
        "nested": {"a": [1, 2]},
        "yes": "no",
    }
    assert NOTE[parse_frontmatter(NOTE).end :] == "body: not yaml\n"


@pytest.mark.parametrize(
    "text", ["", "# x", "---", "--- \nno end", "a\n---\nb: c\n---\n", " ---\n---\n"]
)
def test_text_without_frontmatter(text: str) -> None:
    assert split_frontmatter(text) == (None, 0)


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("tags: [a", "line"),
        ("- a\n- b", "not a mapping"),
        ("a: &x [1]\nb: [*x, *x]\nc: \t- y", "line"),
        ("a: !!python/object:os.system x", "constructor"),
        (LAUGHS, "too many"),
    ],
)
def test_invalid_frontmatter_is_reported_and_does_not_raise(block: str, problem: str) -> None:
    found = parse_frontmatter(f"---\n{block}\n---\ntext")
    assert found.values == {} and found.problem is not None and problem in found.problem


def test_setting_a_key_leaves_every_other_byte() -> None:
    assert set_key(NOTE, "when", "2026-01-01") == NOTE.replace("2025-01-31", "2026-01-01")
    assert set_key(NOTE, "title", "C") == NOTE.replace('"A: b"', '"C"')
    assert set_key(NOTE, "title", ["C", 1]) == NOTE.replace(
        ' "A: b"   # quoted', "   # quoted\n- C\n- 1"
    )
    assert set_key(NOTE, "tags", ["x"]) == NOTE.replace(
        "  - one\n  # between\n  - two\n", "  - x\n"
    )
    assert set_key(NOTE, "tags", ["one", "two", "x: y"]) == NOTE.replace(
        "  - two\n", "  - two\n  - 'x: y'\n"
    )
    assert set_key(NOTE, "tags", ["two"]) == NOTE.replace("  - one\n", "")
    assert set_key(NOTE, "new", 1) == NOTE.replace("yes: no\n", "yes: no\nnew: 1\n")
    assert set_key("text", "a", "b") == "---\na: b\n---\ntext"
    assert set_key("---\r\na: 1\r\n---\r\nx", "b", 2) == "---\r\na: 1\r\nb: 2\r\n---\r\nx"
    assert set_key("---\n---\nx", "b", 2) == "---\nb: 2\n---\nx"


@pytest.mark.parametrize(
    ("line", "value", "expected"),
    [
        ("k: 30   # metres", 31, "k: 31   # metres"),
        ("k:   # nothing yet", "x", "k: x   # nothing yet"),
        ("k:", 5, "k: 5"),
        ("k: 'a' # c", "it's", "k: 'it''s' # c"),
        ("k: a", True, "k: true"),
        ("k: a # c", None, "k: null # c"),
        ("k: 2025-01-31", "2026-12-01", "k: 2026-12-01"),
        ("k:   [ a,  'b' ] # c", ["a", "b", "x, y"], "k:   [ a,  'b', 'x, y' ] # c"),
        ("k: [a, b, c]", ["a", "c"], "k: [a, c]"),
        ("k: [a, b, c]", ["b", "c"], "k: [b, c]"),
        ("k: [a, b, c]", ["a"], "k: [a]"),
        ("k: [a, b]", ["x", "a", "b"], "k: [x, a, b]"),
        ("k: [a, b]", [], "k: []"),
        ("k: [é, '😀']", ["é", "😀", "z"], "k: [é, '😀', z]"),
        ("k:\n    - a  # one\n    - b", ["a", "b", "c"], "k:\n    - a  # one\n    - b\n    - c"),
        ("k:\n- a\n# of b\n- b\n- c", ["a", "c"], "k:\n- a\n- c"),
        ("k:\n  - x: 1\n    y: 2\n  - b", [{"x": 1, "y": 2}], "k:\n  - x: 1\n    y: 2"),
        ('"k" : a # c', "b", '"k" : b # c'),
        ("k: >\n  long\n  text", "short", "k: short"),
        ("k: &a x\nl: *a", "y", "k: y"),
    ],
)
def test_a_changed_value_keeps_comments_indentation_and_quotes(
    line: str, value: object, expected: str
) -> None:
    for newline in ("\n", "\r\n"):
        if "*a" in line:
            with pytest.raises(ToolError, match="undefined alias"):
                set_key(f"---\n{line}\n---\n", "k", value)
            continue
        text = f"---\na: 1 # one\n{line}\nz: [ 2 ]\n---\nx\n".replace("\n", newline)
        wanted = text.replace(line.replace("\n", newline), expected.replace("\n", newline))
        assert set_key(text, "k", value) == wanted
        assert parse_frontmatter(wanted).values["k"] == value


def test_deleting_a_key_deletes_its_nested_lines() -> None:
    assert delete_key(NOTE, "tags") == NOTE.replace("tags:\n  - one\n  # between\n  - two\n", "")
    with pytest.raises(ToolError, match="no key 'absent'"):
        delete_key(NOTE, "absent")
    with pytest.raises(ToolError, match="cannot be edited"):
        delete_key("---\na: [\n---\n", "a")


def test_as_list() -> None:
    assert as_list("a, b c") == ["a", "b", "c"]
    assert as_list(["a", 2025]) == ["a", "2025"]
    assert as_list(None) == as_list({}) == []


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("12:30", "12:30"),
        ("010", 10),
        ("-1", -1),
        ("1.5", 1.5),
        ("1e3", "1e3"),
        ("true", True),
        ("on", "on"),
        ("null", None),
        ("~", None),
        ("4111111111111111", "4111111111111111"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
        ("2025-01-31 10:00", "2025-01-31 10:00"),
    ],
)
def test_scalars_are_parsed_as_in_obsidian(written: str, value: object) -> None:
    found = parse_frontmatter(f"---\na: {written}\nb: '{written}'\n---\n").values
    assert found == {"a": value, "b": written}
