"""Our own checker finds nothing to say against the notes server, over both transports."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.servers.vault.driving import command, serving_http, write

CHECK = [sys.executable, "-m", "dovetail", "check", "--fail-on", "should", "-f", "json"]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    write(root, "Oak.md", "---\ntags: [moc]\n---\n# Oak\n\nHard wood, see [[Pine]]\n")
    write(root, "Sub/Pine.md", "# Pine\n\nSoft wood\n")
    return root


async def check(target: list[str]) -> tuple[int | None, dict[str, Any]]:
    process = await asyncio.create_subprocess_exec(
        *CHECK, *target, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    return process.returncode, json.loads(out)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_the_checker_has_nothing_to_say_over_stdio(vault: Path) -> None:
    code, report = asyncio.run(check(["--", *command(vault)]))
    assert code == 0, json.dumps(report)[:5000]


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_the_checker_has_nothing_to_say_over_http(vault: Path) -> None:
    async def run() -> tuple[int | None, dict[str, Any]]:
        async with serving_http(command(vault, "--http", "0")) as [url]:
            return await check([url])

    code, report = asyncio.run(run())
    assert code == 0, json.dumps(report)[:5000]
