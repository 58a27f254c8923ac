"""File access is limited to one folder, and no file is replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail import ToolError
from dovetail_browser.saved_files import SavedFiles


def test_a_file_is_written_once_with_its_folders(tmp_path: Path) -> None:
    files = SavedFiles(tmp_path)
    assert files.save("a/b.txt", b"one") == "a/b.txt"
    assert files.find("a/b.txt").read_bytes() == b"one"
    with pytest.raises(ToolError, match="already"):
        files.save("a/b.txt", b"two")
    assert (tmp_path / "a/b.txt").read_bytes() == b"one"


@pytest.mark.parametrize(
    "name", ["../x", "/etc/passwd", "a/../../x", "out/x", "out", ".", "", "a\0b"]
)
def test_paths_outside_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "out").symlink_to(tmp_path)
    files = SavedFiles(folder)
    with pytest.raises(ToolError):
        files.save(name, b"data")
    with pytest.raises(ToolError):
        files.find(name)
    assert sorted(tmp_path.iterdir()) == [folder]


def test_without_a_folder_there_is_no_file_access() -> None:
    files = SavedFiles(None)
    with pytest.raises(ToolError, match="--folder"):
        files.save("a", b"")
    assert files.place_for("a.txt") is None


@pytest.mark.parametrize(
    ("suggested", "name"),
    [
        ("../../etc/passwd", "passwd"),
        ("a b.csv", "a b.csv"),
        ("x\0;rm -rf.sh", "x_rm -rf.sh"),
        ("...", "download"),
        ("", "download"),
        ("n" * 300 + ".pdf", "n" * 116 + ".pdf"),
    ],
)
def test_downloads_get_an_unused_safe_name(tmp_path: Path, suggested: str, name: str) -> None:
    files = SavedFiles(tmp_path)
    place = files.place_for(suggested)
    assert place == tmp_path / name
    place.touch()
    other = files.place_for(suggested)
    assert other is not None and other != place and other.parent == tmp_path
