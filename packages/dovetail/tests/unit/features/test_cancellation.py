"""Which cancellations are understood, and which are ignored."""

from __future__ import annotations

import pytest
from msgspec import Raw

from dovetail.runtime.message_handler import Cancellation, read_cancellation
from dovetail.wire.messages import Notification


def cancelled(params: bytes | None) -> Cancellation | None:
    raw = None if params is None else Raw(params)
    return read_cancellation(Notification("notifications/cancelled", raw))


@pytest.mark.parametrize(
    ("params", "id", "reason"),
    [
        (b'{"requestId":1}', b"1", "no reason given"),
        (b'{"requestId":"1","reason":"bored"}', b'"1"', "bored"),
        (b'{"requestId":-7,"reason":null}', b"-7", "no reason given"),
        (b'{"requestId":"\\u0061"}', b'"a"', "no reason given"),
        (b'{"requestId":1,"reason":"","_meta":{}}', b"1", "no reason given"),
    ],
)
def test_the_id_keeps_its_type_and_has_one_spelling(params: bytes, id: bytes, reason: str) -> None:
    assert cancelled(params) == Cancellation(id, reason)


@pytest.mark.parametrize(
    "params",
    [
        None,
        b"{}",
        b"[]",
        b'{"requestId":null}',
        b'{"requestId":1.5}',
        b'{"requestId":[1]}',
        b'{"requestId":1,"reason":5}',
    ],
)
def test_what_names_no_request_is_ignored(params: bytes | None) -> None:
    assert cancelled(params) is None
