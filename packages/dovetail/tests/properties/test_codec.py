"""The codec against arbitrary bytes: it never raises, and what it takes it gives back.

The standard library's reader is the second opinion on what is JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from dovetail.errors import InvalidParamsError, InvalidRequestError, ParseError
from dovetail.wire import codec
from dovetail.wire.messages import (
    Batch,
    Incoming,
    Malformed,
    Message,
    Notification,
    Request,
    Response,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
IDS = st.integers() | st.integers(-(10**30), 10**30) | TEXT
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=3)
WHITESPACE = st.text(" \t\r\n", max_size=3)

VALID = [
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":[1]}}}',
    b'{"jsonrpc":"2.0","id":"\\u00e9\\ud83d\\ude00","method":"ping"}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}',
    b'{"jsonrpc":"2.0","id":-12,"result":{"content":[],"x":1.5e3}}',
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"\xc3\xa9"}}',
    b'[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"},[],7]',
    b'{"jsonrpc":7,"id":"a","method":{"b":null}}',
]


def check(message: Incoming) -> None:
    """What holds of anything that comes out of the codec."""
    if isinstance(message, Batch):
        assert message.items
        for item in message.items:
            assert not isinstance(item, Batch)
            check(item)
        return
    if isinstance(message, Malformed):
        assert type(message.error) in (ParseError, InvalidRequestError, InvalidParamsError)
        codec.encode_error(message.id, message.error)
    if isinstance(message, Request):
        assert message.id is not None
    if not isinstance(message, Notification) and message.id is not None:
        # It can be put into an answer as it is: one line of JSON, an integer or a string.
        assert b"\n" not in message.id
        if len(message.id) < sys.get_int_max_str_digits():
            assert type(json.loads(message.id)) in (int, str)
        assert codec.canonical_id(message.id) == message.id


@given(st.binary())
@example(b"[" * 100_000)
@example(b'{"method":1,"x":' + b"[" * 100_000)
def test_arbitrary_bytes_are_a_value(data: bytes) -> None:
    check(codec.decode(data))


@given(st.lists(st.sampled_from(b'{}[]",:\\ud800 1-e.n\x00\n\xff\xc3'), max_size=60))
def test_bytes_that_look_like_json_are_a_value(data: list[int]) -> None:
    check(codec.decode(bytes(data)))


@given(st.sampled_from(VALID), st.data())
def test_a_valid_message_with_a_few_bytes_changed_is_a_value(valid: bytes, data: Any) -> None:
    changed = bytearray(valid)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(changed)))
        end = data.draw(st.integers(start, min(start + 3, len(changed))))
        changed[start:end] = data.draw(
            st.binary(max_size=3) | st.sampled_from([b"[", b"}", b'"', b"\\ud800", b"null", b"1e9"])
        )
    check(codec.decode(bytes(changed)))


@given(st.sampled_from(VALID), st.data())
def test_a_message_that_is_cut_off_is_a_parse_error(valid: bytes, data: Any) -> None:
    message = codec.decode(valid[: data.draw(st.integers(0, len(valid) - 1))])
    assert isinstance(message, Malformed)
    assert isinstance(message.error, ParseError)
    assert message.id is None


@given(JSON, st.booleans())
def test_any_json_is_a_message_or_an_invalid_one_but_never_unreadable(
    value: Any, ascii_only: bool
) -> None:
    message = codec.decode(json.dumps(value, ensure_ascii=ascii_only).encode())
    check(message)
    assert not (isinstance(message, Malformed) and isinstance(message.error, ParseError))


@given(IDS, st.booleans(), WHITESPACE)
def test_an_id_is_echoed_in_type_and_value_however_it_is_spelled(
    id: int | str, ascii_only: bool, space: str
) -> None:
    spelled = json.dumps(id, ensure_ascii=ascii_only)
    message = codec.decode(
        f'{{"jsonrpc":"2.0","id":{space}{spelled}{space},"method":"m"}}'.encode()
    )
    assert isinstance(message, Request)
    echoed = json.loads(codec.encode_result(message.id, b"{}"))["id"]
    assert type(echoed) is type(id)
    assert echoed == id


@given(st.integers(), st.integers())
def test_integers_are_echoed_byte_for_byte(id: int, exponent: int) -> None:
    written = b"%d" % (id * 10 ** (abs(exponent) % 4000))
    message = codec.decode(b'{"jsonrpc":"2.0","id":%b,"method":"m"}' % written)
    assert isinstance(message, Request)
    assert message.id == written


@given(TEXT)
def test_one_text_has_one_spelling_as_an_id(text: str) -> None:
    plain, escaped = (json.dumps(text, ensure_ascii=e).encode() for e in (False, True))
    assert codec.canonical_id(plain) == codec.canonical_id(escaped)


@given(IDS, TEXT, st.none() | OBJECTS)
def test_a_request_comes_back_as_it_went(id: int | str, method: str, params: Any) -> None:
    raw = None if params is None else codec.encode(params)
    message = codec.decode(codec.encode_request(codec.encode_id(id), method, raw))
    assert isinstance(message, Request)
    assert (json.loads(message.id), message.method) == (id, method)
    assert given_params(message) == raw


@given(TEXT, st.none() | OBJECTS)
def test_a_notification_comes_back_as_it_went(method: str, params: Any) -> None:
    raw = None if params is None else codec.encode(params)
    message = codec.decode(codec.encode_notification(method, raw))
    assert isinstance(message, Notification)
    assert message.method == method
    assert given_params(message) == raw


@given(IDS, JSON)
def test_a_result_comes_back_as_it_went(id: int | str, result: Any) -> None:
    raw = codec.encode(result)
    message = codec.decode(codec.encode_result(codec.encode_id(id), raw))
    assert isinstance(message, Response)
    assert message.id is not None
    assert json.loads(message.id) == id
    assert message.error is None
    assert message.result is not None
    assert bytes(message.result) == raw


@given(st.lists(st.tuples(IDS, TEXT), min_size=1, max_size=5))
def test_a_batch_comes_back_as_it_went(requests: list[tuple[int | str, str]]) -> None:
    encoded = [codec.encode_request(codec.encode_id(id), method) for id, method in requests]
    batch = codec.decode(codec.encode_batch(encoded))
    assert isinstance(batch, Batch)
    assert batch.items == tuple(codec.decode(item) for item in encoded)


@given(OBJECTS, st.randoms())
def test_canonical_json_does_not_depend_on_the_order_of_members(value: Any, random: Any) -> None:
    members = list(value.items())
    random.shuffle(members)
    assert codec.encode_canonical(dict(members)) == codec.encode_canonical(value)


def given_params(message: Message) -> bytes | None:
    assert not isinstance(message, Response)
    return None if message.params is None else bytes(message.params)
