"""The server that the stdio tests start; its options come as JSON on the command line."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading

from dovetail import Options, Server
from dovetail.transports.stdio import serve_stdio

options = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
server = Server("stdio", options=Options(**options))


@server.tool
async def echo(text: str, times: int = 1) -> str:
    await asyncio.sleep(0)
    return text * times


@server.tool
def print_everywhere() -> str:
    # The ways in which code that knows nothing of MCP writes to stdout.
    print("stray print", flush=True)  # noqa: T201
    sys.stdout.write("stray write\n")
    sys.stdout.flush()
    assert sys.__stdout__ is not None
    sys.__stdout__.write("stray dunder\n")
    sys.__stdout__.flush()
    os.write(1, b"stray descriptor\n")
    subprocess.run(["echo", "stray child"], check=True)
    return "printed"


@server.tool
def read_stdin() -> str:
    child = subprocess.run(["cat"], capture_output=True, check=True)
    return f"{sys.stdin.read()!r} {os.read(0, 10)!r} {child.stdout!r}"


@server.tool
async def nap(seconds: float) -> str:
    # The tests wait for this line on stderr, so that the call is surely in flight.
    sys.stderr.write("napping\n")
    sys.stderr.flush()
    await asyncio.sleep(seconds)
    return "rested"


@server.tool
def hang() -> str:
    sys.stderr.write("napping\n")
    sys.stderr.flush()
    threading.Event().wait()
    return "never"


asyncio.run(serve_stdio(server))
