from __future__ import annotations

import pytest

from dovetail_vault.note import Note, leaf_of


@pytest.mark.parametrize(
    ("text", "title", "line"),
    [
        ("x\n# Title #tag\n", "Title", 2),
        ("---\ntitle: From YAML\n---\n## Two\n", "From YAML", 1),
        ("title:: From Logseq\n", "From Logseq", 1),
        ("nothing", "Name of/file", 1),
        ("```\n# code\n```\n", "Name of/file", 1),
    ],
)
def test_the_title_is_a_heading_a_property_or_the_name(text: str, title: str, line: int) -> None:
    assert Note("Folder/Name of___file.md", text).title_and_line == (title, line)


def test_tags_and_aliases_of_all_sources_without_duplicates() -> None:
    note = Note(
        "a.md",
        "---\nTags: '#One two'\naliases: [X, Y]\n---\n"
        "tags:: three, [[four five]]\nalias:: Z\n#one #six/\n",
    )
    assert note.tags == ["One", "two", "three", "four five", "six"]
    assert note.aliases == ["X", "Y", "Z"]


def test_links_find_a_note_by_the_end_of_its_name() -> None:
    assert leaf_of("A/Note.md") == leaf_of("note") == leaf_of("x/a___NOTE.md") == "note"
