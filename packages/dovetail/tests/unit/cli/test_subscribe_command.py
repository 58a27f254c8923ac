"""`dovetail subscribe`."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from dovetail.client import Client
from tests.driving import serving_http
from tests.patience import CAP
from tests.terminal import open_terminal

FILE = str(Path(__file__).parents[2] / "peers" / "survey_server.py")
DOVETAIL = [sys.executable, "-m", "dovetail"]
URI = "pictures://dot"


def test_changes_are_printed_as_they_come() -> None:
    async def use() -> tuple[list[str], int | None]:
        async with (
            asyncio.timeout(CAP),
            serving_http([*DOVETAIL, "run", FILE, "--http", "0"]) as [url],
            Client(url) as client,
        ):
            words = [*DOVETAIL, "subscribe", url, URI, "--json", "--count", "2"]
            process = await asyncio.create_subprocess_exec(
                *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            assert process.stdout is not None
            assert process.stderr is not None
            waiting = await process.stderr.readline()
            assert waiting == f"Waiting for changes of {URI}; press Ctrl-C to stop\n".encode()
            lines = []
            for _ in range(2):
                await client.call("touch", {"uri": URI})
                lines.append((await process.stdout.readline()).decode())
            return lines, await process.wait()

    lines, code = asyncio.run(use())
    assert [json.loads(line) for line in lines] == [{"kind": "resource", "uri": URI}] * 2
    assert code == 0


def test_ctrl_c_ends_the_command() -> None:
    with open_terminal("subscribe", FILE) as terminal:
        terminal.expect("Waiting for changes of tools, prompts, resources; press Ctrl-C to stop")
        terminal.press("C")
        assert terminal.wait() == 130
    assert terminal.output.count("\n") == 2
