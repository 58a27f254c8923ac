from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dovetail import ToolError
from dovetail_browser.chromium_process import ProcessGuard, choose_parent, list_driver_processes
from tests.patience import CAP


def test_a_guard_has_a_folder_until_it_ends() -> None:
    async def scenario() -> None:
        guard = ProcessGuard()
        await guard.start()
        assert sorted(path.name for path in guard.folder.iterdir()) == [
            "artifacts",
            "processes",
            "profile",
            "tmp",
        ]
        await guard.end()
        assert not guard.folder.exists()
        await guard.end()

    asyncio.run(scenario())


def test_a_folder_that_cannot_be_created_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        guard = ProcessGuard()
        guard.folder = tmp_path / "missing" / "folder"
        with pytest.raises(ToolError, match="could not be created"):
            await guard.start()

    asyncio.run(scenario())


def test_added_processes_end_with_the_guard() -> None:
    words = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)", "run-driver"]

    async def scenario() -> None:
        guard = ProcessGuard()
        await guard.start()
        before = list_driver_processes()
        process = subprocess.Popen(words)
        try:
            # The command line is another one until the program has been loaded.
            async with asyncio.timeout(CAP):
                while not (found := list_driver_processes() - before):
                    await asyncio.sleep(0.005)
            [entry] = found
            assert entry.startswith(f"{process.pid}-")
            guard.add_process(entry)
            await guard.end()
            assert process.wait(CAP) == -9
        finally:
            process.kill()
            process.wait()

    asyncio.run(scenario())


def test_a_path_that_is_too_long_for_a_socket_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 60)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    assert len(str(choose_parent())) < 20
    monkeypatch.setattr(tempfile, "tempdir", "/var/tmp")
    assert choose_parent() == Path("/var/tmp")


def test_a_guard_without_its_watchdog_is_not_intact() -> None:
    async def scenario() -> None:
        guard = ProcessGuard()
        await guard.start()
        assert guard.is_intact()
        guard.add_process("1-1")
        assert not guard.is_intact()
        await guard.end()
        assert not guard.is_intact()

    asyncio.run(scenario())
