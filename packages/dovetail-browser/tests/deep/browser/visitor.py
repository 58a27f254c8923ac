"""A client in a process of its own, to be killed: starts a server on stdio and opens a page.

    python -m tests.deep.browser.visitor URL OPTION...

Says "server PID" when it has started one, "asked" when the call is on its way and "open" when the
page has come. Then it waits for ever.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import IO, Any

from tests.deep.browser.driving import command

_INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "visitor", "version": "1"},
}


def _say(*words: object) -> None:
    os.write(1, f"{' '.join(map(str, words))}\n".encode())


def _send(pipe: IO[bytes], method: str, params: dict[str, Any], id: int | None) -> None:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    if id is not None:
        message["id"] = id
    pipe.write(json.dumps(message).encode() + b"\n")
    pipe.flush()


def _read_answer(pipe: IO[bytes], id: int) -> dict[str, Any]:
    for line in pipe:
        message: dict[str, Any] = json.loads(line)
        if message.get("id") == id:
            return message
    raise SystemExit("the server ended")


def main(url: str, *options: str) -> None:
    """Open the page and wait to be killed."""
    server = subprocess.Popen(
        command(*options), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    _say("server", server.pid)
    assert server.stdin is not None and server.stdout is not None
    _send(server.stdin, "initialize", _INITIALIZE, 1)
    _read_answer(server.stdout, 1)
    _send(server.stdin, "notifications/initialized", {}, None)
    call = {"name": "fetch_webpage", "arguments": {"url": url, "postLoadWait": 0}}
    _send(server.stdin, "tools/call", call, 2)
    _say("asked")
    result = _read_answer(server.stdout, 2).get("result", {"isError": True})
    _say("failed" if result.get("isError") else "open", json.dumps(result)[:300])
    server.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
