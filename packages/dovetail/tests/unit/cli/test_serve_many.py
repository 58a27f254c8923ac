from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import httpx

from dovetail.client import Client
from tests.driving import serving_http
from tests.patience import CAP

PROGRAM = """
from dovetail import Server
from dovetail.cli.settings import HttpSettings
from dovetail.cli.run_http import run_many

servers = {}
for name in ("oak", "pine"):
    server = servers[name] = Server(name)
    server.tools.add(lambda name=name: f"I am {name}", name="who")
run_many(servers, HttpSettings())
"""


def test_several_servers_have_their_own_paths(tmp_path: Path) -> None:
    program = tmp_path / "several.py"
    program.write_text(PROGRAM)

    async def run() -> None:
        async with serving_http([sys.executable, str(program)], count=2) as urls:
            assert [url.rpartition(":")[2].partition("/")[2] for url in urls] == [
                "oak/mcp",
                "pine/mcp",
            ]
            for name, url in zip(("oak", "pine"), urls, strict=True):
                for mode in ("2025-11-25", "2026-07-28"):
                    async with Client(url, mode=mode, timeout=CAP) as client:
                        assert (await client.call("who")).text == f"I am {name}"
            async with httpx.AsyncClient(timeout=CAP) as plain:
                missing = await plain.post(urls[0].replace("oak", "elm"))
                assert missing.status_code == 404

    asyncio.run(run())
