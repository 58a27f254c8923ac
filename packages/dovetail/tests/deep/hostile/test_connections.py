"""What a connection can do wrong beside what it says: in which pieces, how fast, how it ends."""

from __future__ import annotations

import select

import pytest

from tests.deep.hostile.conftest import Target
from tests.deep.hostile.target import MOST_BYTES
from tests.deep.hostile.wire import Wire, chunked, head, modern_call, post, rpc

WENT_AWAY = "DEBUG:dovetail:a client went away before its request was complete"
BEGUN = head(content_length=100) + b'{"jsonrpc"'
BEGUN_IN_CHUNKS = head(transfer_encoding="chunked") + b'a\r\n{"jsonrpc"\r\n'


def echo(text: str) -> bytes:
    return modern_call("echo", text=text)


# -- several at once --------------------------------------------------------------------------


def test_requests_in_one_segment_are_answered_in_order(target: Target) -> None:
    wire = target.connect()
    wire.say(b"".join(echo(f"{number}") for number in range(50)))
    assert [wire.hear().text for _ in range(50)] == [f"{number}" for number in range(50)]


def test_a_request_behind_a_slow_one_waits_for_its_turn(target: Target) -> None:
    wire = target.connect()
    wire.say(modern_call("talk_and_wait") + echo("after"))
    wire.hear_head()
    target.check_well()
    target.call("release")
    assert b"waited" in b"".join(wire.chunks())
    assert wire.hear().text == "after"


def test_a_refused_request_does_not_spoil_the_next(target: Target) -> None:
    wire = target.connect()
    wire.say(post(rpc("ping"), content_type="text/plain") + echo("after"))
    assert wire.hear().status == 415
    assert wire.hear().text == "after"


def test_a_connection_ends_with_a_body_that_is_too_long(target: Target) -> None:
    for raw in (
        post(b" " * (MOST_BYTES + 1)),
        head(transfer_encoding="chunked") + chunked(b" " * (MOST_BYTES + 1)),
    ):
        wire = target.connect()
        wire.say(raw + echo("after"))
        refused = wire.hear()
        assert (refused.status, refused.headers["connection"]) == (413, "close")
        assert wire.hear_end() == b""


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_client_that_still_writes_reads_that_its_body_is_too_long(
    target: Target, is_chunked: bool
) -> None:
    # More than the kernel buffers on both sides.
    size = 40_000_000
    wire = target.connect()
    if is_chunked:
        wire.say(head(transfer_encoding="chunked"), chunked(b" " * size))
    else:
        wire.say(head(content_length=size), b" " * size)
    assert wire.hear().status == 413


def test_a_body_in_single_bytes_is_one_body(target: Target) -> None:
    raw = echo("slowly")
    wire = target.connect()
    for index in range(len(raw)):
        wire.say(raw[index : index + 1])
    assert wire.hear().text == "slowly"


def test_who_asks_and_asks_and_reads_nothing_is_not_listened_to(fresh: Target) -> None:
    memory = fresh.call("memory")
    wire = fresh.connect()
    wire.say(echo("validated"))
    assert wire.hear().text == "validated"
    wire.socket.setblocking(False)
    raw, sent = memoryview(echo("x" * 1000) * 2000), 0
    # What the kernel keeps for both sides is some megabytes; what is over that, the server keeps.
    while sent < 32 * 1024 * 1024 and select.select([], [wire.socket], [], 0.5)[1]:
        sent += wire.socket.send(raw[sent % len(raw) :])
    fresh.check_well()
    assert fresh.call("memory") - memory < 24
    assert sent < 32 * 1024 * 1024
    fresh.hang_up_all()
    fresh.check_well()


def test_a_call_ends_with_its_connection_whatever_was_to_follow(fresh: Target) -> None:
    for end in (Wire.close, Wire.vanish):
        wire = fresh.connect()
        wire.say(modern_call("talk_and_wait") + echo("after") + echo("after"))
        wire.hear_head()
        end(wire)
        fresh.wait_for(lambda: fresh.holds()["calls"] == 0)
    fresh.check_well()


# -- heads without end ------------------------------------------------------------------------


def test_a_head_without_end_is_not_read_to_its_end(fresh: Target) -> None:
    memory = fresh.call("memory")
    for part in (b"x-a: " + b"a" * 60_000 + b"\r\n", b"a" * 60_000):
        wire = fresh.connect()
        wire.say(head()[:-2] + b"x-long: ")
        with pytest.raises(ConnectionError):
            for _ in range(200):
                wire.say(part)
    fresh.check_well()
    assert fresh.call("memory") - memory < 8


def test_a_request_for_an_upgrade_is_served_and_the_connection_closed(fresh: Target) -> None:
    # RFC 9110 section 7.8: a server may ignore it. Some clients ask for HTTP/2 in this way with
    # every first request.
    upgrade = {
        "connection": "Upgrade, HTTP2-Settings",
        "upgrade": "h2c",
        "http2_settings": "AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA",
    }
    wire = fresh.connect()
    wire.say(modern_call("echo", fields=upgrade, text="x"))
    assert wire.hear().text == "x"
    assert wire.hear_end() == b""
    fresh.check_well()


# -- bodies that do not arrive ----------------------------------------------------------------


@pytest.mark.parametrize("begun", [BEGUN, BEGUN_IN_CHUNKS], ids=["length", "chunks"])
def test_a_body_that_stops_halfway_is_a_408(tight: Target, begun: bytes) -> None:
    wire = tight.connect()
    wire.say(begun)
    response = wire.hear()
    assert (response.status, response.code) == (408, -32600)
    assert response.headers["connection"] == "close"
    assert wire.hear_end() == b""


@pytest.mark.parametrize("begun", [BEGUN, BEGUN_IN_CHUNKS], ids=["length", "chunks"])
@pytest.mark.parametrize("end", [Wire.hang_up, Wire.close, Wire.vanish])
def test_who_goes_away_in_the_middle_of_a_body_is_a_remark(
    target: Target, begun: bytes, end: object
) -> None:
    start = len(target.said())
    wire = target.connect()
    wire.say(begun)
    assert callable(end)
    end(wire)
    target.wait_for(lambda: WENT_AWAY in target.said_since(start))


def test_who_goes_away_in_the_middle_of_a_head_is_nothing(target: Target) -> None:
    for raw in (b"", b"P", b"POST /mcp HT", head()[:-2]):
        for end in (Wire.hang_up, Wire.close, Wire.vanish):
            wire = target.connect()
            wire.say(raw)
            end(wire)
            wire.close()


# -- ends that are closed ---------------------------------------------------------------------


def test_an_answer_still_comes_to_who_has_said_everything(target: Target) -> None:
    for number in range(20):
        wire = target.connect()
        wire.say(echo(f"{number}"))
        wire.hang_up()
        assert wire.hear().text == f"{number}"
        assert wire.hear_end() == b""


@pytest.mark.parametrize("end", [Wire.hang_up, Wire.close, Wire.vanish])
@pytest.mark.parametrize("tool", ["wait", "talk_and_wait"])
def test_a_modern_call_ends_with_its_connection(target: Target, tool: str, end: object) -> None:
    before = target.holds()["calls"]
    wire = target.connect()
    wire.say(modern_call(tool))
    target.wait_for(lambda: target.holds()["calls"] == before + 1)
    assert callable(end)
    end(wire)
    target.wait_for(lambda: target.holds()["calls"] == before)


@pytest.mark.parametrize("end", [Wire.close, Wire.vanish])
def test_who_goes_away_at_once_gets_no_answer_and_nobody_minds(target: Target, end: object) -> None:
    assert callable(end)
    for _ in range(50):
        wire = target.connect()
        wire.say(echo("x" * 100_000))
        end(wire)
    target.wait_for(lambda: target.holds()["calls"] == 0)
