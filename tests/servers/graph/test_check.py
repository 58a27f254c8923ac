"""Our own checker finds nothing wrong with the server, on stdio and over HTTP."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.servers.driving import serving_http
from tests.servers.graph.driving import command


async def check(*target: str) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "dovetail", "check", *target),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(60):
        said, _ = await process.communicate()
    return process.returncode, said.decode()


@pytest.mark.slow
@pytest.mark.timeout(90)
def test_the_checker_finds_nothing_on_stdio(tmp_path: Path) -> None:
    words = command(tmp_path / "graph.db", "--debug-tools")
    code, said = asyncio.run(check("--", *words))
    assert code == 0 and "0 failed, 0 warnings" in said, said


@pytest.mark.slow
@pytest.mark.timeout(90)
def test_the_checker_finds_nothing_over_http(tmp_path: Path) -> None:
    async def run() -> tuple[int | None, str]:
        async with serving_http(command(tmp_path / "graph.db", "--http", "0")) as [url]:
            return await check(url)

    code, said = asyncio.run(run())
    assert code == 0 and "0 failed, 0 warnings" in said, said
