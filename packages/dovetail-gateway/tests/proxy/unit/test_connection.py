"""One connection to an upstream: to which call its messages belong."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dovetail.client.negotiation import parse_mode
from dovetail.client.subscriptions import Change, Interest
from dovetail.client.targets import MemoryChannel
from dovetail.core.call import Call, Peer
from dovetail_gateway.connection import UpstreamConnection, UpstreamFeed
from dovetail_gateway.envelopes import HOPS
from dovetail_gateway.forwarding import Forwarding
from tests.peers.scripted import DISCOVERED, INITIALIZED, ScriptedServer, run
from tests.unit.fakes import make_call, sent_by

FORM = {"message": "m", "requestedSchema": {}}


class Answering:
    """Answers with its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def ask(self, call: Call, method: str, params: Any) -> dict[str, Any]:
        return {"name": self.name}


def legacy(**script: Any) -> ScriptedServer:
    return ScriptedServer({"initialize": INITIALIZED, "logging/setLevel": {}, **script})


async def open_to(server: ScriptedServer, mode: str = "legacy") -> UpstreamConnection:
    return await UpstreamConnection.open(
        lambda: MemoryChannel(server),
        parse_mode(mode),
        client=("proxy", "1"),
        declared={"elicitation": {"form": {}}},
        meta={HOPS: 1},
        timeout=60,
        on_notification=lambda _: None,
        has_response_per_request=False,
    )


def forwarding_of(caller: str, rank: int | None = None) -> Forwarding:
    call = make_call(peer=Peer(None, {}, rank))
    return Forwarding(call, caller, Answering(caller), None)


def test_a_question_goes_to_the_only_caller() -> None:
    async def scenario() -> None:
        server = legacy()
        connection = await open_to(server)
        assert server.last("initialize")["params"]["_meta"] == {HOPS: 1}
        call = asyncio.ensure_future(connection.exchange(forwarding_of("ada"), "tools/call", {}))
        sent = await server.until_method("tools/call")
        assert not connection.is_idle
        assert connection.is_free_for("ada")
        assert not connection.is_free_for("bob")
        server.say({"id": 77, "method": "elicitation/create", "params": FORM})
        answer = await server.until(lambda message: message.get("id") == 77)
        assert answer["result"] == {"name": "ada"}
        server.say({"id": sent["id"], "result": {}})
        await call
        assert connection.is_idle
        assert connection.last_caller == "ada"
        await connection.close()
        assert not connection.is_open

    run(scenario())


def test_a_question_that_may_belong_to_two_callers_is_refused() -> None:
    async def scenario() -> None:
        server = legacy()
        connection = await open_to(server)
        calls = [
            asyncio.ensure_future(connection.exchange(forwarding_of(name), "tools/call", {}))
            for name in ("ada", "bob")
        ]
        await asyncio.sleep(0)
        server.tell("notifications/message", {"level": "error", "data": "whose?"})
        server.say({"id": 77, "method": "elicitation/create", "params": FORM})
        answer = await server.until(lambda message: message.get("id") == 77)
        assert "several callers" in answer["error"]["message"]
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await connection.close()

    run(scenario())


def test_the_log_level_of_a_legacy_upstream_follows_its_callers() -> None:
    async def scenario() -> None:
        server = legacy(ping={})
        connection = await open_to(server)
        chatty = forwarding_of("ada", rank=0)
        await connection.exchange(chatty, "ping", {})
        await connection.exchange(forwarding_of("ada", rank=3), "ping", {})
        heard = [m for m in server.heard if m.get("method") == "logging/setLevel"]
        levels = [message["params"]["level"] for message in heard]
        assert levels == ["info", "debug"]

        def chat(message: dict[str, Any]) -> dict[str, Any]:
            server.tell("notifications/message", {"level": "debug", "data": "hm"})
            return {}

        server.script = {**server.script, "ping": chat}
        await connection.exchange(chatty, "ping", {})
        assert [m["params"]["data"] for m in sent_by(chatty.call)] == ["hm"]
        await connection.close()

    run(scenario())


@pytest.mark.parametrize("mode", ["modern"])
def test_a_modern_upstream_serves_several_callers_at_once(mode: str) -> None:
    async def scenario() -> None:
        connection = await open_to(ScriptedServer({"server/discover": DISCOVERED}), mode)
        assert not connection.is_legacy
        assert connection.is_free_for("anybody")
        await connection.close()

    run(scenario())


def test_a_feed_passes_changes_and_its_end_on() -> None:
    async def scenario() -> None:
        connection = await open_to(legacy())
        seen: list[Any] = []
        feed = UpstreamFeed(connection, Interest(tools=True), seen.append, seen.append)
        feed.push(Change("tools"))
        feed.end()
        assert seen == [Change("tools"), feed]
        await connection.close()

    run(scenario())
