from __future__ import annotations

from pathlib import Path

import pytest

from tests.console.console_client import ConsoleClient
from tests.console.serving import serve_source

SOURCE = """
from dovetail import Server

server = Server("shop", version="1")

@server.tool
def add(a: int, b: int) -> int:
    return a + b
"""


@pytest.mark.slow
def test_the_traffic_of_all_clients_is_streamed_to_every_page(tmp_path: Path) -> None:
    with serve_source(SOURCE, tmp_path, "--watch") as served:
        one, other = ConsoleClient(served.base), ConsoleClient(served.base)
        assert one.config()["watch"] is True
        ping = {"jsonrpc": "2.0", "id": 7, "method": "ping"}
        accept = {"Accept": "application/json, text/event-stream"}
        one.http.post("/mcp", json=ping, headers=accept)
        for client in (one, other):
            event, frame = next(client.events("traffic"))
            assert event == "frame"
            assert (frame["n"], frame["method"], frame["id"]) == (1, "ping", 7)
        stream = one.events("traffic")
        assert [next(stream)[1]["n"] for _ in range(2)] == [1, 2]
        # The stream is open, and more arrives.
        other.http.post("/mcp", json={**ping, "id": 8}, headers=accept)
        assert next(stream)[1]["id"] == 8
        # An open stream does not keep the server from ending.
        served.stop()
        assert served.process.returncode == 0
        one.close()
        other.close()
