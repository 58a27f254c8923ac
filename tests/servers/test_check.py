"""Our own checker has nothing to say against any ready server, on stdio and over HTTP."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dovetail.cli.serve_command import READY
from tests.servers.browser.driving import command as serve_browser
from tests.servers.design.driving import command as serve_design
from tests.servers.driving import serving_http
from tests.servers.graph.driving import command as serve_graph
from tests.servers.vault.driving import command as serve_vault
from tests.servers.vault.driving import write

# The whole of a check, under coverage, on a machine that does other things too.
PATIENCE = 100


def _vault(folder: Path) -> list[str]:
    root = folder / "vault"
    write(root, "Oak.md", "---\ntags: [moc]\n---\n# Oak\n\nHard wood, see [[Pine]]\n")
    write(root, "Sub/Pine.md", "# Pine\n\nSoft wood\n")
    return serve_vault(root)


SERVERS: dict[str, Callable[[Path], list[str]]] = {
    "vault": _vault,
    "graph": lambda folder: serve_graph(folder / "graph.db", "--debug-tools"),
    "browser": lambda _: serve_browser("--enable-scripts"),
    "design": serve_design,
}


async def check(*target: str) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "dovetail", "check", "--fail-on", "should", *target),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(PATIENCE):
        said, _ = await process.communicate()
    return process.returncode, said.decode()


def test_every_ready_server_is_checked() -> None:
    assert SERVERS.keys() == READY.keys()


@pytest.mark.slow
@pytest.mark.timeout(PATIENCE + 20)
@pytest.mark.parametrize("name", SERVERS)
def test_the_checker_finds_nothing_on_stdio(name: str, tmp_path: Path) -> None:
    code, said = asyncio.run(check("--", *SERVERS[name](tmp_path)))
    assert code == 0 and "0 failed, 0 warnings" in said, said


@pytest.mark.slow
@pytest.mark.timeout(PATIENCE + 20)
@pytest.mark.parametrize("name", SERVERS)
def test_the_checker_finds_nothing_over_http(name: str, tmp_path: Path) -> None:
    async def run() -> tuple[int | None, str]:
        async with serving_http([*SERVERS[name](tmp_path), "--http", "0"]) as [url]:
            return await check(url)

    code, said = asyncio.run(run())
    assert code == 0 and "0 failed, 0 warnings" in said, said
