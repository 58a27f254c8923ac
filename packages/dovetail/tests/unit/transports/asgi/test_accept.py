"""What a client takes, by its Accept header."""

from __future__ import annotations

import pytest

from dovetail.transports.asgi.messages import accepts

EVENTS = b"text/event-stream"


@pytest.mark.parametrize(
    "accept",
    [
        None,
        b"",
        b" ",
        b"*/*",
        b"text/*",
        b"text/event-stream",
        b"Text/Event-Stream",
        b"application/json, text/event-stream",
        b"application/json,text/event-stream;q=0.5",
        b"text/html, */*;q=0.1",
        b"text/event-stream; charset=utf-8; q=1.000",
        b"*/*;q=0, text/*",
    ],
)
def test_a_type_that_is_named_or_covered_is_taken(accept: bytes | None) -> None:
    assert accepts(accept, EVENTS)


@pytest.mark.parametrize(
    "accept",
    [
        b"application/json",
        b"application/*",
        b"text/event-streams",
        b"x-text/event-stream",
        b"text/event-stream;q=0",
        b"*/*, text/event-stream;q=0.000",
        b"*/*, text/*; q=0",
        b",;=",
    ],
)
def test_a_type_that_is_not_or_with_no_weight_is_not_taken(accept: bytes) -> None:
    assert not accepts(accept, EVENTS)
