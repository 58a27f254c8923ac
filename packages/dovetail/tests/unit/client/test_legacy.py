"""The legacy era of the client: its requests, and its responses to server requests."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dovetail.client import Change, Client, ElicitRequest, ElicitResponse, Interest
from dovetail.errors import RpcError, TransportError
from tests.peers.scripted import INITIALIZED, Script, ScriptedServer, run

DONE = {"content": [{"type": "text", "text": "done"}]}
FORM = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}


def legacy(script: Script | None = None, **changed: Any) -> ScriptedServer:
    return ScriptedServer({"initialize": {**INITIALIZED, **changed}, **(script or {})})


async def ask(server: ScriptedServer, method: str, params: Any = None, **options: Any) -> Any:
    """Let the server ask; the client's answer."""
    async with Client(server, mode="legacy", **options):
        question = {} if params is None else {"params": params}
        server.say({"id": "q", "method": method, **question})
        return await server.until(lambda message: message.get("id") == "q")


def test_initialize_declares_capabilities_for_the_callbacks() -> None:
    server = legacy()

    async def open_it(**options: Any) -> None:
        async with Client(server, name="me", version="9", **options):
            pass

    run(open_it(mode="legacy", elicit=lambda _: None, sample=lambda _: "", roots=[]))
    params = server.last("initialize")["params"]
    assert params["clientInfo"] == {"name": "me", "version": "9"}
    assert params["capabilities"] == {
        "elicitation": {"form": {}, "url": {}},
        "sampling": {"tools": {}},
        "roots": {},
    }


@pytest.mark.parametrize(
    ("revision", "declared"),
    [
        ("2024-11-05", {"sampling": {}, "roots": {}}),
        ("2025-06-18", {"elicitation": {}, "sampling": {}, "roots": {}}),
    ],
)
def test_only_capabilities_of_the_revision_are_declared(
    revision: str, declared: dict[str, Any]
) -> None:
    server = legacy(protocolVersion=revision)

    async def open_it() -> None:
        callbacks: dict[str, Any] = {"elicit": lambda _: None, "sample": lambda _: "", "roots": []}
        async with Client(server, mode=revision, **callbacks):
            pass

    run(open_it())
    assert server.last("initialize")["params"]["capabilities"] == declared


def test_requests_have_no_modern_metadata() -> None:
    server = legacy({"tools/call": DONE})

    async def call() -> None:
        async with Client(server, mode="legacy") as client:
            await client.call("tool")
            assert "_meta" not in server.last("tools/call")["params"]
            await client.call("tool", meta={"traceparent": "00-1-2-01"})

    run(call())
    assert server.last("tools/call")["params"]["_meta"] == {"traceparent": "00-1-2-01"}


def test_a_ping_is_answered_and_can_be_sent() -> None:
    server = legacy({"ping": {}})
    assert run(ask(server, "ping"))["result"] == {}

    async def ping() -> None:
        async with Client(server, mode="legacy") as client:
            await client.ping()

    run(ping())
    assert server.methods()[-1] == "ping"


@pytest.mark.parametrize(
    "method", ["elicitation/create", "sampling/createMessage", "roots/list", "tools/call", "a/b"]
)
def test_undeclared_methods_are_not_found(method: str) -> None:
    assert run(ask(legacy(), method, {}))["error"]["code"] == -32601


def test_methods_that_the_revision_lacks_are_not_found() -> None:
    server = legacy(protocolVersion="2024-11-05")
    answer = run(ask(server, "elicitation/create", FORM, elicit=lambda _: {}))
    assert answer["error"]["code"] == -32601


def test_elicitation_reaches_the_callback() -> None:
    async def elicit(request: ElicitRequest) -> ElicitResponse:
        assert (request.message, request.mode) == ("Who?", "form")
        return ElicitResponse.accept({"name": "Ann"})

    answer = run(ask(legacy(), "elicitation/create", FORM, elicit=elicit))
    assert answer["result"] == {"action": "accept", "content": {"name": "Ann"}}


def test_roots_may_be_paths_and_may_be_a_function() -> None:
    answer = run(ask(legacy(), "roots/list", roots=lambda: ["/tmp", "file:///srv"]))
    assert answer["result"] == {
        "roots": [{"uri": "file:///tmp", "name": "tmp"}, {"uri": "file:///srv"}]
    }


def test_an_invalid_request_is_answered_with_invalid_params() -> None:
    answer = run(ask(legacy(), "elicitation/create", {"mode": "form"}, elicit=lambda _: {}))
    assert answer["error"]["code"] == -32602


def test_an_rpc_error_of_a_callback_is_the_response() -> None:
    def refuse(_: object) -> str:
        raise RpcError("The user said no", code=-1)

    question = {"messages": [], "maxTokens": 1}
    answer = run(ask(legacy(), "sampling/createMessage", question, sample=refuse))
    assert answer["error"] == {"code": -1, "message": "The user said no"}


def test_a_failed_callback_is_answered_and_reported() -> None:
    reported: list[dict[str, Any]] = []

    async def fail() -> Any:
        asyncio.get_running_loop().set_exception_handler(lambda _, told: reported.append(told))

        def elicit(_: ElicitRequest) -> None:
            raise LookupError("nobody home")

        return await ask(legacy(), "elicitation/create", FORM, elicit=elicit)

    assert run(fail())["error"]["code"] == -32603
    assert [type(told["exception"]) for told in reported] == [LookupError]


def test_a_cancelled_request_is_not_answered() -> None:
    server = legacy({"ping": {}})
    ended = []

    async def withdraw() -> None:
        asked = asyncio.Event()

        async def elicit(_: ElicitRequest) -> None:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)

        async with Client(server, mode="legacy", elicit=elicit) as client:
            server.say({"id": "q", "method": "elicitation/create", "params": FORM})
            await asked.wait()
            server.tell("notifications/cancelled", {"requestId": "other"})
            server.tell("notifications/cancelled", {"requestId": "q"})
            await client.ping()

    run(withdraw())
    assert ended == [True]
    assert not any(message.get("id") == "q" for message in server.heard)


def test_a_client_with_a_log_callback_sets_the_log_level() -> None:
    server = legacy({"logging/setLevel": {}, "tools/call": DONE})

    async def listen() -> list[str]:
        heard: list[str] = []

        async def on_log(message: Any) -> None:
            heard.append(message.data)

        async with Client(server, mode="legacy", on_log=on_log) as client:
            assert server.last("logging/setLevel")["params"] == {"level": "info"}
            server.tell("notifications/message", {"level": "info", "data": "hello"})
            await client.set_log_level("error")
        return heard

    assert run(listen()) == ["hello"]
    assert server.last("logging/setLevel")["params"] == {"level": "error"}


def test_a_server_without_logging_is_not_asked_to_log() -> None:
    server = legacy(capabilities={})

    async def listen() -> None:
        async with Client(server, mode="legacy", on_log=lambda _: None):
            pass

    run(listen())
    assert "logging/setLevel" not in server.methods()


def test_changes_reach_matching_subscriptions_and_the_callback() -> None:
    server = legacy({"resources/subscribe": {}, "resources/unsubscribe": {}})

    async def listen() -> list[Change]:
        heard: list[Change] = []
        async with (
            Client(server, mode="legacy", on_change=heard.append) as client,
            client.subscribe(tools=True, prompts=True, uris=["memo://a"]) as changes,
        ):
            assert changes.acknowledged == Interest(tools=True, uris=("memo://a",))
            assert changes.refused == ("prompts",)
            server.tell("notifications/resources/list_changed")
            server.tell("notifications/resources/updated", {"uri": "memo://b"})
            server.tell("notifications/resources/updated", {"uri": "memo://a/page"})
            server.tell("notifications/resources/updated", {})
            server.tell("notifications/tools/list_changed")
            server.tell("notifications/elicitation/complete", {"elicitationId": "1"})
            assert await anext(changes) == Change("resource", "memo://a/page")
            assert await anext(changes) == Change("tools")
        return heard

    assert run(listen()) == [Change("resources"), Change("tools")]
    assert server.methods()[-2:] == ["resources/subscribe", "resources/unsubscribe"]


def test_two_subscriptions_to_one_resource_send_one_request() -> None:
    server = legacy({"resources/subscribe": {}, "resources/unsubscribe": {}})

    async def listen() -> None:
        async with (
            Client(server, mode="legacy") as client,
            client.subscribe(uris=["memo://a"]) as one,
            client.subscribe(uris=["memo://a"]) as two,
        ):
            server.tell("notifications/resources/updated", {"uri": "memo://a"})
            assert await anext(one) == await anext(two) == Change("resource", "memo://a")

    run(listen())
    assert server.methods()[-2:] == ["resources/subscribe", "resources/unsubscribe"]


def test_without_the_capability_no_subscribe_request_is_sent() -> None:
    server = legacy(capabilities={"resources": {}})

    async def listen() -> tuple[str, ...]:
        async with (
            Client(server, mode="legacy") as client,
            client.subscribe(resources=True, uris=["memo://a"]) as changes,
        ):
            return tuple(changes.refused)

    assert run(listen()) == ("resources", "memo://a")
    assert "resources/subscribe" not in server.methods()


def test_a_rejected_resource_subscription_raises_and_is_removed() -> None:
    server = legacy({"resources/subscribe": RpcError("no such thing", code=-32002)})

    async def listen() -> None:
        async with Client(server, mode="legacy") as client:
            with pytest.raises(RpcError, match="no such thing"):
                async with client.subscribe(uris=["memo://a"]):
                    pytest.fail("was entered")
            with pytest.raises(RpcError, match="no such thing"):
                async with client.subscribe(uris=["memo://a"]):
                    pytest.fail("was entered")

    run(listen())
    assert server.methods().count("resources/subscribe") == 2


def test_a_subscription_raises_when_the_connection_ends() -> None:
    server = legacy()

    async def listen() -> None:
        client = Client(server, mode="legacy")
        async with client, client.subscribe(tools=True) as changes:
            reader = asyncio.ensure_future(anext(changes))
            await client.__aexit__(None, None, None)
            with pytest.raises(TransportError, match="closed"):
                await reader

    run(listen())


def test_a_request_with_the_id_of_a_running_one_is_refused() -> None:
    async def use() -> None:
        answered = asyncio.Event()
        problems: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, what: problems.append(what))

        async def elicit(_: Any) -> dict[str, str]:
            await answered.wait()
            return {}

        server = legacy()
        async with Client(server, mode="legacy", elicit=elicit):
            for _ in range(2):
                server.say({"id": "q", "method": "elicitation/create", "params": FORM})
            refused = await server.until(lambda message: message.get("id") == "q")
            assert refused["error"]["code"] == -32600
            answered.set()
            await server.until(lambda message: message.get("id") == "q" and "result" in message)
        assert problems == []

    run(use())
