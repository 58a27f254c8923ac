"""Two processes on one design lose nothing; a process that is killed leaves whole versions only."""

from __future__ import annotations

import sqlite3
import subprocess
from functools import partial
from pathlib import Path

import pytest

from dovetail_design.storage import AssetQuery
from tests.design.writing import open_studio
from tests.patience import CAP
from tests.serverkit.killing import kill_writers, start_writer


def start(directory: Path, who: str, count: int, prefix: str = "") -> subprocess.Popen[str]:
    return start_writer("tests.design.writing", directory, who, count, prefix)


def assert_whole(directory: Path, answered: set[str]) -> int:
    """Everything that was answered is there, and nothing is there by half."""
    studio = open_studio(directory)
    with studio.store.reading() as reader:
        record, state = reader.design("shared"), reader.state("shared")
        assert record is not None and state is not None
        ids = [element["id"] for element in state["elements"]]
        # Each version adds one element and counts it; none is missing and none is there twice.
        assert len(ids) == len(set(ids)) == record.elements == int(record.name)
        assert record.version == len(ids) + 1
        for number in {1, record.version // 2 or 1, record.version}:
            then = reader.state("shared", number)
            assert then is not None
            assert [element["id"] for element in then["elements"]] == ids[: number - 1]
        assets = reader.assets(AssetQuery(limit=1_000_000)).items
    for asset in assets:
        assert studio.blobs.load(asset.digest) == f"content of {asset.id}".encode()
    studio.store.close()
    assert answered <= {asset.id for asset in assets} <= set(ids)
    with sqlite3.connect(directory / "designs.db") as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    file.close()
    return len(ids)


@pytest.mark.slow
def test_two_processes_on_one_design_lose_no_change(tmp_path: Path) -> None:
    writers = [start(tmp_path, who, 60) for who in ("one", "two")]
    answered: set[str] = set()
    for writer in writers:
        out, errors = writer.communicate(timeout=CAP)
        assert (writer.returncode, errors) == (0, "")
        answered |= set(out.split())
    assert len(answered) == 120
    assert assert_whole(tmp_path, answered) == 120


@pytest.mark.slow
def test_killed_writers_leave_no_half_version(tmp_path: Path) -> None:
    kill_writers(partial(start, tmp_path), partial(assert_whole, tmp_path))


def test_a_full_disk_refuses_and_writes_nothing_by_half(tmp_path: Path) -> None:
    # The file may grow to so many blocks; then every write fails as on a full disk.
    writer = start(tmp_path, "big", 100_000, prefix="ulimit -f 600; ")
    out, errors = writer.communicate(timeout=CAP)
    assert writer.returncode == 1
    assert "Nothing was changed" in errors
    assert assert_whole(tmp_path, set(out.split())) > 0
