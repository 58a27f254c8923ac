"""The words of ASGI: bodies within their bounds, responses that are whole."""

from __future__ import annotations

import asyncio

import pytest

from dovetail.transports.asgi.messages import (
    BodyTooLargeError,
    BodyTooSlowError,
    ClientGoneError,
    HttpRequest,
    read_body,
    respond,
    watch_for_disconnect,
)
from tests.unit.talk import run
from tests.unit.transports.streamable_http.asgi_client import Response


def read(
    *chunks: bytes, limit: int = 10, declared: bytes | None = None, gone: bool = False
) -> bytes:
    async def play() -> bytes:
        response = Response()
        for index, chunk in enumerate(chunks, 1):
            response.upload(chunk, more=gone or index < len(chunks))
        if gone:
            response.disconnect()
        headers = {} if declared is None else {b"content-length": declared}
        request = HttpRequest({}, headers, response.receive, response.transmit)
        return await read_body(request, limit, 5)

    return run(play())


@pytest.mark.parametrize("chunks", [[b""], [b"0123456789"], [b"01234", b"56789"], [b"", b"a", b""]])
def test_a_body_is_put_together(chunks: list[bytes]) -> None:
    assert read(*chunks) == b"".join(chunks)


@pytest.mark.parametrize("chunks", [[b"0123456789a"], [b"01234", b"567890"], [b"0123456789a", b""]])
def test_a_body_over_the_limit_is_refused(chunks: list[bytes]) -> None:
    with pytest.raises(BodyTooLargeError):
        read(*chunks)


def test_a_declared_length_over_the_limit_is_refused_before_anything_is_read() -> None:
    with pytest.raises(BodyTooLargeError):
        read(declared=b"11")
    with pytest.raises(BodyTooLargeError):
        read(declared=b"9" * 5000)  # more digits than Python reads
    assert read(b"a", declared=b"10") == b"a"
    assert read(b"a", declared=b"many") == b"a"


@pytest.mark.parametrize("chunks", [[], [b"a"], [b"a", b"b"]])
def test_a_client_that_leaves_is_noticed(chunks: list[bytes]) -> None:
    with pytest.raises(ClientGoneError):
        read(*chunks, gone=True)


def test_a_body_that_does_not_end_is_given_up() -> None:
    async def play() -> None:
        response = Response()
        response.upload(b"a", more=True)
        await read_body(HttpRequest({}, {}, response.receive, response.transmit), 10, 0.001)

    with pytest.raises(BodyTooSlowError):
        run(play())


@pytest.mark.parametrize(("status", "length"), [(200, "3"), (400, "3"), (202, "0"), (204, None)])
def test_a_response_says_its_length_where_it_has_one(status: int, length: str | None) -> None:
    async def play() -> Response:
        response = Response()
        body = b"abc" if length == "3" else b""
        await respond(response.transmit, status, body, [(b"x", b"y")])
        return response

    response = run(play())
    assert response.status == status
    assert response.headers.get("content-length") == length
    assert response.headers["x"] == "y"
    assert response.is_complete


def test_a_disconnect_is_told() -> None:
    async def play() -> None:
        response = Response()
        gone = asyncio.Event()
        watch = watch_for_disconnect(response.receive, gone.set)
        response.upload(b"more")
        response.disconnect()
        await watch
        assert gone.is_set()

    run(play())
