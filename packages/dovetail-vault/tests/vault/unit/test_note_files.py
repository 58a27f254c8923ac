"""Notes are read from regular files only."""

from __future__ import annotations

import os
from pathlib import Path

from dovetail_vault.folders import Root
from dovetail_vault.parsed_notes import read_and_parse


def test_a_folder_in_place_of_a_note_leaves_no_open_descriptor(tmp_path: Path) -> None:
    (tmp_path / "Folder.md").mkdir()
    root = Root(str(tmp_path))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        assert read_and_parse(root, "Folder.md") is None
    assert len(os.listdir("/proc/self/fd")) == before
