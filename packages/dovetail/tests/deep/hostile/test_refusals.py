"""One bad request each: it gets a status and an error that say what was wrong, at once.

`SESSION` stands for the id of a session that exists.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.deep.hostile.conftest import Target
from tests.deep.hostile.wire import (
    BATCHES,
    LEGACY,
    MODERN,
    Response,
    chunked,
    head,
    initialize,
    modern_call,
    post,
    rpc,
)

OWN = {"mcp_session_id": "SESSION"}
EVENTS = {"accept": "text/event-stream"}
PING = rpc("ping")
CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":%b}}'


def ask_in_session(target: Target, raw: bytes, revision: str = LEGACY) -> Response:
    session = target.open_session(revision)
    to = raw.partition(b" ")[0].decode("latin-1")
    return target.ask(raw.replace(b": SESSION\r", f": {session}\r".encode()), to=to)


# What is wrong -> the request, the status, the code of the error.
REFUSED: dict[str, tuple[bytes, int, int]] = {
    # -- types
    "Content-Type text/plain": (post(PING, content_type="text/plain", **OWN), 415, -32600),
    "no Content-Type": (post(PING, content_type=None, **OWN), 415, -32600),
    "a form": (post(PING, content_type="multipart/form-data; boundary=x", **OWN), 415, -32600),
    "Accept text/html": (post(PING, accept="text/html", **OWN), 406, -32600),
    "Accept events only": (post(PING, **EVENTS, **OWN), 406, -32600),
    "GET for JSON": (head("GET", accept="application/json", **OWN), 406, -32600),
    # -- revisions
    "unknown version": (post(PING, mcp_protocol_version="1999-01-01", **OWN), 400, -32600),
    "version of no date": (post(PING, mcp_protocol_version="\xff", **OWN), 400, -32600),
    "version twice": (post(PING, mcp_protocol_version=[LEGACY, LEGACY], **OWN), 400, -32600),
    "modern header, legacy body": (post(PING, mcp_protocol_version=MODERN), 400, -32020),
    "modern body, no header": (
        modern_call("echo", fields={"mcp_protocol_version": None}, text="x"),
        400,
        -32020,
    ),
    "modern body, other header": (
        modern_call("echo", fields={"mcp_protocol_version": LEGACY}, text="x"),
        400,
        -32020,
    ),
    "method said twice": (
        modern_call("echo", fields={"mcp_method": ["tools/call", "tools/list"]}, text="x"),
        400,
        -32600,
    ),
    "parameter said twice": (
        modern_call("echo", fields={"mcp_param_a": ["1", "2"]}, text="x"),
        400,
        -32600,
    ),
    # -- sessions
    "no session": (post(PING), 400, -32600),
    "unknown session": (post(PING, mcp_session_id="made-up"), 404, -32600),
    "empty session": (post(PING, mcp_session_id=""), 404, -32600),
    "two sessions": (post(PING, mcp_session_id=["SESSION", "made-up"]), 400, -32600),
    "GET without session": (head("GET", **EVENTS), 400, -32600),
    "GET in unknown session": (head("GET", mcp_session_id="made-up", **EVENTS), 404, -32600),
    "DELETE without session": (head("DELETE"), 400, -32600),
    "DELETE of unknown session": (head("DELETE", mcp_session_id="made-up"), 404, -32600),
    "unknown event": (head("GET", last_event_id="9" * 5000 + "_9", **EVENTS, **OWN), 400, -32600),
    # -- bodies
    "no body": (head(**OWN), 400, -32700),
    "half a body": (post(PING[:20], **OWN), 400, -32700),
    "half a body, no session": (post(PING[:20]), 400, -32700),
    "no JSON": (post(b"hello", **OWN), 400, -32700),
    "NUL": (post(PING.replace(b"ping", b"pi\0ng"), **OWN), 400, -32700),
    "only NUL": (post(b"\0" * 1000, **OWN), 400, -32700),
    "not UTF-8": (post(PING.replace(b"ping", b"\xff"), **OWN), 400, -32700),
    "UTF-16": (post(PING.decode().encode("utf-16"), **OWN), 400, -32700),
    "deep arrays": (post(b"[" * 100_000 + b"]" * 100_000, **OWN), 400, -32700),
    "deep arrays, unfinished": (post(b"[" * 200_000, **OWN), 400, -32700),
    "deep arguments": (
        post(CALL % (b'{"a":' * 30_000 + b"1" + b"}" * 30_000), **OWN),
        400,
        -32700,
    ),
    "a number": (post(b"5", **OWN), 400, -32600),
    "no method": (post(b'{"jsonrpc":"2.0","id":1}', **OWN), 400, -32600),
    "id null": (post(PING.replace(b'"id": 1', b'"id": null'), **OWN), 400, -32600),
    "empty batch": (post(b"[]", **OWN), 400, -32600),
    "batch where there are none": (post(b"[" + PING + b"]", **OWN), 400, -32600),
    "too long": (post(b" " * 300_000, **OWN), 413, -32600),
    "said to be too long": (head(content_length=10**12, **OWN), 413, -32600),
    "too long in chunks": (
        head(transfer_encoding="chunked", **OWN) + chunked(*[b" " * 60_000] * 6),
        413,
        -32600,
    ),
    # -- where from, where to
    "foreign Host": (post(PING, host="evil.example", **OWN), 403, -32600),
    "Host that begins like ours": (post(PING, host="localhost.evil.example", **OWN), 403, -32600),
    "Host after an address": (post(PING, host="[::1].evil.example", **OWN), 403, -32600),
    "empty Host": (post(PING, host="", **OWN), 403, -32600),
    "foreign Origin": (post(PING, origin="https://evil.example", **OWN), 403, -32600),
    "Origin null": (post(PING, origin="null", **OWN), 403, -32600),
    "Origin that cannot be read": (post(PING, origin="http://[::1", **OWN), 403, -32600),
    "foreign Origin of GET": (
        head("GET", origin="https://evil.example", **EVENTS, **OWN),
        403,
        -32600,
    ),
    "HTTP/1.0 without Host": (post(PING, version="1.0", host=None, **OWN), 403, -32600),
    # -- methods
    "PUT": (head("PUT", content_length=0, **OWN), 405, -32600),
    "PATCH": (head("PATCH", content_length=0, **OWN), 405, -32600),
    "TRACE": (head("TRACE", **OWN), 405, -32600),
}


@pytest.mark.parametrize(("raw", "status", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_a_bad_request_is_told_what_is_wrong(
    target: Target, raw: bytes, status: int, code: int
) -> None:
    response = ask_in_session(target, raw)
    assert (response.status, response.code) == (status, code), response.body
    assert response.json["error"]["message"]
    assert ("allow" in response.headers) is (status == 405)


TAKEN: dict[str, bytes] = {
    "as it should be": post(PING, mcp_protocol_version=LEGACY, **OWN),
    "no version header": post(PING, **OWN),
    "a charset": post(PING, content_type="Application/JSON; charset=utf-8", **OWN),
    "Accept */*": post(PING, accept="*/*", **OWN),
    "Accept application/*": post(PING, accept="application/*", **OWN),
    "no Accept": post(PING, accept=None, **OWN),
    "Accept on two lines": post(PING, accept=["text/event-stream", "application/json"], **OWN),
    "in chunks": head(transfer_encoding="chunked", **OWN) + chunked(PING[:3], PING[3:9], PING[9:]),
    "in chunks with extensions": head(transfer_encoding="chunked", **OWN)
    + b"%x;a=b\r\n%b\r\n0\r\nx-trailer: 1\r\n\r\n" % (len(PING), PING),
    "told to go on first": head(expect="100-continue", content_length=len(PING), **OWN) + PING,
    "HTTP/1.0": post(PING, version="1.0", **OWN),
    "a query": post(PING, target="/mcp?a=b", **OWN),
    "a slash": post(PING, target="/mcp/", **OWN),
    "a page of this machine": post(PING, origin="http://localhost:3000", **OWN),
}


@pytest.mark.parametrize("raw", TAKEN.values(), ids=TAKEN.keys())
def test_what_is_odd_but_right_is_served(target: Target, raw: bytes) -> None:
    response = ask_in_session(target, raw)
    assert (response.status, response.json["result"]) == (200, {})


def test_a_method_without_a_body_in_its_answer_gets_none(target: Target) -> None:
    assert ask_in_session(target, head("HEAD", **OWN)).status == 405
    options = ask_in_session(target, head("OPTIONS"))
    assert (options.status, options.body) == (204, b"")


@pytest.mark.parametrize("path", ["/", "/mcpx", "/x/../mcp", "/%ff%zz", "/mcp%2f..", "//mcp"])
def test_there_is_one_path(target: Target, path: str) -> None:
    assert target.ask(post(PING, target=path)).status == 404


# Bytes that the HTTP parsers judge, and they differ: what httptools says, and what h11 says.
NOT_HTTP: dict[str, tuple[bytes, tuple[int, int]]] = {
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 100, (400, 400)),
    "any bytes": (bytes(range(256)) * 4 + b"\r\n\r\n", (400, 400)),
    "length below zero": (head(content_length=-1, **OWN), (400, 400)),
    "length of a hundred digits": (head(content_length="9" * 100, **OWN), (400, 400)),
    "two lengths": (head(content_length=["5", "6"], **OWN) + b"123456", (400, 400)),
    "unknown encoding": (head(transfer_encoding="gzip", **OWN) + PING, (400, 400)),
    "disguised encoding": (post(PING, transfer_encoding="xchunked", **OWN), (400, 400)),
    "chunk of no size": (head(transfer_encoding="chunked") + b"zz\r\nabc\r\n", (400, 400)),
    "chunk of any size": (
        head(transfer_encoding="chunked") + b"f" * 40 + b"\r\nabc\r\n",
        (400, 400),
    ),
    "length and chunks": (
        head(transfer_encoding="chunked", content_length=5, **OWN) + chunked(PING),
        (400, 400),
    ),
    "two hosts": (post(PING, host=["127.0.0.1", "evil.example"], **OWN), (400, 400)),
    "no host": (post(PING, host=None, **OWN), (400, 400)),
    "NUL in a header": (post(PING, mcp_session_id="a\0b"), (400, 400)),
    "blank before the colon": (head().replace(b"host:", b"host :"), (400, 400)),
    "a path in no alphabet": (post(PING, target="/m\xffcp"), (400, 400)),
    "made-up method": (head("BREW", content_length=0), (400, 405)),
}


@pytest.mark.parametrize(("raw", "statuses"), NOT_HTTP.values(), ids=NOT_HTTP.keys())
def test_what_is_no_http_is_refused_too(
    target: Target, raw: bytes, statuses: tuple[int, int]
) -> None:
    response = ask_in_session(target, raw)
    assert response.status == dict(zip(("httptools", "h11"), statuses, strict=True))[target.parser]
    assert response.body


def batch(*ids: Any) -> bytes:
    return b"[" + b",".join(rpc("ping", id) for id in ids) + b"]"


def test_an_id_stands_once_in_a_batch(target: Target) -> None:
    response = ask_in_session(target, post(batch(1, 1, "1", 2), **OWN), BATCHES)
    refused = [answer["id"] for answer in response.json if "error" in answer]
    assert (response.status, len(response.json), refused) == (200, 4, [1])


def test_an_id_cannot_be_used_twice_at_once(target: Target) -> None:
    session = target.open_session()
    own = {"mcp_session_id": session}
    wait = rpc("tools/call", 7, name="talk_and_wait", arguments={})
    wire = target.connect()
    wire.say(post(wait, **own))
    wire.hear_head()
    again = target.ask(post(rpc("ping", 7), **own))
    assert (again.status, again.code) == (200, -32600)
    target.call("release")
    assert b'"id":7' in b"".join(wire.chunks())
    assert target.ask(post(rpc("ping", 7), **own)).json["result"] == {}


def test_a_huge_batch_is_answered(target: Target) -> None:
    # Only calls that wait count against `max_calls_per_client`; these do not.
    response = ask_in_session(target, post(batch(*range(3000)), **OWN), BATCHES)
    answered = [answer["id"] for answer in response.json if "result" in answer]
    assert (response.status, sorted(answered)) == (200, list(range(3000)))


def test_an_initialize_in_any_shape_opens_one_session_or_none(target: Target) -> None:
    before = target.holds()["sessions"]
    assert target.ask(post(rpc("initialize", protocolVersion=5))).code == -32602
    assert target.holds()["sessions"] == before
    assert target.ask(initialize("1999-01-01")).json["result"]["protocolVersion"] == LEGACY
    assert target.holds()["sessions"] == before + 1
