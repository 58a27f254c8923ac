"""Files that are read again when they change."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from dovetail.errors import UsageError
from dovetail.runtime.key_files import ReloadedFile


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class NumberFile:
    """Reads a file that has a number in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reads = 0

    def __call__(self) -> int:
        self.reads += 1
        try:
            return int(self.path.read_text())
        except (OSError, ValueError):
            raise UsageError("not a number") from None


def test_a_file_is_read_again_at_an_interval_and_only_if_it_has_changed(tmp_path: Path) -> None:
    path, clock = tmp_path / "number", Clock()
    path.write_text("1")
    read = NumberFile(path)
    file = ReloadedFile(path, read, clock=clock)
    path.write_text("22")
    assert file.current() == 1
    clock.now += 1
    assert file.current() == 22
    clock.now += 1
    assert file.current() == 22 and read.reads == 2


def test_the_previous_contents_are_kept_if_the_file_becomes_invalid(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, clock = tmp_path / "number", Clock()
    path.write_text("1")
    file = ReloadedFile(path, NumberFile(path), clock=clock)
    with caplog.at_level(logging.ERROR, "dovetail"):
        path.write_text("many")
        clock.now += 1
        assert file.current() == 1
        path.unlink()
        clock.now += 1
        assert file.current() == 1
    assert [each.message for each in caplog.records] == [
        f"{path} was not reloaded: not a number"
    ] * 2
    path.write_text("333")
    clock.now += 1
    assert file.current() == 333


def test_a_file_that_is_invalid_at_first_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        ReloadedFile(tmp_path / "missing", NumberFile(tmp_path / "missing"))
