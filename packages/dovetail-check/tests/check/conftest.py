"""The saboteur, served over HTTP by one uvicorn for the whole run."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator

import pytest
import uvicorn

from tests.check.saboteur import guarded
from tests.check.saboteur.over_http import app
from tests.patience import CAP


@pytest.fixture(scope="session")
def saboteur_url() -> Iterator[str]:
    """Where `/SWITCH/mcp` is; guarded servers are elsewhere (`guarded.url_of`)."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(256)
    # Some broken servers never end their streams.
    config = uvicorn.Config(
        app, ws="none", log_level="critical", lifespan="on", timeout_graceful_shutdown=1
    )
    running = uvicorn.Server(config)
    listeners = [listener, *guarded.listen()]
    thread = threading.Thread(target=lambda: asyncio.run(running.serve(listeners)), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    running.should_exit = True
    thread.join(CAP)
