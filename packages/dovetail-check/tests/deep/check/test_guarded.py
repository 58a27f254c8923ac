"""A server that wants credentials: it is judged with them, and from outside without."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dovetail.spec.revisions import REVISIONS
from dovetail_check.audit import Audit, AuditOptions, NeedsAuthError
from dovetail_check.judging import judge_recording
from dovetail_check.probe_sessions import PRE_AUTH, Run
from dovetail_check.probes.authorization import MAX_BYTES
from dovetail_check.recording import Recording
from dovetail_check.rulebook import rules
from dovetail_check.targets import CheckTarget
from dovetail_check.verdicts import Verdict
from tests.check.saboteur import guarded
from tests.deep.check.test_matrix import show

WITH_TOKEN = {"Authorization": f"Bearer {guarded.TOKEN}"}
VIOLATED = (Verdict.FAIL, Verdict.WARN)


def look_from_outside(url: str, headers: dict[str, str] | None = None) -> Recording:
    target = CheckTarget(transport="http", url=url, headers=headers or {})
    with pytest.raises(NeedsAuthError) as caught:
        asyncio.run(Audit(target, AuditOptions(timeout=60.0)).run())
    return caught.value.recording


@pytest.fixture
def healthy_url(saboteur_url: str) -> str:
    return guarded.url_of(guarded.HEALTHY)


def test_nothing_fires_from_outside(healthy_url: str) -> None:
    reports = judge_recording(look_from_outside(healthy_url))
    assert [show(report) for report in reports if report.verdict in VIOLATED] == []
    passed = {report.row.id for report in reports if report.verdict is Verdict.PASS}
    assert passed >= {"auth.401-when-needed", "auth.prm.exists", "auth.as.metadata"}
    # All requests were rejected, so no other requirement can pass.
    assert {id.partition(".")[0] for id in passed} == {"auth"}


def test_nothing_of_authorization_fires_with_a_token(healthy_url: str) -> None:
    target = CheckTarget(transport="http", url=healthy_url, headers=WITH_TOKEN)
    recording = asyncio.run(Audit(target, AuditOptions()).run())
    reports = judge_recording(recording)
    assert [show(report) for report in reports if report.verdict in VIOLATED] == []
    passed = {report.row.id for report in reports if report.verdict is Verdict.PASS}
    assert passed >= {"auth.token.every-request", "sbp.session-not-auth", "auth.b.metadata"}
    assert guarded.TOKEN not in "".join(map(repr, recording.frames))


def test_without_a_guard_the_rules_do_not_apply(saboteur_url: str) -> None:
    target = CheckTarget(transport="http", url=f"{saboteur_url}/healthy/mcp")
    options = AuditOptions(probes=("authorization",))
    recording = asyncio.run(Audit(target, options).run())
    guarding = [id for id in rules if id.startswith("auth.")]
    verdicts = {report.verdict for report in judge_recording(recording, only=guarding)}
    assert verdicts == {Verdict.NOT_APPLICABLE}
    assert not any(frame.connection.startswith(PRE_AUTH) for frame in recording.frames)


def test_without_credentials_the_newest_offered_revision_is_used(healthy_url: str) -> None:
    recording = look_from_outside(healthy_url)
    [run] = [Run("http", recording.frames)]
    assert run.sessions == []
    assert [session.revision for session in run.pre_auth_sessions] == [REVISIONS[-1]]
    [report] = judge_recording(recording, only=["auth.401-when-needed"])
    assert [finding.session for finding in report.findings] == [
        f"http {REVISIONS[-1]}, unauthenticated"
    ]


def test_a_rejected_token_is_reported(healthy_url: str) -> None:
    target = CheckTarget(
        transport="http", url=healthy_url, headers={"Authorization": "Bearer some-other-token"}
    )
    with pytest.raises(NeedsAuthError, match="other credentials"):
        asyncio.run(Audit(target, AuditOptions(timeout=60.0)).run())


# -- hosts that the checker contacts ---------------------------------------------------------------


class Request(NamedTuple):
    line: str
    headers: dict[str, str]


Answer = Callable[[Request], tuple[int, dict[str, str], bytes]]


class Recorder:
    """A small HTTP server that remembers what it was asked."""

    def __init__(self, answer: Answer) -> None:
        self.asked: list[Request] = []
        self._answer = answer
        self.url = ""

    async def serve(self, work: Callable[[], Awaitable[Any]]) -> None:
        server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server:
            await work()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            writer.close()
            return
        line, *rest = head.decode().split("\r\n")
        headers = {n.lower(): v for n, _, v in (one.partition(": ") for one in rest) if n}
        request = Request(line, headers)
        self.asked.append(request)
        status, more, body = self._answer(request)
        more = {**more, "content-length": str(len(body)), "connection": "close"}
        lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in more.items())]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        writer.close()


def nobody(request: Request) -> tuple[int, dict[str, str], bytes]:
    return 404, {}, b""


def guard(document: Callable[[], bytes], named: str = "") -> Answer:
    """Refuses everybody, and has one document about itself."""

    def answer(request: Request) -> tuple[int, dict[str, str], bytes]:
        if request.line.startswith("GET /.well-known/oauth-protected-resource "):
            return 200, {"content-type": "application/json"}, document()
        return 401, {"www-authenticate": f'Bearer resource_metadata="{named}"'}, b""

    return answer


async def _look(server: Recorder, headers: dict[str, str]) -> Recording:
    target = CheckTarget(transport="http", url=f"{server.url}/mcp", headers=headers)
    try:
        await Audit(target, AuditOptions(timeout=60.0)).run()
    except NeedsAuthError as error:
        return error.recording
    raise AssertionError("it let us in")


def look_at(document: Callable[[str], Any], issuer: Recorder, named: str = "") -> Recording:
    """Look at a guarded server whose document names an authorization server."""
    found: list[Recording] = []
    server = Recorder(guard(lambda: json.dumps(document(issuer.url)).encode(), named))

    async def work() -> None:
        headers = {"Authorization": "Bearer some-secret-token", "X-Api-Key": "some-secret-key"}
        found.append(await _look(server, headers))

    asyncio.run(issuer.serve(lambda: server.serve(work)))
    return found[0]


def test_authorization_servers_get_no_credentials_and_nothing_but_get() -> None:
    issuer = Recorder(nobody)
    look_at(lambda url: {"resource": "x", "authorization_servers": [url]}, issuer)
    assert len(issuer.asked) == 2
    assert {request.line.partition(" ")[0] for request in issuer.asked} == {"GET"}
    told = [name for request in issuer.asked for name in request.headers]
    assert not {"authorization", "x-api-key", "cookie"}.intersection(told)


def test_metadata_of_the_resource_is_not_fetched_from_elsewhere() -> None:
    issuer = Recorder(nobody)
    recording = look_at(lambda url: {}, issuer, named="http://127.0.0.1:1/metadata")
    fetched = [frame.url for frame in recording.frames if frame.method == "GET"]
    assert fetched
    assert not any("127.0.0.1:1/" in str(url) for url in fetched)


def test_an_endless_document_is_truncated() -> None:
    def endless(request: Request) -> tuple[int, dict[str, str], bytes]:
        return 200, {"content-type": "application/json"}, b" " * (MAX_BYTES + 1_000_000)

    issuer = Recorder(endless)
    recording = look_at(lambda url: {"authorization_servers": [url]}, issuer)
    sizes = [len(frame.data) for frame in recording.frames if frame.kind == "received"]
    assert max(sizes) < MAX_BYTES + 100_000
    assert any("is larger than" in (frame.text or "") for frame in recording.frames)


VALUES: list[Any] = [None, 7, "text", {}, [None, 7, {}], ["", "x", "http://[bad", "https://a b/"]]


def strange_documents() -> Iterator[Any]:
    yield from (None, [], 7, "text", {})
    names = ("resource", "authorization_servers", "scopes_supported")
    for value in VALUES:
        yield dict.fromkeys(names, value)


@pytest.mark.parametrize("document", list(strange_documents()), ids=repr)
def test_whatever_the_document_is_it_is_judged(document: Any) -> None:
    issuer = Recorder(nobody)
    recording = look_at(lambda url: document, issuer)
    verdicts = {report.row.id: report.verdict for report in judge_recording(recording)}
    assert issuer.asked == []
    is_object = isinstance(document, dict)
    assert (verdicts["auth.prm.authorization-servers"] is Verdict.FAIL) is (
        is_object and not _is_a_list_of_words(document.get("authorization_servers"))
    )
    assert (verdicts["auth.prm.exists"] is Verdict.PASS) is is_object


def _is_a_list_of_words(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value)


@pytest.mark.parametrize("value", [None, 7, "text", {}, [None, {}], ["http://[bad"]], ids=repr)
def test_whatever_the_authorization_server_says_it_is_judged(value: Any) -> None:
    names = (
        "issuer",
        "token_endpoint",
        "jwks_uri",
        "code_challenge_methods_supported",
        "grant_types_supported",
    )

    def strange(request: Request) -> tuple[int, dict[str, str], bytes]:
        body = json.dumps(dict.fromkeys(names, value)).encode()
        return 200, {"content-type": "application/json"}, body

    recording = look_at(lambda url: {"authorization_servers": [url]}, Recorder(strange))
    verdicts = {report.row.id: report.verdict for report in judge_recording(recording)}
    assert verdicts["auth.as.metadata"] is Verdict.PASS
    assert verdicts["auth.as.pkce-advertised"] is Verdict.FAIL
    assert verdicts["auth.https"] is Verdict.FAIL


def test_only_the_document_that_clients_take_is_held_against_the_server() -> None:
    """At the root there may be the metadata of another server on the same host."""
    paths = {
        "/.well-known/oauth-protected-resource": "/other",
        "/.well-known/oauth-protected-resource/mcp": "/mcp",
    }
    server = Recorder(lambda request: answer(request))

    def answer(request: Request) -> tuple[int, dict[str, str], bytes]:
        path = request.line.split(" ")[1]
        if path not in paths:
            return 401, {"www-authenticate": "Bearer"}, b""
        members = {"resource": server.url + paths[path], "authorization_servers": ["x"]}
        return 200, {"content-type": "application/json"}, json.dumps(members).encode()

    found: list[Recording] = []

    async def work() -> None:
        found.append(await _look(server, {}))

    asyncio.run(server.serve(work))
    [report] = judge_recording(found[0], only=["auth.prm.resource-matches"])
    assert report.verdict is Verdict.PASS, show(report)


def test_a_recording_read_back_is_judged_the_same(healthy_url: str, tmp_path: Path) -> None:
    recording = look_from_outside(healthy_url)
    recording.save(tmp_path / "frames.ndjson")
    again = Recording.read(tmp_path / "frames.ndjson")
    assert judge_recording(again) == judge_recording(recording)
