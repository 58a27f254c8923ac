"""A whole session with the example, every message of ours judged by the official models."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from mcp_types import methods
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from dovetail.server import Server
from tests.deep.interop.greenhouse import load_greenhouse
from tests.interop.wire_models import Conversation, check_message
from tests.patience import CAP

VERSIONS = (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)
META = "io.modelcontextprotocol/"
CAPABILITIES: dict[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}, "context": {}},
    "roots": {"listChanged": True},
}
JOURNAL = "greenhouse://journal"


class Wire:
    """A client that speaks JSON by hand and has every message judged."""

    def __init__(self, server: Server, version: str) -> None:
        self.server = server
        self.version = version
        self.conversation = Conversation(version)
        self.is_modern = version in MODERN_PROTOCOL_VERSIONS
        self.answers: Callable[[dict[str, Any]], dict[str, Any] | None] = answer_question
        # Raised where the server sends, a problem would look like one of its handler.
        self.problems: list[AssertionError] = []
        self._last_id = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._heard: dict[str, asyncio.Event] = {}
        self._connection = server.connect(self._take)

    def _take(self, data: bytes) -> None:
        message: dict[str, Any] = json.loads(data)
        try:
            self.conversation.received(message)
        except AssertionError as problem:
            self.problems.append(problem)
        if "method" not in message:
            if (waiting := self._waiting.pop(message.get("id", 0), None)) is not None:
                waiting.set_result(message)
            return
        self.event(message["method"]).set()
        if "id" in message and (result := self.answers(message)) is not None:
            self.post({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def event(self, method: str) -> asyncio.Event:
        """Set when a message of this method arrives."""
        return self._heard.setdefault(method, asyncio.Event())

    def post(self, message: dict[str, Any]) -> None:
        self.conversation.sent(message)
        self._connection.receive(json.dumps(message).encode())

    def post_raw(self, data: bytes) -> None:
        self._connection.receive(data)

    def start(self, method: str, params: dict[str, Any]) -> asyncio.Future[dict[str, Any]]:
        self._last_id += 1
        future = asyncio.get_running_loop().create_future()
        self._waiting[self._last_id] = future
        if self.is_modern:
            envelope = {
                f"{META}protocolVersion": self.version,
                f"{META}clientCapabilities": CAPABILITIES,
                f"{META}logLevel": "debug",
            }
            params = {**params, "_meta": {**envelope, **params.get("_meta", {})}}
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        self.post(message)
        return future

    def cancel_last(self) -> None:
        params = {"requestId": self._last_id, "reason": "not needed"}
        self.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The final answer; what the server wants to know on the way is answered."""
        params = params or {}
        async with asyncio.timeout(CAP):
            response = await self.start(method, params)
            while response.get("result", {}).get("resultType") == "input_required":
                result = response["result"]
                given = {key: self.answers(q) for key, q in result["inputRequests"].items()}
                again = {"inputResponses": given, "requestState": result["requestState"]}
                response = await self.start(method, {**params, **again})
        return response

    async def result(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        response = await self.ask(method, params)
        assert "result" in response, response
        found: dict[str, Any] = response["result"]
        return found

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        params = {"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}}
        return await self.result("tools/call", params)

    async def list_all(self, method: str, member: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        page = await self.result(method)
        while True:
            found += page[member]
            if "nextCursor" not in page:
                return found
            page = await self.result(method, {"cursor": page["nextCursor"]})

    async def close(self) -> None:
        await self._connection.close()
        await self.server.close()
        if self.problems:
            raise self.problems[0]


def answer_question(question: dict[str, Any]) -> dict[str, Any] | None:
    params = question.get("params", {})
    if question["method"] == "roots/list":
        return {"roots": [{"uri": "file:///garden", "name": "garden"}]}
    if question["method"] == "sampling/createMessage":
        reply = {"role": "assistant", "model": "m", "stopReason": "endTurn"}
        use = {"type": "tool_use", "id": "u", "name": "thermometer", "input": {"bed": "north"}}
        wants_tool = "tools" in params and len(params["messages"]) == 1
        return {**reply, "content": use if wants_tool else {"type": "text", "text": "peat"}}
    assert question["method"] == "elicitation/create"
    contents = {
        "What shall I sow?": {"plant": "basil", "bed": "south"},
        "Which pot for the fern?": {"size": "large"},
        "Repot into peat?": {"sure": True},
        "Which month is it?": {"month": "June"},
    }
    content = contents.get(params["message"])
    return {"action": "accept"} | ({} if content is None else {"content": content})


TOOL_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("water", {"bed": "north", "litres": 2}),
    ("to_fahrenheit", {"celsius": 20}),
    ("measure", {"bed": "south"}),
    ("photo", {"bed": "east"}),
    ("look_closely", {"bed": "north"}),
    ("count_leaves", {"bed": "north"}),
    ("harvest", {"bed": "east"}),
    ("drop_pot", {}),
    ("grow", {"days": 3}),
    ("inspect_pipes", {}),
    ("sow", {}),
    ("order_seeds", {"packets": 2}),
    ("ask_gardener", {"question": "Why?"}),
    ("plan_day", {"goal": "Keep it warm."}),
    ("list_folders", {}),
    ("repot", {"plant": "fern"}),
    ("note", {"text": "bad arguments follow"}),
    ("water", {"bed": 7}),
]


async def open_session(wire: Wire) -> None:
    if wire.is_modern:
        await wire.result("server/discover")
        wanted = {"toolsListChanged": True, "promptsListChanged": True}
        wanted |= {"resourcesListChanged": True, "resourceSubscriptions": [JOURNAL]}  # type: ignore[dict-item]
        wire.start("subscriptions/listen", {"notifications": wanted})
        return
    info = {"name": "wire", "version": "0"}
    params = {"protocolVersion": wire.version, "capabilities": CAPABILITIES, "clientInfo": info}
    assert (await wire.result("initialize", params))["protocolVersion"] == wire.version
    wire.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    await wire.result("ping")
    await wire.result("logging/setLevel", {"level": "debug"})
    await wire.result("resources/subscribe", {"uri": JOURNAL})


async def use_everything(wire: Wire) -> None:
    tools = await wire.list_all("tools/list", "tools")
    for name, arguments in TOOL_CALLS:
        await wire.call(name, **arguments)
    unused = {tool["name"] for tool in tools} - {name for name, _ in TOOL_CALLS}
    assert unused == {"wait_for_rain", "sift_soil", "open_bed", "close_bed"}  # used below
    for resource in await wire.list_all("resources/list", "resources"):
        await wire.result("resources/read", {"uri": resource["uri"]})
    assert len(await wire.list_all("resources/templates/list", "resourceTemplates")) == 3
    for path in ("beds/north", "beds/north/history?days=2&unit=f", "shelf/a/b%20c"):
        await wire.result("resources/read", {"uri": f"greenhouse://{path}"})
    for prompt in await wire.list_all("prompts/list", "prompts"):
        arguments = {a["name"]: "fern" for a in prompt.get("arguments", [])}
        response = await wire.ask("prompts/get", {"name": prompt["name"], "arguments": arguments})
        # Before 2025-06-18 nobody can be asked to fill in a form.
        can_ask = wire.is_modern or ("elicitation/create", wire.version) in methods.SERVER_REQUESTS
        assert ("result" in response) is (can_ask or prompt["name"] != "plan_season"), response
    for ref, name in (
        ({"type": "ref/prompt", "name": "diagnose"}, "symptom"),
        ({"type": "ref/resource", "uri": "greenhouse://beds/{bed}"}, "bed"),
        ({"type": "ref/resource", "uri": "greenhouse://shelf/{path*}"}, "path"),
    ):
        given = {"ref": ref, "argument": {"name": name, "value": "b"}}
        await wire.result("completion/complete", {**given, "context": {"arguments": {}}})


async def change_everything(wire: Wire) -> None:
    async def extra() -> str:
        return ""

    await wire.call("open_bed", bed="attic")
    await wire.call("weed_attic")
    await wire.call("close_bed", bed="attic")
    wire.server.prompts.add(extra)
    wire.server.resources.add("greenhouse://extra", extra)
    async with asyncio.timeout(CAP):
        for what in ("tools/list_changed", "prompts/list_changed", "resources/list_changed"):
            await wire.event(f"notifications/{what}").wait()
        await wire.event("notifications/resources/updated").wait()


async def go_wrong(wire: Wire) -> None:
    for method, params in (
        ("tools/call", {"name": "watre"}),
        ("tools/call", {"arguments": {}}),
        ("tools/list", {"cursor": "nonsense"}),
        ("prompts/get", {"name": "nothing"}),
        ("prompts/get", {"name": "diagnose"}),
        ("resources/read", {"uri": "greenhouse://nothing"}),
        ("resources/read", {"uri": "greenhouse://beds/attic"}),
        ("resources/read", {"uri": "greenhouse://shelf/../secret"}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {}}),
        ("no/such/method", {}),
    ):
        assert "error" in await wire.ask(method, params), (method, params)
    wire.post_raw(b"{")
    wire.post_raw(b'{"jsonrpc": "2.0", "id": 1}')
    wire.post_raw(b"[]")
    wire.post_raw(b'[{"jsonrpc": "2.0", "method": "notifications/unknown"}]')


async def be_cancelled(wire: Wire) -> None:
    """A call that waits for the client is given up: in the legacy era both sides say so."""
    wire.start("tools/call", {"name": "wait_for_rain", "arguments": {}})
    wire.cancel_last()
    if wire.is_modern:
        return
    wire.answers = lambda question: None
    wire.event("sampling/createMessage").clear()
    wire.start("tools/call", {"name": "ask_gardener", "arguments": {"question": "?"}})
    async with asyncio.timeout(CAP):
        await wire.event("sampling/createMessage").wait()
        wire.cancel_last()
        await wire.event("notifications/cancelled").wait()
    wire.answers = answer_question


async def whole_session(version: str) -> Conversation:
    wire = Wire(load_greenhouse(), version)
    await open_session(wire)
    await use_everything(wire)
    await change_everything(wire)
    await go_wrong(wire)
    await be_cancelled(wire)
    if not wire.is_modern:
        await wire.result("resources/unsubscribe", {"uri": JOURNAL})
    await wire.close()
    return wire.conversation


def expected(version: str) -> Iterator[tuple[str, str]]:
    """Everything that the tables of the official SDK say a server may send."""
    never = {
        # We ping nobody: a stdio client that is gone closes the stream.
        "ping",
        # Sent when a page of the application has been visited; nothing in the example knows.
        "notifications/elicitation/complete",
    }
    yield from (("result", m) for m, v in methods.SERVER_RESULTS if v == version)
    for table in (methods.SERVER_REQUESTS, methods.SERVER_NOTIFICATIONS):
        yield from (("method", m) for m, v in table if v == version and m not in never)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_message_of_a_whole_session_fits_its_official_model(version: str) -> None:
    conversation = asyncio.run(whole_session(version))
    assert set(conversation.checked) >= set(expected(version))


@pytest.mark.parametrize(
    ("capability", "tool", "arguments"),
    [
        ("elicitation", "sow", {}),
        ("elicitation", "order_seeds", {"packets": 1}),
        ("sampling", "ask_gardener", {"question": "?"}),
        ("sampling", "plan_day", {"goal": "?"}),
        ("roots", "list_folders", {}),
    ],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_client_has_not_declared_is_refused_in_words_of_the_revision(
    version: str, capability: str, tool: str, arguments: dict[str, Any]
) -> None:
    async def run() -> dict[str, Any]:
        wire = Wire(load_greenhouse(), version)
        info = {"name": "wire", "version": "0"}
        if not wire.is_modern:
            opening = {"protocolVersion": version, "capabilities": {}, "clientInfo": info}
            await wire.result("initialize", opening)
        meta: dict[str, Any] = {f"{META}clientCapabilities": {}} if wire.is_modern else {}
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        response = await wire.ask("tools/call", params)
        await wire.close()
        return response

    response = asyncio.run(run())
    if version in MODERN_PROTOCOL_VERSIONS:
        assert response["error"]["code"] == -32021
        assert capability in response["error"]["data"]["requiredCapabilities"]
    else:
        assert response["result"]["isError"]
        assert capability in response["result"]["content"][0]["text"]


def test_a_version_that_nobody_speaks_is_refused_with_the_official_data() -> None:
    async def run() -> dict[str, Any]:
        wire = Wire(load_greenhouse(), VERSIONS[-1])
        response = await wire.ask("tools/list", {"_meta": {f"{META}protocolVersion": "1999-01-01"}})
        await wire.close()
        return response

    assert asyncio.run(run())["error"]["code"] == -32022


def stamped(**members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "result": members}


LEGACY, MODERN = "2025-11-25", "2026-07-28"
TEXT = {"type": "text", "text": ""}
MISTAKES: dict[str, tuple[dict[str, Any], str | None, str]] = {
    "an unknown notification": ({"jsonrpc": "2.0", "method": "notifications/x"}, None, MODERN),
    "a request where there are none": (
        {"jsonrpc": "2.0", "id": 1, "method": "roots/list"},
        None,
        MODERN,
    ),
    "a notification before its time": (
        {
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {"notifications": {}},
        },
        None,
        LEGACY,
    ),
    "the result of a method that is gone": (stamped(), "ping", MODERN),
    "the answer to nothing": (stamped(), None, LEGACY),
    "no resultType": (stamped(content=[TEXT]), "tools/call", MODERN),
    "an input_required in the clothes of a result": (
        stamped(resultType="input_required", content=[TEXT]),
        "tools/call",
        MODERN,
    ),
    "a list that asks back": (
        stamped(resultType="input_required", requestState="s"),
        "tools/list",
        MODERN,
    ),
    "a member from the future": (stamped(tools=[], ttlMs=0), "tools/list", LEGACY),
    "a member that nobody knows": (
        stamped(tools=[{"name": "t", "inputSchema": {"type": "object"}, "colour": "red"}]),
        "tools/list",
        LEGACY,
    ),
    "a list without hints": (stamped(resultType="complete", tools=[]), "tools/list", MODERN),
    "a code that was retired": (
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32002, "message": ""}},
        "resources/read",
        MODERN,
    ),
    "a refusal without its data": (
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32022, "message": ""}},
        "tools/list",
        MODERN,
    ),
    "an error without an id in the old days": (
        {"jsonrpc": "2.0", "error": {"code": -32700, "message": ""}},
        None,
        "2025-06-18",
    ),
    "another JSON-RPC": ({"jsonrpc": "1.0", "id": 1, "result": {}}, "ping", LEGACY),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_judge_sees(mistake: str) -> None:
    with pytest.raises(AssertionError):
        check_message(*MISTAKES[mistake])


def test_the_judge_lets_a_good_message_pass() -> None:
    check_message(stamped(content=[TEXT]), "tools/call", LEGACY)
    check_message(stamped(content=[TEXT], resultType="complete"), "tools/call", MODERN)
    check_message(stamped(resultType="input_required", requestState="s"), "tools/call", MODERN)
