"""Properties of the parsers of foreign text; `make fuzz` draws many more examples."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dovetail import ToolError
from dovetail_vault.frontmatter import delete_key, parse_frontmatter, set_keys
from dovetail_vault.note import Note
from dovetail_vault.query_language import describe, parse_query
from tests.vault.hostile import TOKENS

QUERY_TOKENS = (
    *("a", "b c", "AND", "OR", "NOT", "&&", "||", "-", "(", ")", '"', "\\", " ", "\n", ":"),
    *("title:", "tag:", "path:", "content:", "http://x", "#t", "é", "\x00", "\u2028", '"x y"'),
)
blocks = st.lists(st.sampled_from(TOKENS) | st.text(max_size=5), max_size=40).map("".join)
queries = st.lists(st.sampled_from(QUERY_TOKENS) | st.text(max_size=5), max_size=30).map("".join)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(blocks)
def test_any_frontmatter_gives_json_values_or_a_problem(block: str) -> None:
    text = f"---\n{block}\n---\n# Title\n"
    note = Note("a.md", text)
    assert note.problem is None or note.frontmatter == {}
    assert note.title and all(map(str, [*note.tags, *note.aliases]))
    assert len(msgspec.json.encode(note.frontmatter)) < 100_000


@given(blocks, st.dictionaries(st.text(min_size=1, max_size=8), values, min_size=1, max_size=3))
def test_properties_that_are_set_are_read_back_and_the_text_stays(
    block: str, given_values: dict[str, Any]
) -> None:
    for text in (f"---\n{block}\n---\n# Title\n", "# Title\n", "---\na: 1\nb: [x]\n---\n# Title\n"):
        try:
            edited = set_keys(text, given_values)
        except ToolError:
            continue
        read = parse_frontmatter(edited)
        assert {key: read.values[key] for key in given_values} == given_values
        assert edited.endswith(text[parse_frontmatter(text).end :])


@given(blocks)
def test_a_property_that_is_set_to_its_value_changes_no_byte(block: str) -> None:
    text = f"---\n{block}\n---\n# Title\n"
    read = parse_frontmatter(text)
    try:
        edited = set_keys(text, read.values)
    except ToolError:
        return
    assert edited == text


@given(blocks, st.text(max_size=8))
def test_deleting_a_property_fails_or_gives_valid_frontmatter(block: str, key: str) -> None:
    for name in (key, *parse_frontmatter(f"---\n{block}\n---\n").values):
        try:
            edited = delete_key(f"---\n{block}\n---\nx", name)
        except ToolError:
            continue
        assert parse_frontmatter(edited).problem is None


@given(queries)
def test_any_query_is_refused_or_described_as_the_same_query(query: str) -> None:
    try:
        node = parse_query(query)
    except ToolError:
        return
    try:
        again = parse_query(describe(node))
    except ToolError as error:
        # The description has more parentheses and operators than the query.
        assert "at most" in str(error) or "limited" in str(error)
    else:
        assert again == node
