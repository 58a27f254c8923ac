"""The modern era of the client: its requests, and how it handles results."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from dovetail.client import Change, Client, ElicitRequest, Interest, SamplingRequest
from dovetail.errors import InternalError, PeerError, UsageError
from dovetail.spec import keys
from tests.patience import pass_time
from tests.peers.scripted import DISCOVERED, Script, ScriptedServer, run

DONE = {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}
ASK = {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {}}}
TAG = keys.SUBSCRIPTION_ID


def modern(script: Script) -> ScriptedServer:
    return ScriptedServer({"server/discover": DISCOVERED, **script})


def wants(**members: Any) -> dict[str, Any]:
    return {"resultType": "input_required", **members}


def calls(server: ScriptedServer) -> list[dict[str, Any]]:
    return [message for message in server.heard if message["method"] == "tools/call"]


async def call(server: ScriptedServer, **options: Any) -> str:
    async with Client(server, **options) as client:
        return (await client.call("tool", {"a": 1})).text


def test_every_request_has_client_info_and_capabilities() -> None:
    server = modern({"tools/call": DONE})
    options = {"elicit": lambda _: None, "sample": lambda _: "", "roots": []}
    assert run(call(server, name="me", version="9", **options)) == "done"
    for message in server.heard:
        assert message["params"]["_meta"] == {
            keys.PROTOCOL_VERSION: "2026-07-28",
            keys.CLIENT_INFO: {"name": "me", "version": "9"},
            keys.CLIENT_CAPABILITIES: {
                "elicitation": {"form": {}, "url": {}},
                "sampling": {"tools": {}},
                "roots": {},
            },
        }


def test_without_callbacks_nothing_is_declared() -> None:
    server = modern({"tools/call": DONE})
    run(call(server))
    assert server.heard[-1]["params"]["_meta"][keys.CLIENT_CAPABILITIES] == {}


def test_log_messages_are_requested_only_with_a_log_callback() -> None:
    server = modern({"tools/call": DONE})
    run(call(server))
    assert keys.LOG_LEVEL not in server.heard[-1]["params"]["_meta"]

    async def listen() -> list[Any]:
        heard: list[Any] = []
        async with Client(server, on_log=heard.append) as client:
            await client.set_log_level("error")
            await client.call("tool")
            server.tell("notifications/message", {"level": "error", "data": "ouch"})
            server.tell("notifications/message", {"data": "without a level"})
            await client.call("tool")
            with pytest.raises(UsageError, match="'loud'; allowed: debug"):
                await client.set_log_level("loud")
        return [(message.level, message.data) for message in heard]

    assert run(listen()) == [("error", "ouch")]
    assert server.heard[-1]["params"]["_meta"][keys.LOG_LEVEL] == "error"


def test_inputs_are_sent_with_a_new_request() -> None:
    sample = {
        "method": "sampling/createMessage",
        "params": {"messages": [], "maxTokens": 5, "systemPrompt": "short"},
    }
    roots = {"method": "roots/list"}
    first = wants(inputRequests={"who": ASK, "what": sample, "where": roots}, requestState=" s=1 ")
    answers = iter([first, wants(inputRequests={"who": ASK}), DONE])
    server = modern({"tools/call": lambda _: next(answers)})

    async def elicit(request: ElicitRequest) -> dict[str, str]:
        return {"name": request.message}

    def think(request: SamplingRequest) -> str:
        return f"{request.system_prompt} {request.max_tokens}"

    assert run(call(server, elicit=elicit, sample=think, roots=["file:///here"])) == "done"
    one, two, three = calls(server)
    assert len({one["id"], two["id"], three["id"]}) == 3
    assert two["params"]["requestState"] == " s=1 "
    assert two["params"]["inputResponses"] == {
        "who": {"action": "accept", "content": {"name": "Who?"}},
        "what": {
            "role": "assistant",
            "content": {"type": "text", "text": "short 5"},
            "model": "dovetail",
            "stopReason": "endTurn",
        },
        "where": {"roots": [{"uri": "file:///here"}]},
    }
    assert "requestState" not in three["params"]
    assert list(three["params"]["inputResponses"]) == ["who"]
    assert {tuple(sorted(m["params"]["arguments"].items())) for m in (one, two, three)} == {
        (("a", 1),)
    }


def test_callbacks_run_concurrently() -> None:
    answers = iter([wants(inputRequests={"one": ASK, "two": ASK}), DONE])
    server = modern({"tools/call": lambda _: next(answers)})
    meeting = asyncio.Barrier(2)

    async def elicit(_: ElicitRequest) -> None:
        await meeting.wait()

    assert run(call(server, elicit=elicit)) == "done"
    responses = calls(server)[1]["params"]["inputResponses"]
    assert responses == {"one": {"action": "decline"}, "two": {"action": "decline"}}


def test_a_retry_without_inputs_is_sent() -> None:
    answers = iter([wants(requestState="later"), DONE])
    server = modern({"tools/call": lambda _: next(answers)})
    assert run(call(server)) == "done"
    assert calls(server)[1]["params"]["requestState"] == "later"
    assert "inputResponses" not in calls(server)[1]["params"]


def test_endless_input_requests_are_an_error() -> None:
    server = modern({"tools/call": wants(inputRequests={"who": ASK})})
    with pytest.raises(PeerError, match="still requires input after 10 rounds"):
        run(call(server, elicit=lambda _: {}))
    assert len(calls(server)) == 11


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (wants(inputRequests={"who": ASK}), "elicitation/create.*not declared"),
        (wants(inputRequests={"x": {"method": "tools/call"}}), "tools/call.*not declared"),
        (wants(), "without inputs or state"),
        ({"resultType": "partial"}, "result type 'partial'"),
        ({"resultType": 7}, "Invalid result of"),
        ({"content": [{"type": "smell"}]}, "Invalid result of"),
        ({"content": [{"type": "resource", "resource": {"uri": "a:b"}}]}, "neither text nor blob"),
    ],
)
def test_an_invalid_result_raises_peer_error(answer: dict[str, Any], problem: str) -> None:
    with pytest.raises(PeerError, match=problem):
        run(call(modern({"tools/call": answer})))


def test_an_invalid_input_request_raises_peer_error() -> None:
    question = {"method": "elicitation/create", "params": {"mode": "telepathy"}}
    server = modern({"tools/call": wants(inputRequests={"who": question})})
    with pytest.raises(PeerError, match="Invalid params for elicitation/create"):
        run(call(server, elicit=lambda _: {}))


def test_only_three_methods_may_request_input() -> None:
    server = modern({"tools/list": wants(requestState="s")})

    async def list_tools() -> None:
        async with Client(server) as client:
            await client.list_tools()

    with pytest.raises(PeerError, match="tools/list may not be answered with input_required"):
        run(list_tools())


def test_an_exception_of_a_callback_reaches_the_caller() -> None:
    def elicit(_: ElicitRequest) -> None:
        raise LookupError("nobody home")

    server = modern({"tools/call": wants(inputRequests={"who": ASK})})
    with pytest.raises(LookupError, match="nobody home"):
        run(call(server, elicit=elicit))


def test_a_missing_result_type_means_complete() -> None:
    assert run(call(modern({"tools/call": {"content": []}}))) == ""


def test_a_method_of_the_other_era_is_rejected_before_it_is_sent() -> None:
    async def ping(server: ScriptedServer) -> None:
        async with Client(server) as client:
            await client.ping()

    with pytest.raises(UsageError, match="ping does not exist at revision 2026-07-28"):
        run(ping(modern({})))


def test_a_request_from_the_server_is_ignored() -> None:
    server = modern({"tools/call": DONE})

    async def be_asked() -> None:
        async with Client(server, elicit=lambda _: {}) as client:
            server.say({"id": 7, "method": "elicitation/create", "params": ASK["params"]})
            await client.call("tool")

    run(be_asked())
    assert all("method" in message for message in server.heard)


def test_invalid_server_info_is_ignored() -> None:
    found = {**DISCOVERED, "_meta": {keys.SERVER_INFO: {"name": 1}}}

    async def look() -> object:
        async with Client(ScriptedServer({"server/discover": found})) as client:
            return client.server_info

    assert run(look()) is None


# -- subscriptions ------------------------------------------------------------------------


def acknowledge(
    server: Callable[[], ScriptedServer], **filter: Any
) -> Callable[[dict[str, Any]], None]:
    def answer(message: dict[str, Any]) -> None:
        tag = {TAG: message["id"]}
        params = {"_meta": tag, "notifications": filter}
        server().tell("notifications/subscriptions/acknowledged", params)

    return answer


def listening(**filter: Any) -> ScriptedServer:
    server = modern({"tools/call": DONE})
    server.script = {
        **server.script,
        "subscriptions/listen": acknowledge(lambda: server, **filter),
    }
    return server


def test_a_subscription_waits_for_the_acknowledgement_and_yields_its_changes() -> None:
    server = listening(toolsListChanged=True, resourceSubscriptions=["memo://a"])

    async def listen() -> None:
        async with Client(server) as client:
            uris = ["memo://a", "memo://b"]
            async with client.subscribe(tools=True, prompts=True, uris=uris) as changes:
                assert changes.acknowledged == Interest(tools=True, uris=("memo://a",))
                assert changes.refused == ("prompts", "memo://b")
                stream = server.last("subscriptions/listen")["id"]
                tag = {"_meta": {TAG: stream}}
                server.tell("notifications/tools/list_changed")
                server.tell("notifications/tools/list_changed", {"_meta": {TAG: stream + 1}})
                server.tell("notifications/tools/list_changed", {"_meta": 3})
                server.tell("notifications/resources/updated", {**tag, "uri": "memo://a"})
                server.tell("notifications/tools/list_changed", tag)
                server.tell("notifications/tools/list_changed", tag)
                assert await anext(changes) == Change("resource", "memo://a")
                assert await anext(changes) == Change("tools")
            cancelled = await server.until_method("notifications/cancelled")
            assert cancelled["params"]["requestId"] == stream

    run(listen())
    assert server.last("subscriptions/listen")["params"]["notifications"] == {
        "toolsListChanged": True,
        "promptsListChanged": True,
        "resourceSubscriptions": ["memo://a", "memo://b"],
    }


@pytest.mark.parametrize("farewell", ["result", "cancelled"])
def test_a_subscription_ends_normally_when_the_server_ends_it(farewell: str) -> None:
    server = listening(toolsListChanged=True)

    async def listen() -> list[Change]:
        async with Client(server) as client, client.subscribe(tools=True) as changes:
            stream = server.last("subscriptions/listen")["id"]
            server.tell("notifications/tools/list_changed", {"_meta": {TAG: stream}})
            if farewell == "result":
                server.say({"id": stream, "result": {"resultType": "complete"}})
            else:
                server.tell("notifications/cancelled", {"requestId": stream})
            return [change async for change in changes]

    assert run(listen()) == [Change("tools")]
    assert "notifications/cancelled" not in server.methods()


def test_a_rejected_subscription_raises_on_entering() -> None:
    server = modern({"subscriptions/listen": InternalError("no streams today")})

    async def listen() -> None:
        async with Client(server) as client, client.subscribe(tools=True):
            pytest.fail("was entered")

    with pytest.raises(InternalError, match="no streams today"):
        run(listen())


def test_a_subscription_that_ends_before_it_is_acknowledged_raises_on_entering() -> None:
    server = modern({"subscriptions/listen": {"resultType": "complete"}})

    async def listen() -> None:
        async with Client(server) as client, client.subscribe(tools=True):
            pytest.fail("was entered")

    with pytest.raises(PeerError, match="before it was acknowledged"):
        run(listen())


def test_a_subscription_without_acknowledgement_times_out() -> None:
    server = modern({"subscriptions/listen": lambda _: pass_time(60)})

    async def listen() -> None:
        async with Client(server, timeout=60) as client:
            with pytest.raises(TimeoutError, match="did not acknowledge"):
                async with client.subscribe(tools=True):
                    pytest.fail("was entered")
            await server.until_method("notifications/cancelled")

    run(listen())


def test_the_change_callback_has_its_own_stream() -> None:
    server = listening(toolsListChanged=True)

    async def listen() -> list[Change]:
        heard: list[Change] = []
        async with Client(server, on_change=heard.append) as client:
            stream = server.last("subscriptions/listen")
            assert stream["params"]["notifications"] == {"toolsListChanged": True}
            server.tell("notifications/tools/list_changed", {"_meta": {TAG: stream["id"]}})
            await client.call("tool")
            await client.call("tool")
        return heard

    assert run(listen()) == [Change("tools")]


def test_a_server_without_listen_streams_is_usable() -> None:
    server = modern({"subscriptions/listen": InternalError("no"), "tools/call": DONE})
    assert run(call(server, on_change=lambda _: None)) == "done"


def test_a_string_is_rejected_as_uris() -> None:
    async def subscribe(server: ScriptedServer) -> None:
        async with Client(server) as client:
            client.subscribe(uris="memo://a")

    with pytest.raises(UsageError, match="a collection of URIs"):
        run(subscribe(modern({})))
