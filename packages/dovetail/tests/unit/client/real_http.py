"""Servers on real sockets: ours in a thread, others in separate processes."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import uvicorn

from tests.patience import CAP

ROOT = Path(__file__).parents[5]

_RUN = """
import socket, sys, uvicorn
from tests.peers.{module} import server
from tests.unit.client.real_http import as_before_the_modern_era
listener = socket.socket(fileno=int(sys.argv[1]))
options = {{"loop": "asyncio", "ws": "none", "log_level": "error", "timeout_graceful_shutdown": 1}}
config = uvicorn.Config({app}, **options)
uvicorn.Server(config).run(sockets=[listener])
"""


@contextlib.contextmanager
def serving(app: Any, path: str = "/mcp") -> Iterator[str]:
    """Serve an application on a thread of this process."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, loop="asyncio", ws="none", log_level="error", timeout_graceful_shutdown=1
    )
    runner = uvicorn.Server(config)
    thread = threading.Thread(target=runner.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}{path}"
    finally:
        runner.should_exit = True
        thread.join(CAP)
        listener.close()


@contextlib.contextmanager
def serving_peer(module: str, app: str, path: str = "/mcp") -> Iterator[str]:
    """Serve the expression `app` about the `server` of a module of tests/peers.

    The listening socket is made here and inherited: a client may connect at once, and waits in
    the queue until the server is there.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        process = subprocess.Popen(
            [sys.executable, "-c", _RUN.format(module=module, app=app), str(listener.fileno())],
            cwd=ROOT,
            pass_fds=[listener.fileno()],
            stderr=subprocess.DEVNULL,
        )
    try:
        yield f"http://127.0.0.1:{port}{path}"
    finally:
        process.terminate()
        try:
            process.wait(CAP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def as_before_the_modern_era(app: Any) -> Callable[..., Awaitable[None]]:
    """The application as its releases of last year were: it does not know the modern header,
    by which alone the official SDK tells the eras apart.
    """

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            kept = [
                (name, value)
                for name, value in scope["headers"]
                if name != b"mcp-protocol-version" or value < b"2026"
            ]
            scope = {**scope, "headers": kept}
        await app(scope, receive, send)

    return serve
