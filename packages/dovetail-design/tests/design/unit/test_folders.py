from __future__ import annotations

import os
from pathlib import Path

import pytest

from dovetail import ToolError, UsageError
from dovetail_design.folders import Folders


@pytest.fixture
def opened(tmp_path: Path) -> Folders:
    (tmp_path / "open" / "sub").mkdir(parents=True)
    (tmp_path / "open" / "a.txt").write_bytes(b"inside")
    (tmp_path / "secret.txt").write_bytes(b"secret")
    (tmp_path / "open" / "link.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "open" / "out").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "open" / "pipe")
    return Folders([tmp_path / "open"])


def test_files_are_reached_by_relative_and_absolute_paths(opened: Folders, tmp_path: Path) -> None:
    assert opened.read("a.txt", 100) == b"inside"
    assert opened.read(str(tmp_path / "open" / "a.txt"), 100) == b"inside"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("../secret.txt", "not allowed"),
        ("sub/../../secret.txt", "not allowed"),
        ("/etc/passwd", "outside"),
        ("link.txt", "symbolic link"),
        ("out/secret.txt", "symbolic link"),
        ("sub", "folder|regular"),
        ("pipe", "regular"),
        ("none.txt", "no such"),
        ("a\0.txt", "not allowed"),
        ("", "not allowed"),
    ],
)
def test_what_leads_out_is_refused(opened: Folders, path: str, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        opened.read(path, 100)
    if path not in ("none.txt", "pipe"):
        with pytest.raises(ToolError, match=said):
            opened.check(path, overwrite=False)


def test_a_folder_in_place_of_a_file_leaves_no_open_descriptor(
    opened: Folders, tmp_path: Path
) -> None:
    before = len(os.listdir("/proc/self/fd"))
    folder = next(path for path in opened.paths)
    (folder / "folder.png").mkdir()
    for _ in range(5):
        with pytest.raises(ToolError):
            opened.read("folder.png", 100)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_that_is_too_large_is_refused(opened: Folders) -> None:
    with pytest.raises(ToolError, match="6 bytes; the limit is 5"):
        opened.read("a.txt", 5)


def test_a_file_is_there_once_it_is_finished(opened: Folders, tmp_path: Path) -> None:
    place = tmp_path / "open" / "sub" / "new.png"
    saving = opened.prepare("sub/new.png", b"data")
    assert not place.exists()
    saving.finish(overwrite=False)
    saving.close()
    assert place.read_bytes() == b"data"
    assert os.listdir(place.parent) == ["new.png"]


def test_missing_folders_are_made_for_a_file_and_not_by_a_check(
    opened: Folders, tmp_path: Path
) -> None:
    place = tmp_path / "open" / "new" / "deep" / "a.png"
    opened.check("new/deep/a.png", overwrite=False)
    assert not place.parent.parent.exists()
    saving = opened.prepare("new/deep/a.png", b"data")
    saving.finish(overwrite=False)
    saving.close()
    assert place.read_bytes() == b"data"
    # What is no folder, or a link to one, is not followed.
    (tmp_path / "open" / "link").symlink_to(tmp_path)
    for wrong in ("a.txt/b.png", "link/b.png", "link/new/b.png"):
        with pytest.raises(ToolError, match="cannot be used"):
            opened.prepare(wrong, b"data")


def test_a_file_that_is_there_stays_unless_it_may_be_replaced(
    opened: Folders, tmp_path: Path
) -> None:
    with pytest.raises(ToolError, match="overwrite"):
        opened.check("a.txt", overwrite=False)
    saving = opened.prepare("a.txt", b"new")
    with pytest.raises(ToolError, match="overwrite"):
        saving.finish(overwrite=False)
    assert (tmp_path / "open" / "a.txt").read_bytes() == b"inside"
    saving.finish(overwrite=True)
    saving.close()
    assert (tmp_path / "open" / "a.txt").read_bytes() == b"new"


def test_without_a_folder_every_path_is_refused() -> None:
    with pytest.raises(ToolError, match="--folder"):
        Folders().read("a.txt", 10)


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a folder"):
        Folders([tmp_path / "nowhere"])
