"""The saboteur on stdio: python -m tests.check.saboteur.over_stdio [SWITCH]."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from tests.check.saboteur import mischief
from tests.check.saboteur.healthy import server


async def main(switch_id: str | None) -> None:
    """Serve until stdin ends."""
    mischief.load()
    made = mischief.Mischief(switch_id)
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
        for chunk in made.replies(message, request):
            write(chunk + b"\n")

    write(made.start())
    await server.start()
    # On a pipe there is one caller, and so a list of its tasks.
    connection = server.connect(send, principal="owner")
    while line := await reader.readline():
        message = _parse(line)
        if isinstance(message, dict):
            if "id" in message and "method" in message:
                asked[repr(message["id"])] = message
            instead = made.instead_of(message)
            if instead is not None:
                for chunk in instead:
                    write(chunk + b"\n")
                continue
        connection.receive(line.rstrip(b"\n"))
    await connection.close(0.5)
    write(made.stop())


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
