"""Which session a request belongs to: begun, found again, ended; and servers that keep none."""

from __future__ import annotations

import pytest

from dovetail.auth import Guard
from dovetail.core.options import HTTP_DEFAULTS
from dovetail.transports.streamable_http.app import HttpApp
from dovetail.transports.streamable_http.legacy.memory_sessions import MemorySessions
from dovetail.transports.streamable_http.legacy.session import HttpSession
from tests.unit.fakes import settle
from tests.unit.talk import (
    BATCHES,
    FIRST_FORMS,
    LEGACY,
    request,
    run,
)
from tests.unit.transports.streamable_http.asgi_client import Client, answer_in, batch
from tests.unit.transports.streamable_http.workshop import NamedByTest, Workshop


@pytest.mark.parametrize("revision", [BATCHES, FIRST_FORMS, LEGACY])
def test_a_session_begins_with_initialize_and_answers_in_json(revision: str) -> None:
    async def play() -> None:
        client = await Workshop().client.open(revision)
        assert client.version == revision
        assert client.session
        response = await client.call("echo", {"text": "hi"}).done()
        assert response.status == 200
        assert answer_in(response) == "hi"

    run(play())


def test_an_initialize_that_fails_begins_no_session() -> None:
    async def play() -> None:
        shop = Workshop()
        response = await shop.client.send("POST", request("initialize", {"protocolVersion": 5}))
        assert (response.status, response.code) == (200, -32602)
        assert "mcp-session-id" not in response.headers
        assert len(shop.app.legacy.sessions) == 0

    run(play())


def test_a_request_needs_a_session_that_exists() -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open()
        for session, status in ((None, 400), ("made-up", 404), ("\xff", 404), ("", 404)):
            other = shop.another()
            other.session = session
            for response in (
                await other.call("echo", {"text": "hi"}).done(),
                await other.tell("notifications/initialized"),
                await other.send("GET", b"", other.own),
                await other.delete(),
            ):
                assert (response.status, response.code) == (status, -32600)
        assert (await client.post("ping").done()).json["result"] == {}

    run(play())


def test_a_refusal_says_which_request_it_refuses() -> None:
    async def play() -> None:
        response = await Workshop().client.post("ping", id=77).done()
        assert response.json["id"] == 77

    run(play())


@pytest.mark.parametrize(("version", "status"), [("1999-01-01", 400), ("junk", 400), (None, 200)])
def test_a_version_header_must_be_one_of_ours_or_none(version: str | None, status: int) -> None:
    async def play() -> None:
        client = await Workshop().client.open()
        client.version = version
        assert (await client.post("ping").done()).status == status

    run(play())


def test_delete_ends_a_session_and_whatever_goes_on_in_it() -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open()
        stream = client.listen()
        call = client.call("talk_and_wait")
        quiet = client.call("wait")
        await call.hear("notifications/message")
        await settle()
        response = await client.delete()
        assert (response.status, response.body) == (204, b"")
        await stream.done()
        await call.done()
        # Whoever waits for an answer has not taken the call back, and is told.
        lost = await quiet.done()
        assert (lost.status, lost.json["error"]["code"]) == (200, -32603)
        assert shop.finished == 0
        for response in (await client.post("ping").done(), await client.delete()):
            assert response.status == 404
        shop.change()

    run(play())


def test_a_session_belongs_to_whoever_began_it() -> None:
    async def play() -> None:
        shop = Workshop()
        user = NamedByTest("anna")
        engine, find = shop.server.engine, shop.server.tools.header_params
        shop.app = HttpApp(engine, "/mcp", HTTP_DEFAULTS, find, Guard(user))
        client = await Client(shop.app).open()
        user.name = "bert"
        for response in (
            await client.post("ping").done(),
            await client.send("GET", b"", client.own),
            await client.delete(),
        ):
            assert response.status == 404
        user.name = "anna"
        assert (await client.post("ping").done()).status == 200

    run(play())


def test_there_are_only_so_many_sessions() -> None:
    async def play() -> None:
        shop = Workshop({"max_sessions": 1})
        client = await shop.client.open()
        response = await shop.another().hello()
        assert (response.status, response.code) == (503, -32603)
        assert response.headers["retry-after"] == "60"
        await client.delete()
        assert (await shop.another().hello()).status == 200

    run(play())


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_a_session_that_nobody_uses_is_forgotten_and_a_busy_one_is_not(method: str) -> None:
    now = 0.0

    async def play() -> None:
        nonlocal now
        shop = Workshop()
        sessions: MemorySessions[HttpSession] = MemorySessions(
            10, 60.0, is_busy=lambda session: session.is_busy, clock=lambda: now
        )
        shop.app.legacy.sessions = sessions
        client = await shop.client.open()
        stream = client.listen()
        await stream.until(lambda response: response.status != 0)
        now = 100.0
        assert (await client.post("ping").done()).status == 200
        stream.disconnect()
        await stream.done()
        now = 200.0
        body = request("ping") if method == "POST" else b""
        assert (await client.send(method, body, client.own)).status == 404
        assert len(sessions) == 0

    run(play())


@pytest.mark.parametrize(
    ("body", "code"), [(b"{", -32700), (b"\xff", -32700), (b"5", -32600), (b"[]", -32600)]
)
def test_what_cannot_be_read_is_said_before_what_is_missing(body: bytes, code: int) -> None:
    async def play() -> None:
        client = Workshop().client
        response = await client.send("POST", body)
        assert (response.status, response.code) == (400, code)
        assert "Mcp-Session-Id" not in response.json["error"]["message"]
        # A session that is gone is gone, whatever else is wrong.
        client.session = "made-up"
        gone = await client.send("POST", body, client.own)
        assert (gone.status, gone.code) == (404, -32600)

    run(play())


def test_closing_the_app_ends_sessions_and_streams() -> None:
    async def play() -> None:
        shop = Workshop()
        client = await shop.client.open()
        stream, call = client.listen(), client.call("wait")
        await shop.reached.wait()
        shop.app.close()
        await stream.done()
        await call.done()
        assert len(shop.app.legacy.sessions) == 0

    run(play())


@pytest.mark.parametrize("id", [b"99_0", b"junk", b"", b"1_99", b"1_"])
def test_an_event_nobody_knows_is_a_400(id: bytes) -> None:
    async def play() -> None:
        client = await Workshop().client.open()
        await client.call("talk").done()
        response = await client.listen(id).done()
        assert (response.status, response.code) == (400, -32600)

    run(play())


def test_without_sessions_every_request_stands_alone() -> None:
    async def play() -> None:
        shop = Workshop({"stateless": True})
        client = await shop.client.open()
        assert client.session is None
        assert (await client.post("ping").done()).json["result"] == {}
        response = await client.call("talk").done()
        assert answer_in(response) == "talked"
        assert response.ids == []
        for method in ("GET", "DELETE", "PUT"):
            refused = await client.send(method, b"", client.own)
            assert (refused.status, refused.code) == (405, -32600)
            assert refused.headers["allow"] == "POST, OPTIONS"
        asked = await client.call("ask").done()
        assert asked.json["result"]["isError"] is True
        hung_up = await client.call("hang_up_from_thread").done()
        assert answer_in(hung_up) == "came back"
        assert (await client.reply(1, {})).status == 202

    run(play())


def test_without_a_session_or_a_version_header_a_request_may_be_a_batch() -> None:
    async def play() -> None:
        client = Workshop({"stateless": True}).client
        response = await client.send("POST", batch(request("ping", id=1), request("ping", id=2)))
        assert [answer["id"] for answer in response.json] == [1, 2]
        headers = [("mcp-protocol-version", LEGACY)]
        refused = await client.send("POST", batch(request("ping")), headers)
        assert refused.status == 400
        broken = await client.send("POST", b"{", headers)
        assert (broken.status, broken.code) == (400, -32700)

    run(play())


def test_without_streaming_there_are_answers_only() -> None:
    async def play() -> None:
        client = await Workshop({"streaming": False}).client.open()
        response = await client.call("talk").done()
        assert answer_in(response) == "talked"
        assert not response.is_stream
        assert (await client.send("GET", b"", client.own)).status == 405

    run(play())
