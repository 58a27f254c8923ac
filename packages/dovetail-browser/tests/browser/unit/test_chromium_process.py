from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dovetail import ToolError
from dovetail_browser.chromium_process import Leash, choose_parent, list_driver_processes


def test_a_leash_has_a_folder_until_it_is_let_go() -> None:
    async def scenario() -> None:
        leash = Leash()
        await leash.start()
        assert sorted(path.name for path in leash.folder.iterdir()) == [
            "artifacts",
            "processes",
            "profile",
            "tmp",
        ]
        await leash.end()
        assert not leash.folder.exists()
        await leash.end()

    asyncio.run(scenario())


def test_a_folder_that_cannot_be_made_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        leash = Leash()
        leash.folder = tmp_path / "missing" / "folder"
        with pytest.raises(ToolError, match="could not be made"):
            await leash.start()

    asyncio.run(scenario())


def test_what_is_tied_ends_with_the_leash() -> None:
    words = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)", "run-driver"]

    async def scenario() -> None:
        leash = Leash()
        await leash.start()
        before = list_driver_processes()
        process = subprocess.Popen(words)
        try:
            # The command line is another one until the program has been loaded.
            async with asyncio.timeout(10):
                while not (found := list_driver_processes() - before):
                    await asyncio.sleep(0.005)
            [entry] = found
            assert entry.startswith(f"{process.pid}-")
            leash.tie(entry)
            await leash.end()
            assert process.wait(10) == -9
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


def test_a_leash_without_its_watchdog_is_not_whole() -> None:
    async def scenario() -> None:
        leash = Leash()
        await leash.start()
        assert leash.has_all()
        leash.tie("1-1")
        assert not leash.has_all()
        await leash.end()
        assert not leash.has_all()

    asyncio.run(scenario())
