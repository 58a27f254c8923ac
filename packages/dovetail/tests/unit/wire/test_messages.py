"""Messages: frozen values with equality."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from msgspec import Raw

from dovetail.errors import ParseError
from dovetail.wire.messages import (
    Batch,
    Incoming,
    Malformed,
    Message,
    Notification,
    Request,
    Response,
)

EXAMPLES: list[Any] = [
    Request(b"1", "a"),
    Notification("a"),
    Response(b"1"),
    Malformed(ParseError("bad")),
    Batch((Notification("a"),)),
]


def test_the_set_of_messages_is_closed() -> None:
    assert set(get_args(Message)) == {Request, Notification, Response}
    assert set(get_args(Incoming)) == {Request, Notification, Response, Malformed, Batch}
    assert {type(example) for example in EXAMPLES} == set(get_args(Incoming))


@pytest.mark.parametrize("message", EXAMPLES, ids=lambda message: type(message).__name__)
def test_a_message_cannot_be_changed(message: Any) -> None:
    with pytest.raises(AttributeError, match="immutable"):
        setattr(message, message.__struct_fields__[0], None)


def test_an_id_is_its_json_text_so_one_and_the_string_one_differ() -> None:
    assert Request(b"1", "a") == Request(b"1", "a")
    assert Request(b"1", "a") != Request(b'"1"', "a")


@pytest.mark.parametrize(
    ("message", "absent"),
    [
        (Request(b"1", "a"), ["params"]),
        (Notification("a"), ["params"]),
        (Response(None, result=Raw(b"{}")), ["id", "error"]),
        (Response(b"1", error=Raw(b"{}")), ["result"]),
        (Malformed(ParseError("bad")), ["id"]),
    ],
)
def test_absent_members_are_none(message: Any, absent: list[str]) -> None:
    assert [name for name in message.__struct_fields__ if getattr(message, name) is None] == absent
