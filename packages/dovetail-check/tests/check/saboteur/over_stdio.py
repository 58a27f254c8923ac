"""The saboteur on stdio: python -m tests.check.saboteur.over_stdio [SWITCH]."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from tests.check.saboteur import faults
from tests.check.saboteur.healthy import server


async def main(switch_id: str | None) -> None:
    """Serve until stdin is closed."""
    faults.load()
    active = faults.Faults(switch_id)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 26)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    out = sys.stdout.buffer
    asked: dict[Any, dict[str, Any]] = {}

    def write(data: bytes) -> None:
        out.write(data)
        out.flush()

    def send(data: bytes) -> None:
        message = json.loads(data)
        request = asked.get(_key(message), {})
        seconds = active.delay(is_error="error" in message)
        for chunk in active.replies(message, request):
            if seconds:
                loop.call_later(seconds, write, chunk + b"\n")
            else:
                write(chunk + b"\n")

    write(active.start())
    await server.start()
    # A stdio server has one client, so it can list the tasks of that client.
    connection = server.connect(send, principal="owner")
    while line := await reader.readline():
        message = _parse(line)
        if isinstance(message, dict):
            if "id" in message and "method" in message:
                asked[repr(message["id"])] = message
            instead = active.instead_of(message)
            if instead is not None:
                for chunk in instead:
                    write(chunk + b"\n")
                continue
        connection.receive(line.rstrip(b"\n"))
    await connection.close(0.5)
    write(active.stop())


def _key(message: Any) -> str:
    if not isinstance(message, dict):
        return ""
    params = message.get("params")
    meta = params.get("_meta", {}) if isinstance(params, dict) else {}
    id = message.get("id", meta.get("io.modelcontextprotocol/subscriptionId"))
    return repr(id)


def _parse(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else None))
