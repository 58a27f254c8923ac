"""SIGTERM: requests on open connections are served, and each response closes its connection."""

from __future__ import annotations

import http.client
import json
from pathlib import Path

import pytest

from tests.deep.shutdown.processes import ERAS, LEGACY, PARSERS, headers_for, params_for, run_http
from tests.deep.shutdown.refusal import is_refused
from tests.patience import CAP, wait_until


def call(connection: http.client.HTTPConnection, headers: dict[str, str], name: str) -> None:
    """Call the tool `wait`, which ends when the file `name` exists."""
    params = params_for("wait", name)
    if "Mcp-Method" not in headers:
        del params["_meta"]
    body = json.dumps({"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": params})
    own = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    connection.request("POST", "/mcp", body, {**own, **headers})


def read_text(connection: http.client.HTTPConnection) -> tuple[str, str | None]:
    """The result, and the Connection header."""
    response = connection.getresponse()
    body = response.read()
    assert response.status == 200, body
    return json.loads(body)["result"]["content"][0]["text"], response.headers["Connection"]


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("era", ERAS)
def test_no_request_on_an_open_connection_is_lost(tmp_path: Path, era: str, parser: str) -> None:
    (tmp_path / "now").touch()
    with run_http(tmp_path, CAP, parser, module="tests.patient") as server:
        headers = server.start_session() if era == LEGACY else headers_for("wait")
        idle, busy = (
            http.client.HTTPConnection("127.0.0.1", server.port, timeout=CAP) for _ in range(2)
        )
        call(idle, headers, "now")
        assert read_text(idle) == ("done", None)
        call(busy, headers, "later")
        server.wait_for_start("later")
        server.terminate()
        wait_until(lambda: is_refused(server.port))
        call(idle, headers, "now")
        assert read_text(idle) == ("done", "close")
        (tmp_path / "later").touch()
        assert read_text(busy) == ("done", "close")
        idle.close()
        busy.close()
        # An idle connection would be kept until the end of the grace period.
        server.disconnect()
        assert server.exit_code() == 0
