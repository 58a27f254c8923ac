"""A rate holds however much is offered, and who keeps to it does not notice that others do not."""

from __future__ import annotations

import asyncio
import json
import re
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dovetail.guard.key_file import KeyFile
from tests.guard.processes import notes_server

# A bucket of one second: a machine that stops for less than that loses nobody any calls, so what
# is allowed depends on the time alone.
RATE, BURST = 500, 500
OFFERED, SECONDS = 5000, 5
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3})")
_LONGEST_STATUS = 12


class Caller:
    """Sends calls at a steady pace over one connection and counts what comes back."""

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
        self.offered = 0

    async def call(self, per_second: int, seconds: float) -> float:
        """How long it really took, from a full bucket on."""
        reader, writer = await asyncio.open_connection(self._parts.hostname, self._parts.port)
        reading = asyncio.create_task(self._count(reader))
        began = time.monotonic()
        goal = int(per_second * seconds)
        # All of them, also where a busy machine takes longer: what is allowed grows with the time.
        while self.offered < goal:
            passed = time.monotonic() - began
            due = max(0, min(int(passed * per_second), goal) - self.offered)
            # Never more on the way than a pipe holds: the pace is the client's, not the kernel's.
            writer.write(self._request * due)
            self.offered += due
            await writer.drain()
            await asyncio.sleep(0.002)
        while sum(self.statuses.values()) < self.offered:
            await asyncio.sleep(0.002)
        took = time.monotonic() - began
        reading.cancel()
        writer.close()
        return took

    async def _count(self, reader: asyncio.StreamReader) -> None:
        """Counted by the status lines alone: a client that lags would stretch the time."""
        rest = b""
        while data := await reader.read(1 << 18):
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
@pytest.mark.timeout(60)
def test_a_rate_holds_within_two_percent_and_others_keep_their_share(tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    greedy, modest = (keys.add(name)[1] for name in ("greedy", "modest"))
    setup = {"keys": str(keys.path), "rate": [RATE, BURST]}
    with notes_server(tmp_path / "server", **setup) as running:
        many, few = Caller(running.ready, greedy), Caller(running.ready, modest)

        async def play() -> tuple[float, float]:
            return await asyncio.gather(many.call(OFFERED, SECONDS), few.call(RATE // 5, SECONDS))

        took, _ = asyncio.run(play())
        assert many.offered == OFFERED * SECONDS
        allowed = BURST + RATE * took
        assert many.statuses[b"200"] == pytest.approx(allowed, rel=0.02)
        assert set(many.statuses) == {b"200", b"429"}
        assert few.statuses == {b"200": few.offered}
        # Whoever is refused is told when to come back.
        head, _, body = many.refused.partition(b"\r\n\r\n")
        assert b"retry-after: 1" in head
        error = json.loads(body)["error"]
        assert error["code"] == 429
        assert "500 per second for each caller" in error["message"]
        assert 0 < error["data"]["retryAfter"] < 1
