from __future__ import annotations

import pytest

from dovetail import ToolError
from dovetail_vault.paths import (
    fold_name,
    note_uri_path,
    split_folder_path,
    split_note_path,
)


def test_a_path_is_split_and_its_suffix_added() -> None:
    assert split_note_path("Folder/Note") == ("Folder", "Note.md")
    assert split_note_path("v1.2 plan") == ("v1.2 plan.md",)
    assert split_note_path("100% sure.md") == ("100% sure.md",)
    assert split_folder_path("") == split_folder_path("/") == ()
    assert split_folder_path("A/B/") == ("A", "B")


@pytest.mark.parametrize(
    "path",
    ["../a", "a/../b", "/a", "~a", "c:a", "a\\b", "a\0", ".a", "a/.b", "a//b", "nul", "aux.txt.md",
     "a.", "a /b", "%2e%2e/a", "%252e%252e/a", "a%2f..%2fb", "\ud800", "x" * 253, "é" * 130],
)  # fmt: skip
def test_unsafe_paths_are_rejected(path: str) -> None:
    with pytest.raises(ToolError, match=r"not allowed|empty|characters"):
        split_note_path(path)


def test_fold_name() -> None:
    assert fold_name("CAFÉ") == fold_name("cafe\u0301")
    assert fold_name("a") != fold_name("b")


def test_a_path_in_a_uri_keeps_its_slashes() -> None:
    assert note_uri_path("A b/c#d?é.md") == "A%20b/c%23d%3F%C3%A9.md"
