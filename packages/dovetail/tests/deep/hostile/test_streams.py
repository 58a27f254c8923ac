"""Sessions and streams without end, and readers that do not read."""

from __future__ import annotations

import contextlib
import re

import pytest

from tests.deep.hostile.conftest import Target
from tests.deep.hostile.target import MOST_SESSIONS
from tests.deep.hostile.wire import Wire, head, initialize, modern_call, post, rpc

MANY = 300
# Bytes that may wait for one reader, with room for what the process needs in any case.
MOST_MORE_MEMORY = 24


def call(tool: str, id: int = 1, **arguments: object) -> bytes:
    return rpc("tools/call", id, name=tool, arguments=arguments)


def listen(target: Target, session: str, **fields: str) -> Wire:
    wire = target.connect()
    wire.say(head("GET", accept="text/event-stream", mcp_session_id=session, **fields))
    assert wire.hear_head()[0] == 200
    return wire


# -- many -------------------------------------------------------------------------------------


def test_a_session_with_streams_without_end_keeps_the_latest(target: Target) -> None:
    before = target.holds()["streams"]
    session = target.open_session()
    wires = [listen(target, session) for _ in range(MANY)]
    target.wait_for(lambda: 1 <= target.holds()["streams"] - before <= 33)
    target.check_well()
    # The oldest was told that it is over, the latest goes on.
    assert list(wires[0].chunks())
    assert target.ask(head("DELETE", mcp_session_id=session)).status == 204
    assert list(wires[-1].chunks())
    for wire in wires:
        wire.close()
    target.wait_for(lambda: target.holds()["streams"] == before)


def test_many_clients_that_listen_disturb_nobody(target: Target) -> None:
    before = target.holds()["streams"]
    wires = [listen(target, target.open_session()) for _ in range(MANY)]
    assert target.holds()["streams"] == before + MANY
    target.check_well()
    for wire in wires:
        wire.vanish()
    target.wait_for(lambda: target.holds()["streams"] == before)


def test_many_calls_that_wait_are_answered_in_the_end(target: Target) -> None:
    session = target.open_session()
    wires = []
    for number in range(90):
        wire = target.connect()
        wire.say(post(call("talk_and_wait", number), mcp_session_id=session))
        wire.hear_head()
        wires.append(wire)
    target.check_well()
    target.call("release")
    for wire in wires:
        assert b"waited" in b"".join(wire.chunks())


def test_a_session_has_only_so_many_calls_that_wait(target: Target) -> None:
    session = target.open_session("2025-03-26")
    waiting = target.connect()
    waiting.say(post(call("talk_and_wait"), mcp_session_id=session))
    waiting.hear_head()
    batch = b"[" + b",".join(call("wait", number) for number in range(2, 1001)) + b"]"
    many = target.connect()
    many.say(post(batch, mcp_session_id=session))
    target.wait_for(lambda: target.ask(post(rpc("ping", 0), mcp_session_id=session)).status == 429)
    # Whoever has a session of their own is welcome.
    other = post(rpc("ping"), mcp_session_id=target.open_session())
    assert target.ask(other).status == 200
    assert target.ask(head("DELETE", mcp_session_id=session)).status == 204
    assert many.hear().status < 300


def test_sessions_that_nobody_deletes_are_only_so_many(tight: Target) -> None:
    wire = tight.connect()
    sessions = []
    for _ in range(MOST_SESSIONS):
        wire.say(initialize())
        response = wire.hear()
        assert response.status == 200
        sessions.append(response.headers["mcp-session-id"])
    wire.say(initialize())
    full = wire.hear()
    assert (full.status, full.code, full.headers["retry-after"]) == (503, -32603, "60")
    # Those that are there go on, and so does the other era.
    wire.say(post(rpc("ping"), mcp_session_id=sessions[0]))
    assert wire.hear().json["result"] == {}
    tight.check_well()
    for session in sessions:
        wire.say(head("DELETE", mcp_session_id=session))
        assert wire.hear().status == 204
    wire.say(initialize())
    response = wire.hear()
    assert response.status == 200
    wire.say(head("DELETE", mcp_session_id=response.headers["mcp-session-id"]))
    assert wire.hear().status == 204


def test_thousands_of_sessions_are_cheap(target: Target) -> None:
    before, memory = target.holds()["sessions"], target.call("memory")
    wire = target.connect()
    for _ in range(20):
        wire.say(initialize() * 100)
        assert {wire.hear().status for _ in range(100)} == {200}
    assert target.holds()["sessions"] == before + 2000
    assert target.call("memory") - memory < MOST_MORE_MEMORY


# -- readers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_who_never_reads_keeps_only_so_much_waiting(target: Target, era: str) -> None:
    memory = target.call("memory")
    wire = target.connect()
    if era == "modern":
        wire.say(modern_call("flood", megabytes=64))
    else:
        wire.say(post(call("flood", megabytes=64), mcp_session_id=target.open_session()))
    # The head is all that it reads while the server talks.
    assert wire.hear_head()[0] == 200
    target.wait_for(lambda: target.call("floods") == 0)
    target.check_well()
    assert target.call("memory") - memory < MOST_MORE_MEMORY
    # When it reads after all, the answer is there although much else was dropped.
    told = b"".join(wire.chunks())
    assert told.rstrip().endswith(b"}")
    assert b"flooded" in told
    assert len(told) < 32 * 1024 * 1024


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_what_is_said_after_the_answer_goes_nowhere(fresh: Target, era: str) -> None:
    own = {"mcp_session_id": fresh.open_session()}
    wire = fresh.connect()
    for _ in range(3):
        wire.say(modern_call("mutter") if era == "modern" else post(call("mutter"), **own))
        assert wire.hear().text == "that is all"
    fresh.wait_for(lambda: fresh.call("muttered") == 0)
    wire.say(modern_call("echo", text="next"))
    assert wire.hear().text == "next"
    fresh.check_well()


def test_who_never_reads_and_goes_away_leaves_nothing(target: Target) -> None:
    before = target.holds()
    for _ in range(10):
        wire = target.connect()
        wire.say(modern_call("flood", megabytes=4))
        wire.hear_head()
        wire.vanish()
    target.wait_for(lambda: target.call("floods") == 0)
    target.wait_for(lambda: target.holds() == before)


# -- going away in the middle -----------------------------------------------------------------


@pytest.mark.parametrize("end", [Wire.close, Wire.vanish])
def test_a_legacy_call_goes_on_and_its_rest_can_be_fetched(target: Target, end: object) -> None:
    session = target.open_session()
    wire = target.connect()
    wire.say(post(call("talk_and_wait"), mcp_session_id=session))
    wire.hear_head()
    told = b""
    while b"first" not in told:
        told += wire.hear_event()
    last_id = re.findall(rb"id: (\S+)", told)[-1].decode()
    assert callable(end)
    end(wire)
    back = listen(target, session, last_event_id=last_id)
    target.call("release")
    assert b"waited" in b"".join(back.chunks())


def test_streams_that_are_left_in_the_middle_end(target: Target) -> None:
    before = target.holds()
    wires = []
    for _ in range(50):
        wire = target.connect()
        wire.say(modern_call("talk_and_wait"))
        wire.hear_head()
        wires.append(wire)
    assert target.holds()["streams"] == before["streams"] + 50
    for index, wire in enumerate(wires):
        wire.vanish() if index % 2 else wire.close()
    target.wait_for(lambda: target.holds() == before)


# -- HTTP+SSE of 2024-11-05 -------------------------------------------------------------------


def open_old(tight: Target) -> tuple[Wire, str]:
    wire = tight.connect()
    wire.say(head("GET", "/sse", accept="text/event-stream"))
    wire.hear_head()
    told = wire.hear_event().decode()
    return wire, re.search(r"data: (\S+)", told)[1]  # type: ignore[index]


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (post(rpc("ping"), target="/sse/messages"), 404),
        (post(rpc("ping"), target="/sse/messages?session_id=made-up"), 404),
        (post(rpc("ping"), target="/sse"), 405),
        (head("GET", "/sse/messages"), 405),
        (head("GET", "/sse", host="evil.example"), 403),
        (post(rpc("ping"), target="/sse/messages", content_type="text/plain"), 415),
    ],
)
def test_the_old_transport_refuses_too(tight: Target, raw: bytes, status: int) -> None:
    response = tight.ask(raw)
    assert (response.status, response.code) == (status, -32600)


def test_old_streams_are_only_so_many_and_end_with_their_clients(tight: Target) -> None:
    before = tight.holds()["streams"]
    wires = [open_old(tight)[0] for _ in range(MOST_SESSIONS - before)]
    full = tight.ask(head("GET", "/sse", accept="text/event-stream"))
    assert (full.status, full.code) == (503, -32600)
    for wire in wires:
        wire.vanish()
    tight.wait_for(lambda: tight.holds()["streams"] == before)


def test_bad_messages_on_the_old_transport_are_answered_on_its_stream(tight: Target) -> None:
    wire, path = open_old(tight)
    for body, told in ((b"{", b"-32700"), (b"[" * 50_000, b"-32700"), (rpc("ping", 7), b'"id":7')):
        response = tight.ask(post(body, target=path))
        assert (response.status, response.body) == (202, b"")
        heard = b""
        while told not in heard:
            heard += wire.hear_event()
    with contextlib.suppress(OSError):
        wire.vanish()
