"""A server that takes API keys and no OAuth: requirements about OAuth do not apply to it."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from dovetail.auth import ApiKeys, Guard, KeyFile
from dovetail_check.audit import Audit, AuditOptions, NeedsAuthError
from dovetail_check.judging import RowReport, judge_recording
from dovetail_check.rules import tasks_results
from dovetail_check.targets import CheckTarget
from dovetail_check.verdicts import Verdict
from tests.check.saboteur.healthy import server
from tests.deep.check.test_guarded import Recorder, Request
from tests.deep.check.test_matrix import show
from tests.patience import CAP

DEVIATIONS = (Verdict.FAIL, Verdict.WARN)
OAUTH = ("auth.prm.exists", "auth.prm.discovery", "auth.prm.www-authenticate")
OLD_OAUTH = ("auth.b.metadata", "auth.b.default-endpoints")
BEARER = ("auth.status-codes", "auth.token.invalid-401", "auth.token.error-format")


@pytest.fixture(autouse=True)
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine every answer is slow."""
    monkeypatch.setattr(tasks_results, "SLOW", CAP)


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The URL of our own server behind API keys, and a key."""
    path: Path = tmp_path_factory.mktemp("keys") / "keys.json"
    _, key = KeyFile(path).add("anna", [])
    guard = Guard(ApiKeys(path, header="X-Api-Key"))
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    running = uvicorn.Server(
        uvicorn.Config(server.http_app(guard=guard), ws="none", log_level="critical")
    )
    thread = threading.Thread(target=lambda: asyncio.run(running.serve([listener])), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", key
    running.should_exit = True
    thread.join(CAP)


def check(url: str, headers: dict[str, str]) -> dict[str, RowReport]:
    target = CheckTarget(transport="http", url=url, headers=headers)
    try:
        recording = asyncio.run(Audit(target, AuditOptions(timeout=60.0)).run())
    except NeedsAuthError as error:
        recording = error.recording
    return {report.row.id: report for report in judge_recording(recording)}


def deviations(reports: dict[str, RowReport]) -> list[str]:
    return [show(report) for report in reports.values() if report.verdict in DEVIATIONS]


@pytest.mark.parametrize("header", ["Authorization", "X-Api-Key"])
def test_a_server_behind_api_keys_is_clean(keyed: tuple[str, str], header: str) -> None:
    url, key = keyed
    reports = check(url, {header: f"Bearer {key}" if header == "Authorization" else key})
    assert deviations(reports) == []
    for id in (*OAUTH, *OLD_OAUTH):
        assert reports[id].verdict is Verdict.NOT_APPLICABLE, show(reports[id])
        assert "no sign of OAuth" in show(reports[id])
    assert reports["auth.401-when-needed"].verdict is not Verdict.NOT_APPLICABLE


def test_from_outside_it_is_clean_too(keyed: tuple[str, str]) -> None:
    reports = check(keyed[0], {})
    assert deviations(reports) == []
    assert reports["auth.token.validate"].verdict is Verdict.PASS


def answers(status: int, *, endpoints: int = 404, document: bool = False) -> Recorder:
    """A guard that answers 200 to the right X-Api-Key, and `status` without it."""

    def answer(request: Request) -> tuple[int, dict[str, str], bytes]:
        _, path, _ = request.line.split(" ")
        json_type = {"content-type": "application/json"}
        if path == "/.well-known/oauth-authorization-server" and document:
            return 200, json_type, b'{"issuer": "https://example.org"}'
        if path != "/mcp":
            return endpoints, {}, b""
        if request.headers.get("x-api-key") != "the-right-key":
            return status, {}, b""
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "serverInfo": {"name": "keyed", "version": "1"},
        }
        return 200, json_type, json.dumps({"jsonrpc": "2.0", "id": 1, "result": hello}).encode()

    return Recorder(answer)


def look(recorder: Recorder) -> dict[str, RowReport]:
    found: dict[str, RowReport] = {}

    async def work() -> None:
        found.update(await asyncio.to_thread(check, f"{recorder.url}/mcp", KEY))

    asyncio.run(recorder.serve(work))
    return found


KEY = {"X-Api-Key": "the-right-key"}


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("endpoints", [401, 403, 404, 405])
def test_no_rule_about_tokens_fires_on_keys_in_a_header(status: int, endpoints: int) -> None:
    reports = look(answers(status, endpoints=endpoints))
    ids = (*OAUTH, *BEARER)
    assert {id: reports[id].verdict for id in ids} == dict.fromkeys(ids, Verdict.NOT_APPLICABLE)


@pytest.mark.parametrize("recorder", [answers(401, document=True), answers(401, endpoints=400)])
def test_a_sign_of_oauth_is_enough(recorder: Recorder) -> None:
    """Metadata of an authorization server, or an endpoint that rejects a request without params."""
    reports = look(recorder)
    assert {reports[id].verdict for id in ("auth.prm.exists", "auth.prm.discovery")} == {
        Verdict.FAIL
    }
