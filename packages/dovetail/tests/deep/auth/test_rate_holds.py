"""A rate limit holds under load and does not affect other callers."""

from __future__ import annotations

import asyncio
import json
import re
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dovetail.auth.api_keys import KeyFile
from tests.deep.auth.processes import notes_server

# So slow a rate that no machine takes long enough for all calls to be allowed.
RATE, BURST = 1, 500
OFFERED, PER_WRITE = 5000, 50
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3})")
_LONGEST_STATUS = 12


class Caller:
    """Sends calls over one connection as fast as it can and counts the responses."""

    def __init__(self, url: str, key: str) -> None:
        self._parts = urlsplit(url)
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": _META})
        self._request = (
            f"POST /mcp HTTP/1.1\r\nHost: {self._parts.netloc}\r\n"
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n"
            f"Authorization: Bearer {key}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        ).encode()
        self.statuses: dict[bytes, int] = {}
        self.refused = b""

    async def call(self, count: int) -> float:
        """Send so many calls; the seconds until all are answered."""
        reader, writer = await asyncio.open_connection(self._parts.hostname, self._parts.port)
        began = time.monotonic()
        reading = asyncio.create_task(self._count(reader, count))
        for _ in range(count // PER_WRITE):
            writer.write(self._request * PER_WRITE)
            await writer.drain()
        await reading
        took = time.monotonic() - began
        writer.close()
        return took

    async def _count(self, reader: asyncio.StreamReader, count: int) -> None:
        rest = b""
        while sum(self.statuses.values()) < count:
            data = await reader.read(1 << 18)
            assert data, "the server has closed the connection"
            rest += data
            end = 0
            for found in _STATUS.finditer(rest):
                self.statuses[found[1]] = self.statuses.get(found[1], 0) + 1
                end = found.end()
                if found[1] == b"429" and not _is_whole(self.refused):
                    self.refused = rest[found.start() :].partition(b"}}}")[0] + b"}}}"
            # What may be the beginning of a status line is looked at again.
            rest = rest[max(end, len(rest) - _LONGEST_STATUS) :]


_META = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}


def _is_whole(response: bytes) -> bool:
    head, _, body = response.partition(b"\r\n\r\n")
    found = re.search(rb"content-length: (\d+)", head)
    return found is not None and int(found[1]) == len(body)


@pytest.mark.slow
def test_a_rate_limit_holds_and_others_are_not_affected(tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    greedy, modest = (keys.add(name)[1] for name in ("greedy", "modest"))
    setup = {"keys": str(keys.path), "rate": [RATE, BURST]}
    with notes_server(tmp_path / "server", **setup) as running:
        many, few = Caller(running.ready, greedy), Caller(running.ready, modest)

        async def play() -> tuple[float, float]:
            return await asyncio.gather(many.call(OFFERED), few.call(BURST))

        took, _ = asyncio.run(play())
        # Exactly how many more depends on the clock: tests/unit/auth/test_rates.py turns one.
        assert BURST <= many.statuses[b"200"] <= BURST + RATE * took + 1
        assert set(many.statuses) == {b"200", b"429"}
        assert few.statuses == {b"200": BURST}
        # A refused caller is told when to try again.
        head, _, body = many.refused.partition(b"\r\n\r\n")
        assert b"retry-after: 1" in head
        error = json.loads(body)["error"]
        assert error["code"] == 429
        assert "1 per second for each caller" in error["message"]
        assert 0 < error["data"]["retryAfter"] <= 1
