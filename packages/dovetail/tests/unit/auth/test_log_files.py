"""The rotated log file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.observability import logs as module
from dovetail.observability.logs import LineFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lines"


def test_lines_are_visible_at_once(path: Path) -> None:
    file = LineFile(path, 1000, 1)
    file.write(b"one\n")
    assert path.read_bytes() == b"one\n"
    file.write(b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"
    file.close()
    file.close()


def test_files_are_rotated_and_the_oldest_is_deleted(path: Path) -> None:
    file = LineFile(path, 10, 2)
    for number in range(5):
        file.write(b"line %d\n" % number)
    file.close()
    names = ("lines", "lines.1", "lines.2")
    assert [path.with_name(name).read_bytes() for name in names] == [
        b"line 4\n",
        b"line 3\n",
        b"line 2\n",
    ]
    assert not path.with_name("lines.3").exists()


def test_keep_may_be_zero(path: Path) -> None:
    file = LineFile(path, 10, 0)
    for number in range(3):
        file.write(b"line %d\n" % number)
    file.close()
    assert sorted(each.name for each in path.parent.iterdir()) == ["lines", "lines.lock"]
    assert path.read_bytes() == b"line 2\n"


def test_a_line_longer_than_a_file_is_written(path: Path) -> None:
    file = LineFile(path, 4, 1)
    file.write(b"much longer\n")
    file.close()
    assert path.read_bytes() == b"much longer\n"


def test_an_unfinished_line_is_ended_first(path: Path) -> None:
    path.write_bytes(b'{"half')
    file = LineFile(path, 1000, 1)
    file.write(b"whole\n")
    file.close()
    assert path.read_bytes() == b'{"half\nwhole\n'


def test_two_writers_share_a_rotated_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHECK_EVERY", 0.0)
    one, other = LineFile(path, 20, 5), LineFile(path, 20, 5)
    for number in range(6):
        (one if number % 2 else other).write(b"line %d\n" % number)
    one.close()
    other.close()
    written = b"".join(each.read_bytes() for each in path.parent.glob("lines*") if each != path)
    assert sorted((written + path.read_bytes()).split(b"\n"))[-6:] == [
        b"line %d" % number for number in range(6)
    ]


def test_a_moved_file_is_recreated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHECK_EVERY", 0.0)
    file = LineFile(path, 1000, 1)
    file.write(b"one\n")
    path.rename(path.with_name("moved"))
    file.write(b"two\n")
    file.close()
    assert path.read_bytes() == b"two\n"


def test_a_full_disk_raises_and_ends_the_partial_line(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = LineFile(path, 1000, 1)
    real = os.write
    monkeypatch.setattr(os, "write", lambda number, data: real(number, data[:3]))
    with pytest.raises(OSError, match="only 3 of 6"):
        file.write(b"whole\n")
    monkeypatch.undo()
    file.write(b"next\n")
    file.close()
    assert path.read_bytes() == b"who\nnext\n"


def test_a_killed_process_loses_no_written_line(path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from dovetail.observability.logs import LineFile\n"
        "file = LineFile(sys.argv[1], 10**9, 1)\n"
        "for number in range(1000):\n"
        "    file.write(b'%d\\n' % number)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert ended.returncode == -9
    assert path.read_bytes() == b"".join(b"%d\n" % number for number in range(1000))
