from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from dovetail_console import api_check
from tests.console.console_client import ConsoleClient
from tests.console.pages import browse, make_server, token_of
from tests.console.serving import serve_source
from tests.patience import CAP, wait_until

SOURCE = """
from dovetail import Server

server = Server("shop", version="1")

@server.tool
def add(a: int, b: int) -> int:
    return a + b
"""


def post(app: Any, body: Any) -> httpx.Response:
    async def use(client: httpx.AsyncClient) -> httpx.Response:
        headers = await token_of(client)
        return await client.post("/console/api/check", json=body, headers=headers)

    return browse(app, use)


@pytest.mark.parametrize(
    "body",
    [
        {"server": "none"},
        {"server": "shop", "revision": "2000-01-01"},
        {"server": "shop", "revision": "--replay=/etc"},
        {"server": "shop", "calls": "allow=drop"},
        {"server": "shop", "calls": 1},
    ],
)
def test_only_known_options_reach_the_checker(body: Any) -> None:
    assert post(make_server().http_app(console=True), body).status_code == 400


def test_a_missing_checker_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_check, "has_check", lambda: False)
    answer = post(make_server().http_app(console=True), {"server": "shop"})
    assert answer.status_code == 501
    assert "pip install dovetail-check" in answer.json()["error"]


def test_an_unreachable_server_is_an_event() -> None:
    # Nothing listens at the address of the request, because there is no network here.
    answer = post(make_server().http_app(console=True), {"server": "shop"})
    assert answer.status_code == 200
    assert "event: error" in answer.text


@pytest.mark.slow
def test_a_check_reports_its_progress_and_its_report(tmp_path: Path) -> None:
    with serve_source(SOURCE, tmp_path) as served, ConsoleClient(served.base) as client:
        events = list(client.events("check", {"server": "shop", "revision": "2025-11-25"}))
    progress = [data for event, data in events if event == "progress"]
    assert progress[-1]["done"] == progress[-1]["total"] > 0
    assert all(set(each) == {"done", "total", "text"} for each in progress)
    event, report = events[-1]
    assert event == "report"
    assert report["revisions"] == ["2025-11-25"]
    # Most rules are judged before the last probe has ended, as the report judges them.
    final = {row["id"]: row["verdict"] for row in report["rows"]}
    names = [event for event, _ in events]
    last = len(names) - 1 - names[::-1].index("progress")
    early = {data["id"]: data["verdict"] for event, data in events[:last] if event == "verdict"}
    decided = {id: verdict for id, verdict in early.items() if verdict in ("pass", "fail", "warn")}
    assert len(decided) > 50
    assert {id: final[id] for id in decided} == decided


def _accepted(response: httpx.Response) -> httpx.Response | None:
    return None if response.status_code == 409 else response


@pytest.mark.slow
def test_one_check_runs_at_a_time_and_ends_with_its_page(tmp_path: Path) -> None:
    with serve_source(SOURCE, tmp_path) as served, ConsoleClient(served.base) as client:
        events = client.events("check", {"server": "shop"})
        assert next(events)[0] == "progress"
        [checker] = find_children(served.process.pid)
        second = client.post("check", {"server": "shop"})
        assert second.status_code == 409
        assert "running already" in second.json()["error"]
        events.close()  # type: ignore[attr-defined]
        wait_until(lambda: not Path(f"/proc/{checker}").exists())
        # The process has ended; the console learns of it a moment later.
        wanted = {"server": "shop", "revision": "2025-11-25"}
        again = wait_until(lambda: _accepted(client.post("check", wanted)))
        assert again is not None and "event: report" in again.text


@pytest.mark.slow
def test_the_credentials_of_the_page_are_used_and_are_no_arguments(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    command = [sys.executable, "-m", "dovetail", "keys", "add", "me", "--file", str(keys), "--json"]
    made = subprocess.run(command, capture_output=True, timeout=CAP, check=True)
    key = json.loads(made.stdout)["key"]
    options = ("--keys", str(keys), "--key-header", "X-Api-Key")
    with serve_source(SOURCE, tmp_path, *options) as served:
        for headers in ({"Authorization": f"Bearer {key}"}, {"X-Api-Key": key}):
            with ConsoleClient(served.base, headers) as client:
                events = client.events("check", {"server": "shop", "revision": "2025-11-25"})
                assert next(events)[0] == "progress"
                for child in find_children(served.process.pid):
                    assert key.encode() not in Path(f"/proc/{child}/cmdline").read_bytes()
                *_, (event, report) = events
                assert event == "report"
                assert report["sessions"], report["needs_auth"]
                assert key not in json.dumps(report)


def find_children(parent: int) -> list[int]:
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == parent:
                found.append(int(entry))
    return found
