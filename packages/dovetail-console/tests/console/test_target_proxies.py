from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from dovetail.client import Client
from dovetail.spec.revisions import REVISIONS
from dovetail_console.target_proxies import PATH, TargetAccess, make_proxies
from dovetail_console.traffic import Traffic
from tests.patience import CAP

SOURCE = """
from dovetail import Context, Server

server = Server("shop", version="1")

@server.tool
def revision(ctx: Context) -> str:
    return ctx.protocol_version
"""


def test_there_is_one_proxy_for_each_revision_and_one_that_negotiates() -> None:
    proxies = make_proxies(["none"], TargetAccess(), Traffic())
    assert list(proxies) == [PATH, *(f"{PATH}/{each.date}" for each in REVISIONS)]


@pytest.mark.slow
def test_the_target_is_used_at_the_revision_of_the_proxy_and_its_messages_are_recorded(
    tmp_path: Path,
) -> None:
    file = tmp_path / "shop.py"
    file.write_text(SOURCE)
    command = [sys.executable, "-m", "dovetail", "run", str(file)]

    async def run() -> None:
        traffic = Traffic()
        proxies = make_proxies(command, TargetAccess(), traffic)
        for date in ("2024-11-05", "2025-11-25", "2026-07-28"):
            proxy = proxies[f"{PATH}/{date}"]
            async with proxy.running(), Client(proxy, mode=date, timeout=CAP) as client:
                await client.call("revision")
        frames: list[dict[str, Any]] = []
        async with asyncio.timeout(CAP):
            async for frame in traffic.follow():
                frames.append(frame)
                calls = [each for each in frames if each["method"] == "tools/call"]
                if len(calls) == 3 and frame["kind"] == "response":
                    break
        assert len({frame["stream"] for frame in frames}) == 3
        responses = [frame for frame in frames if frame["kind"] == "response"]
        assert all(frame["ms"] is not None for frame in responses)
        versions = [
            each["params"]["protocolVersion"]
            for each in map(_decode, frames)
            if each.get("method") == "initialize"
        ]
        assert versions == ["2024-11-05", "2025-11-25"]

    asyncio.run(run())


def _decode(frame: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(frame["text"])
    return found
