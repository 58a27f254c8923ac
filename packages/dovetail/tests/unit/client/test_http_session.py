"""HTTP sessions of legacy servers: start, interruption and restart."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from dovetail.client import Change, Client
from dovetail.errors import PeerError, TransportError
from dovetail.wire import codec
from tests.patience import CAP, pass_time
from tests.peers.scripted import INITIALIZED, run
from tests.unit.client.fake_http import Heard, Serve, Wire, answer, fake_http, legacy

TOOL = {"content": [{"type": "text", "text": "done"}]}
CHANGED = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'


def call_once(serve: Serve, mode: str = "legacy") -> tuple[Any, list[Heard]]:
    async def use() -> tuple[Any, list[Heard]]:
        async with fake_http(serve) as fake:
            async with Client(fake.url, mode=mode, timeout=CAP) as client:
                text = (await client.call("work")).text
            return text, fake.heard

    said: tuple[Any, list[Heard]] = run(use())
    return said


def test_a_broken_stream_is_resumed() -> None:
    asked: list[Heard] = []

    async def work(heard: Heard, wire: Wire) -> None:
        asked.append(heard)
        await wire.start_events()
        await wire.event(b"", id=b"s_1", retry=1)
        wire.hang_up()

    async def get(heard: Heard, wire: Wire) -> None:
        last = heard.headers.get("last-event-id")
        if last is None:
            await wire.respond(405, kind="")
        elif last == "s_1":
            await wire.start_events()
            await wire.event(b"", id=b"s_2")
            await wire.end_events()
        else:
            assert last == "s_2"
            await wire.start_events()
            await wire.event(answer(asked[0], TOOL), id=b"s_3")
            await wire.end_events()

    text, heard = call_once(legacy({"tools/call": work, "GET": get}))
    assert text == "done"
    assert [one.method or one.verb for one in heard][3:] == ["tools/call", "GET", "GET", "DELETE"]


def test_a_stream_that_is_not_resumed_fails_its_request() -> None:
    async def work(heard: Heard, wire: Wire) -> None:
        await wire.start_events()
        await wire.event(b"", id=b"s_1", retry=1)
        await wire.end_events()

    with pytest.raises(PeerError, match="does not resume it"):
        call_once(legacy({"tools/call": work}), "legacy")


def test_a_stream_without_new_events_is_given_up() -> None:
    async def silent(heard: Heard, wire: Wire) -> None:
        if heard.verb == "GET" and "last-event-id" not in heard.headers:
            await wire.respond(405, kind="")
            return
        await wire.start_events()
        if heard.verb == "POST":
            await wire.event(b"", id=b"s_1", retry=0)
        wire.hang_up()

    with pytest.raises(TransportError, match="was cut off"):
        call_once(legacy({"tools/call": silent, "GET": silent}), "legacy")


def test_an_ended_session_is_restarted_once() -> None:
    sessions = iter(["s1", "s2", "s3"])

    async def initialize(heard: Heard, wire: Wire) -> None:
        await wire.result(heard, INITIALIZED, Mcp_Session_Id=next(sessions))

    async def work(heard: Heard, wire: Wire) -> None:
        if heard.headers["mcp-session-id"] == "s1" or heard.message["params"]["name"] == "doomed":
            await wire.respond(404, b"{}")
        else:
            await wire.result(heard, TOOL)

    async def use() -> list[str]:
        async with (
            fake_http(legacy({"initialize": initialize, "tools/call": work})) as fake,
            Client(fake.url, mode="legacy") as client,
        ):
            assert (await client.call("work")).text == "done"
            with pytest.raises(TransportError, match="has ended the session"):
                await client.call("doomed")
            return [one.headers.get("mcp-session-id", "") for one in fake.heard if one.method]

    assert run(use()) == ["", "s1", "s1", "", "s2", "s2", "s2", "", "s3", "s3"]


def test_server_requests_arrive_on_request_streams_and_the_get_stream() -> None:
    async def use() -> list[dict[str, Any]]:
        answered: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        ping = {"jsonrpc": "2.0", "method": "ping"}

        async def get(heard: Heard, wire: Wire) -> None:
            await wire.start_events()
            await wire.event(codec.encode({**ping, "id": "own"}), id=b"g_1")
            await wire.gone()

        async def work(heard: Heard, wire: Wire) -> None:
            await wire.start_events()
            await wire.event(codec.encode({**ping, "id": 7}))
            assert (await answered.get())["id"] in ("own", 7)
            assert (await answered.get())["id"] in ("own", 7)
            await wire.event(answer(heard, TOOL))
            await wire.end_events()

        async def response(heard: Heard, wire: Wire) -> None:
            answered.put_nowait(heard.message)
            await wire.respond(202, kind="")

        async with (
            fake_http(legacy({"GET": get, "tools/call": work, "": response})) as fake,
            Client(fake.url, mode="legacy") as client,
        ):
            assert (await client.call("work")).text == "done"
            return [one.message for one in fake.heard if one.verb == "POST" and not one.method]

    assert sorted(str(message["id"]) for message in run(use())) == ["7", "own"]


def test_the_get_stream_is_reopened_with_the_last_id() -> None:
    async def use() -> list[str]:
        ids: list[str] = []
        settled = asyncio.Event()

        async def get(heard: Heard, wire: Wire) -> None:
            ids.append(heard.headers.get("last-event-id", ""))
            if len(ids) == 3:
                await wire.respond(400, kind="")
                return
            await wire.start_events()
            if len(ids) == 4:
                settled.set()
                await wire.gone()
            await wire.event(b"", id=b"g_%d" % len(ids), retry=0)
            wire.hang_up()

        async with fake_http(legacy({"GET": get})) as fake, Client(fake.url, mode="legacy"):
            await settled.wait()
        return ids

    assert run(use()) == ["", "g_1", "g_2", ""]


def test_a_lost_message_does_not_close_the_client(caplog: pytest.LogCaptureFixture) -> None:
    async def refuse(heard: Heard, wire: Wire) -> None:
        await wire.respond(400, b"what?", "text/plain")

    async def hang(heard: Heard, wire: Wire) -> None:
        pass_time(60)
        await wire.gone()

    async def use() -> str:
        serve: dict[str, Serve] = {
            "tools/call": hang,
            "notifications/cancelled": refuse,
            "prompts/list": _prompts,
        }
        async with (
            fake_http(legacy(serve)) as fake,
            Client(fake.url, mode="legacy") as client,
        ):
            with pytest.raises(TimeoutError):
                await client.call("work", timeout=60)
            await client.request("prompts/list")
        return caplog.text

    with caplog.at_level(logging.WARNING, "dovetail"):
        assert "could not deliver a message" in run(use())


async def _prompts(heard: Heard, wire: Wire) -> None:
    await wire.result(heard, {"prompts": []})


def test_a_rejected_initialized_notification_fails_the_handshake() -> None:
    async def refuse(heard: Heard, wire: Wire) -> None:
        await wire.respond(503, b"busy", "text/plain")

    with pytest.raises(TransportError, match="notifications/initialized with 503"):
        call_once(legacy({"notifications/initialized": refuse}), "legacy")


def test_a_session_id_that_is_not_visible_ascii_is_rejected() -> None:
    async def initialize(heard: Heard, wire: Wire) -> None:
        await wire.result(heard, INITIALIZED, Mcp_Session_Id="a b")

    with pytest.raises(PeerError, match="not visible ASCII"):
        call_once(legacy({"initialize": initialize}), "legacy")


def test_a_silent_server_times_out() -> None:
    async def silent(heard: Heard, wire: Wire) -> None:
        await wire.gone()

    async def use() -> None:
        async with fake_http(silent) as fake, Client(fake.url, timeout=0.1):
            pass

    with pytest.raises(TimeoutError, match="did not answer initialize"):
        run(use())


def test_subscriptions_raise_when_the_server_is_unreachable() -> None:
    async def get(heard: Heard, wire: Wire) -> None:
        await wire.start_events()
        await wire.event(b"", id=b"g_1", retry=0)
        await wire.gone()

    async def use() -> None:
        async with fake_http(legacy({"GET": get})) as fake:
            client = await Client(fake.url, mode="legacy").__aenter__()
        try:
            async with client.subscribe(tools=True) as changes:
                await anext(changes)
        finally:
            await client.__aexit__(None, None, None)

    with pytest.raises(TransportError, match="connection refused"):
        run(use())


class Forgetful:
    """A server that forgets its first session while the client only listens."""

    def __init__(self, *, begins_again: bool) -> None:
        self.begins_again = begins_again
        self.sessions: list[str] = []
        self.streams: list[str] = []
        # Set when a resource is watched in the second session.
        self.is_watched = asyncio.Event()

    def serve(self) -> Serve:
        return legacy(
            {
                "initialize": self.initialize,
                "GET": self.get,
                "resources/subscribe": self.subscribe,
                "resources/unsubscribe": self.subscribe,
            }
        )

    async def initialize(self, heard: Heard, wire: Wire) -> None:
        if self.sessions and not self.begins_again:
            await wire.respond(503, b"closing down", "text/plain")
            return
        self.sessions.append(f"s{len(self.sessions) + 1}")
        await wire.result(heard, INITIALIZED, Mcp_Session_Id=self.sessions[-1])

    async def get(self, heard: Heard, wire: Wire) -> None:
        self.streams.append(heard.headers["mcp-session-id"])
        if self.streams == ["s1", "s1"]:
            await wire.respond(404, kind="")
            return
        await wire.start_events()
        if self.streams == ["s1"]:
            await wire.event(b"", id=b"1", retry=0)
            wire.hang_up()
        else:
            await self.is_watched.wait()
            await wire.event(CHANGED)
            await wire.gone()

    async def subscribe(self, heard: Heard, wire: Wire) -> None:
        await wire.result(heard, {})
        if heard.headers["mcp-session-id"] == "s2":
            self.is_watched.set()


def test_a_session_that_ends_without_pending_requests_is_restarted() -> None:
    async def use() -> list[str]:
        server = Forgetful(begins_again=True)
        async with (
            fake_http(server.serve()) as fake,
            Client(fake.url, mode="legacy", timeout=CAP) as client,
            client.subscribe(tools=True, uris=["memo://x"]) as changes,
        ):
            assert await anext(changes) == Change("tools")
        return server.streams

    assert run(use()) == ["s1", "s1", "s2"]


def test_subscriptions_raise_when_no_session_can_be_started() -> None:
    async def use() -> None:
        async with (
            fake_http(Forgetful(begins_again=False).serve()) as fake,
            Client(fake.url, mode="legacy", timeout=CAP) as client,
            client.subscribe(tools=True) as changes,
        ):
            await anext(changes)

    with pytest.raises(TransportError, match=r"ended the session, and a new one .*503"):
        run(use())


def test_a_404_for_the_get_stream_means_no_stream() -> None:
    async def get(heard: Heard, wire: Wire) -> None:
        await wire.respond(404, kind="")

    async def work(heard: Heard, wire: Wire) -> None:
        await wire.result(heard, TOOL)

    text, heard = call_once(legacy({"GET": get, "tools/call": work}))
    assert text == "done"
    assert [one.method for one in heard].count("initialize") == 1
