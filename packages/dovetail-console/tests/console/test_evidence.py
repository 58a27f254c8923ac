from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from dovetail_console.evidence import ConsoleFrame, write_evidence
from tests.console.console_client import ConsoleClient
from tests.console.pages import browse, make_server, token_of
from tests.console.serving import serve_source
from tests.patience import CAP

URL = "http://127.0.0.1:8000/mcp"
JSON = [["content-type", "application/json"]]
EVENTS = [["content-type", "text/event-stream"]]


def frame(at: float, stream: str, direction: str, message: Any, **http: Any) -> dict[str, Any]:
    text = message if isinstance(message, str) else json.dumps(message)
    return {"at": at, "stream": stream, "direction": direction, "text": text, "http": http or None}


def convert(*frames: dict[str, Any]) -> list[dict[str, Any]]:
    given = msgspec.convert(list(frames), list[ConsoleFrame])
    with zipfile.ZipFile(io.BytesIO(write_evidence(given, "2025-11-25"))) as archive:
        lines = archive.read("evidence/frames.ndjson").splitlines()
    return [json.loads(line) for line in lines]


def test_a_request_and_its_response_become_an_exchange() -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    found = convert(
        frame(10.0, "a", "out", request, method="POST", url=URL, headers=JSON),
        frame(10.5, "a", "in", {"id": 1, "result": {}}, status=200, headers=JSON),
    )
    assert [(each["kind"], each.get("of"), each["at"]) for each in found] == [
        ("sent", None, 0.0),
        ("received", 0, 0.5),
        ("ended", 0, 0.5),
    ]
    assert {each["session"] for each in found} == {"http 2025-11-25"}
    assert {each["tag"] for each in found} == {"walk/tools"}
    assert found[0]["url"] == URL


def test_the_events_of_a_stream_belong_to_its_request() -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    found = convert(
        frame(1.0, "a", "out", call, method="POST", url=URL, headers=[]),
        frame(2.0, "a", "in", {"method": "notifications/progress"}, status=200, headers=EVENTS),
        frame(3.0, "a", "in", {"id": 1, "result": {}}),
    )
    kinds = [(each["kind"], each.get("of")) for each in found]
    assert kinds == [("sent", None), ("received", 0), ("event", 0), ("event", 0), ("ended", 0)]
    assert "text" not in found[1]


def test_the_header_of_a_request_decides_about_the_revision() -> None:
    header = [["mcp-protocol-version", "2026-07-28"]]
    [found] = convert(frame(1.0, "a", "out", {}, method="POST", url=URL, headers=header))
    assert found["session"] == "http 2026-07-28"


def test_messages_without_http_are_matched_by_id() -> None:
    found = convert(
        frame(1.0, "target-1", "out", {"id": 5, "method": "ping"}),
        frame(2.0, "target-1", "in", {"method": "notifications/message"}),
        frame(3.0, "target-1", "in", {"id": 5, "result": {}}),
    )
    assert [each.get("of") for each in found] == [None, None, 0]
    assert found[0]["session"] == "stdio 2025-11-25"


def test_secrets_are_masked() -> None:
    arguments = {"id": 1, "method": "tools/call", "params": {"arguments": {"password": "hunter2"}}}
    headers = [["Authorization", "Bearer hunter2hunter2"]]
    found = convert(frame(1.0, "a", "out", arguments, method="POST", url=URL, headers=headers))
    assert "hunter2" not in json.dumps(found)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"frames": 1, "revision": "2025-11-25"},
        {"frames": [{"at": "x"}], "revision": "2025-11-25"},
        {"frames": [], "revision": "2000-01-01"},
    ],
)
def test_wrong_frames_are_refused(body: Any) -> None:
    async def use(client: httpx.AsyncClient) -> int:
        headers = await token_of(client)
        return (await client.post("/console/api/evidence", json=body, headers=headers)).status_code

    assert browse(make_server().http_app(console=True), use) == 400


SOURCE = """
from dovetail import Server

server = Server("shop", version="1")

@server.tool
def add(a: int, b: int) -> int:
    return a + b
"""


@pytest.mark.slow
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_the_checker_replays_what_the_console_has_watched(tmp_path: Path, revision: str) -> None:
    with serve_source(SOURCE, tmp_path, "--watch") as served:
        call = [sys.executable, "-m", "dovetail", "call", served.urls[0], "add", "a=1", "b=2"]
        subprocess.run([*call, "--mode", revision], check=True, timeout=CAP, capture_output=True)
        client = ConsoleClient(served.base)
        frames: list[dict[str, Any]] = []
        for _, found in client.events("traffic"):
            frames.append(found)
            if "tools/call" in [each["method"] for each in frames] and found["direction"] == "in":
                break
        answer = client.post("evidence", {"frames": frames, "revision": revision})
        client.close()
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        archive.extractall(tmp_path)
    replayed = subprocess.run(
        [
            *(sys.executable, "-m", "dovetail", "check", "--replay", str(tmp_path / "evidence")),
            *("--format", "json"),
        ],
        capture_output=True,
        timeout=CAP,
        check=False,
    )
    report = json.loads(replayed.stdout)
    assert replayed.returncode == 0, replayed.stdout
    assert report["revisions"] == [revision]
    passed = [row["id"] for row in report["rows"] if row["verdict"] == "pass"]
    assert any(id.startswith("tools.") for id in passed), passed
