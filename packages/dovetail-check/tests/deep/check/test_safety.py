"""The contract: what a check does to a server that trusts it with dangerous tools."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
import uvicorn

from dovetail import Server, ToolAnnotations
from dovetail.errors import UsageError
from dovetail.spec.revisions import REVISIONS
from dovetail_check.audit import Audit, AuditOptions
from dovetail_check.exchanges import parse
from dovetail_check.judging import judge_recording
from dovetail_check.recording import Recording
from dovetail_check.safety import SafetyPolicy, UnsafeProbeError, is_loopback
from dovetail_check.targets import CheckTarget
from tests.deep.check.test_matrix import target_for
from tests.patience import CAP

MODERN = REVISIONS[-1]
READ_ONLY = ToolAnnotations(read_only_hint=True)
DESTRUCTIVE = ToolAnnotations(destructive_hint=True)


class Reached(NamedTuple):
    """One call that got through to a handler."""

    tool: str
    arguments: dict[str, Any]


class Minefield(NamedTuple):
    """A server whose handlers tell that they were reached."""

    url: str
    reached: list[Reached]

    def names(self) -> set[str]:
        return {call.tool for call in self.reached}


def lay_mines(reached: list[Reached], *, with_read_only: bool) -> Server:
    server = Server("minefield", version="1.0.0")

    async def peek(page: int, mark: str = "x") -> str:
        reached.append(Reached("peek", {"page": page, "mark": mark}))
        return "seen"

    async def write(page: int) -> str:
        reached.append(Reached("write", {"page": page}))
        return "written"

    async def wipe(page: int) -> str:
        reached.append(Reached("wipe", {"page": page}))
        return "gone"

    async def launch() -> str:
        reached.append(Reached("launch", {}))
        return "launched"

    if with_read_only:
        server.tools.add(peek, annotations=READ_ONLY)
    server.tools.add(write)
    server.tools.add(wipe, annotations=DESTRUCTIVE)
    server.tools.add(launch)
    return server


@contextmanager
def served(app: Any) -> Iterator[str]:
    """Where an application is served, for a while."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(256)
    running = uvicorn.Server(uvicorn.Config(app, ws="none", log_level="critical"))
    thread = threading.Thread(target=lambda: asyncio.run(running.serve([listener])), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    running.should_exit = True
    thread.join(CAP)


@pytest.fixture(params=[True, False], ids=["a read-only tool", "no read-only tool"])
def minefield(request: pytest.FixtureRequest) -> Iterator[Minefield]:
    reached: list[Reached] = []
    app = lay_mines(reached, with_read_only=request.param).http_app(path="/mcp")
    with served(app) as url:
        yield Minefield(f"{url}/mcp", reached)


def check(url: str, calls: str = "") -> Recording:
    target = CheckTarget(transport="http", url=url)
    return asyncio.run(Audit(target, AuditOptions(calls=calls)).run())


# -- what reaches handlers -------------------------------------------------------------------------


def test_by_default_only_read_only_tools_are_reached(minefield: Minefield) -> None:
    recording = check(minefield.url)
    assert minefield.names() <= {"peek"}
    # The run was no empty one: what may be called was called, the rest was asked for in vain.
    if "peek" in listed_names(recording):
        assert "peek" in minefield.names()
    assert all(isinstance(call.arguments["page"], int) for call in minefield.reached)


def test_without_calls_nothing_is_reached(minefield: Minefield) -> None:
    recording = check(minefield.url, "none")
    assert minefield.reached == []
    called = {call.get("name") for call in calls_in(recording)}
    assert called.isdisjoint(listed_names(recording))


def test_a_tool_that_is_named_is_reached_and_no_other(minefield: Minefield) -> None:
    check(minefield.url, "allow=write")
    assert "write" in minefield.names()
    assert minefield.names() <= {"write", "peek"}


# -- what goes out ---------------------------------------------------------------------------------


def sessions_of(recording: Recording) -> list[Recording]:
    """One for each revision: only from some on do tools say that they are read-only."""
    parts: dict[str, Recording] = {}
    for frame in recording.frames:
        parts.setdefault(frame.session, Recording()).frames.append(frame)
    return list(parts.values())


def calls_in(recording: Recording) -> list[dict[str, Any]]:
    """The params of every tools/call that went out, however it was wrapped."""
    found = []
    for frame in recording.frames:
        if frame.kind == "sent" and b"tools/call" in frame.data:
            value = parse(frame.data)
            for message in value if isinstance(value, list) else [value]:
                if isinstance(message, dict) and message.get("method") == "tools/call":
                    params = message.get("params")
                    found.append(params if isinstance(params, dict) else {})
    return found


def tools_in(recording: Recording) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for frame in recording.frames:
        if frame.kind in ("received", "event") and b'"tools":[' in frame.data:
            value = parse(frame.data)
            result = value.get("result") if isinstance(value, dict) else None
            found += (result or {}).get("tools") or []
    return found


def listed_names(recording: Recording) -> set[str]:
    return {tool["name"] for tool in tools_in(recording)}


def why_allowed(call: dict[str, Any], tools: list[dict[str, Any]]) -> str | None:
    """Why a call may go out, by the word of another library than the checker's."""
    mine = [tool for tool in tools if tool["name"] == call.get("name")]
    if not mine:
        return "unknown"
    if all((tool.get("annotations") or {}).get("readOnlyHint") is True for tool in mine):
        return "read-only"
    return None


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_every_call_of_a_full_check_is_allowed_or_unknown(
    transport: str, saboteur_url: str
) -> None:
    target = target_for(None, transport, saboteur_url)
    recording = asyncio.run(Audit(target, AuditOptions()).run())
    judged = [
        (call, why_allowed(call, tools_in(session)))
        for session in sessions_of(recording)
        for call in calls_in(session)
    ]
    assert {"unknown", "read-only"} <= {reason for _, reason in judged}
    assert [call for call, reason in judged if reason is None] == []


def test_tools_that_are_not_read_only_get_no_call_at_all(minefield: Minefield) -> None:
    """Not even one that must fail: destructiveHint is true unless a tool says otherwise."""
    called = {call.get("name") for call in calls_in(check(minefield.url))}
    assert called.isdisjoint({"write", "wipe", "launch"})
    called = {call.get("name") for call in calls_in(check(minefield.url, "allow=write"))}
    assert called & {"write", "wipe", "launch"} == {"write"}


# -- where a server points ------------------------------------------------------------------------


class Lure:
    """A server of the modern era whose schemas point at itself, and which counts who follows."""

    def __init__(self) -> None:
        self.followed: list[str] = []
        self.listed = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        if scope["path"] != "/mcp":
            self.followed.append(scope["path"])
        port = scope["server"][1]
        reply = self._answer(parse(body), f"http://127.0.0.1:{port}")
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(reply).encode()})

    def _answer(self, asked: Any, here: str) -> dict[str, Any]:
        asked = asked if isinstance(asked, dict) else {}
        hints = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": asked.get("id")}
        if asked.get("method") == "server/discover":
            info = {"name": "lure", "version": "1"}
            declared = {"capabilities": {"tools": {}}, "serverInfo": info}
            return reply | {"result": {**hints, "supportedVersions": [MODERN.date], **declared}}
        if asked.get("method") == "tools/list":
            self.listed += 1
            return reply | {"result": {**hints, "tools": lures(here)}}
        if asked.get("method") == "tools/call":
            return reply | {"result": {**hints, "content": [], "structuredContent": {"a": 1}}}
        return reply | {"error": {"code": -32601, "message": "Method not found"}}


def lures(here: str) -> list[dict[str, Any]]:
    """Tools whose schemas lead elsewhere, in each of the ways a schema can."""
    pointing: list[dict[str, Any]] = [
        {"$ref": f"{here}/ref"},
        {"$schema": f"{here}/dialect"},
        {"$id": f"{here}/id/", "properties": {"a": {"$ref": "relative"}}},
        {"properties": {"a": {"$schema": f"{here}/inner-dialect", "$ref": f"{here}/inner"}}},
        {"$dynamicRef": f"{here}/dynamic"},
    ]
    schemas = [{"type": "object", "required": ["a"], **schema} for schema in pointing]
    hints: list[dict[str, bool]] = [{"readOnlyHint": True}, {}]
    return [
        {
            "name": f"lure{number}-{len(hint)}",
            "inputSchema": schema,
            "outputSchema": schema,
            "annotations": hint,
        }
        for number, schema in enumerate(schemas)
        for hint in hints
    ] + [{"name": "fine", "inputSchema": {"type": "object"}, "annotations": hints[0]}]


def test_nothing_that_a_schema_points_to_is_fetched() -> None:
    lure = Lure()
    with served(lure) as url:
        judge_recording(check(f"{url}/mcp"))
        # Other pages ask the server itself under other paths; none of those is in a schema.
        pointed = {path for path in lure.followed if path.strip("/") in POINTED_TO}
    assert lure.listed > 0
    assert pointed == set()


POINTED_TO = ("ref", "dialect", "id", "id/relative", "inner", "inner-dialect", "dynamic")


# -- the policy ------------------------------------------------------------------------------------

PEEK = {
    "name": "peek",
    "annotations": {"readOnlyHint": True},
    "inputSchema": {"type": "object", "required": ["a"]},
}
WRITE = {"name": "write", "inputSchema": {"type": "object", "required": ["a"]}}
LAUNCH = {"name": "launch", "inputSchema": {"type": "object"}}


@pytest.mark.parametrize(
    ("url", "calls"),
    [
        ("http://127.0.0.1:8000/mcp", "readonly"),
        ("http://localhost/mcp", "readonly"),
        ("http://[::1]:8000/mcp", "readonly"),
        ("https://example.com/mcp", "none"),
        ("http://10.0.0.1/mcp", "none"),
        ("http://127.0.0.1.example.com/mcp", "none"),
        ("http://localhost@example.com/mcp", "none"),
    ],
)
def test_on_other_machines_the_default_is_to_call_nothing(url: str, calls: str) -> None:
    assert is_loopback(url) is (calls == "readonly")
    target = CheckTarget(transport="http", url=url)
    assert SafetyPolicy("", is_local=target.is_local).calls == calls


def test_a_command_runs_on_this_machine() -> None:
    assert CheckTarget(transport="stdio", command=("server",)).is_local


@pytest.mark.parametrize(
    ("calls", "tool", "arguments", "may_go"),
    [
        ("readonly", PEEK, {"a": 1}, True),
        ("readonly", WRITE, {"a": 1}, False),
        ("readonly", WRITE, {}, False),
        ("allow=write", WRITE, {}, True),
        ("readonly", LAUNCH, {}, False),
        ("readonly", LAUNCH, {"strange": 1}, False),
        ("none", PEEK, {"a": 1}, False),
        ("none", WRITE, {}, False),
        ("allow=write", WRITE, {"a": 1}, True),
        ("allow=write", LAUNCH, {}, False),
        ("allow=launch,write", LAUNCH, {}, True),
    ],
)
def test_the_policy_has_the_last_word(
    calls: str, tool: dict[str, Any], arguments: dict[str, Any], may_go: bool
) -> None:
    policy = SafetyPolicy(calls, is_local=True)
    params = {"name": tool["name"], "arguments": arguments}
    if may_go:
        policy.check_call([tool], params)
    else:
        with pytest.raises(UnsafeProbeError, match=tool["name"]):
            policy.check_call([tool], params)


def test_a_name_that_two_tools_share_is_as_dangerous_as_the_worse_one() -> None:
    policy = SafetyPolicy("readonly", is_local=True)
    twins = [PEEK, {**WRITE, "name": "peek"}]
    with pytest.raises(UnsafeProbeError):
        policy.check_call(twins, {"name": "peek", "arguments": {"a": 1}})


@pytest.mark.parametrize("hint", ["true", 1, None, {}])
def test_only_true_itself_says_read_only(hint: Any) -> None:
    policy = SafetyPolicy("readonly", is_local=True)
    assert not policy.may_call({"name": "x", "annotations": {"readOnlyHint": hint}})


def test_an_unknown_policy_is_rejected() -> None:
    with pytest.raises(UsageError, match="everything"):
        SafetyPolicy("everything", is_local=True)
