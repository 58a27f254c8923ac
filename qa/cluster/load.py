"""The load: wrk with a modern tool call."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import NamedTuple

__all__ = ["Load", "run_load"]

_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "wrk", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": _META},
}
_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "add",
}
_TOTAL = re.compile(r"(\d+) requests in ([\d.]+)(ms|s|m)")
_REFUSED = re.compile(r"Non-2xx or 3xx responses: (\d+)")
_BROKEN = re.compile(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


class Load(NamedTuple):
    """What wrk has counted."""

    requests: int
    seconds: float
    refused: int
    broken: int

    @property
    def passed(self) -> int:
        """Requests that were answered with success."""
        return self.requests - self.refused


async def run_load(url: str, folder: Path, seconds: int, connections: int = 32) -> Load:
    """Send calls for some seconds."""
    script = folder / "call.lua"
    lines = [
        f"wrk.headers[{json.dumps(name)}] = {json.dumps(each)}" for name, each in _HEADERS.items()
    ]
    body = json.dumps(json.dumps(_CALL))
    script.write_text("\n".join(['wrk.method = "POST"', *lines, f"wrk.body = {body}"]))
    process = await asyncio.create_subprocess_exec(
        *("wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(script), url),
        stdout=asyncio.subprocess.PIPE,
    )
    printed = (await process.communicate())[0].decode()
    total, refused, broken = (each.search(printed) for each in (_TOTAL, _REFUSED, _BROKEN))
    assert total is not None, printed
    return Load(
        int(total[1]),
        float(total[2]) * _UNITS[total[3]],
        int(refused[1]) if refused else 0,
        sum(map(int, broken.groups())) if broken else 0,
    )
