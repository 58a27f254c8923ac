"""The codec: message types, and errors with the right code and id for invalid input."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from msgspec import Raw, Struct

from dovetail.errors import (
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    ParseError,
    ResourceNotFoundError,
    RpcError,
)
from dovetail.wire import codec
from dovetail.wire.messages import Batch, Malformed, Notification, Request, Response

HUGE = b"9" * 5000  # more digits than int() takes
DEEP = 100_000


def members(message: Any) -> dict[str, Any]:
    """A message as a comparable dict; Raw compares by identity."""
    fields = {name: getattr(message, name) for name in message.__struct_fields__}
    return {
        name: bytes(value) if isinstance(value, Raw) else value
        for name, value in fields.items()
        if value is not None
    }


def refused(data: bytes) -> Malformed:
    message = codec.decode(data)
    assert isinstance(message, Malformed), message
    return message


def request(id: bytes = b"1", **rest: bytes) -> bytes:
    parts = {"jsonrpc": b'"2.0"', "id": id, "method": b'"m"', **rest}
    return b"{%b}" % b",".join(b'"%b":%b' % (k.encode(), v) for k, v in parts.items())


# -- what is good -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "kind", "expected"),
    [
        (
            b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":[1]}}',
            Request,
            {"id": b"7", "method": "tools/call", "params": b'{"a":[1]}'},
        ),
        (b'{"jsonrpc":"2.0","id":"x","method":"m"}', Request, {"id": b'"x"', "method": "m"}),
        (
            b'\n\t {"method":"m", "id" : 1 , "params" : { } ,"jsonrpc":"2.0"}\r\n',
            Request,
            {"id": b"1", "method": "m", "params": b"{ }"},
        ),
        (
            b'{"jsonrpc":"2.0","method":"m","params":{"a":null}}',
            Notification,
            {"method": "m", "params": b'{"a":null}'},
        ),
        (b'{"jsonrpc":"2.0","method":"m"}', Notification, {"method": "m"}),
        (
            b'{"jsonrpc":"2.0","id":1,"result":{"a":1}}',
            Response,
            {"id": b"1", "result": b'{"a":1}'},
        ),
        (b'{"jsonrpc":"2.0","id":1,"result":null}', Response, {"id": b"1", "result": b"null"}),
        (b'{"jsonrpc":"2.0","id":1,"error":{}}', Response, {"id": b"1", "error": b"{}"}),
        (b'{"jsonrpc":"2.0","id":null,"error":{}}', Response, {"error": b"{}"}),
        (b'{"jsonrpc":"2.0","error":{}}', Response, {"error": b"{}"}),
    ],
)
def test_messages_are_classified_by_their_members(
    data: bytes, kind: type, expected: dict[str, Any]
) -> None:
    message = codec.decode(data)
    assert type(message) is kind
    assert members(message) == expected


def test_a_response_with_result_and_error_is_an_error() -> None:
    message = codec.decode(b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1}}')
    assert members(message) == {"id": b"1", "error": b'{"code":1}'}


def test_a_method_makes_a_request_whatever_else_is_there() -> None:
    message = codec.decode(request(result=b"{}", error=b"{}", extra=b"[1]"))
    assert members(message) == {"id": b"1", "method": "m"}


def test_the_last_of_duplicate_members_is_used() -> None:
    data = b'{"jsonrpc":"1.0","id":1,"method":"a","jsonrpc":"2.0","id":"2","method":"b"}'
    assert members(codec.decode(data)) == {"id": b'"2"', "method": "b"}


def test_non_ascii_text_is_decoded() -> None:
    message = codec.decode('{"jsonrpc":"2.0","id":"é","method":"mé","params":{"a":"😀"}}'.encode())
    assert members(message) == {
        "id": '"é"'.encode(),
        "method": "mé",
        "params": '{"a":"😀"}'.encode(),
    }


# -- ids ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        (b"0", b"0"),
        (b"-0", b"-0"),
        (b"-17", b"-17"),
        (b"18446744073709551617", b"18446744073709551617"),
        (HUGE, HUGE),
        (b"-" + HUGE, b"-" + HUGE),
        (b'""', b'""'),
        (b'"1"', b'"1"'),
        (b'" 1 "', b'" 1 "'),
        (b'"null"', b'"null"'),
        (b'"\\u0041\\/"', b'"A/"'),
        (b'"\\n\\"\\\\"', b'"\\n\\"\\\\"'),
        (b'"\\u0000"', b'"\\u0000"'),
        (b'"\\ud83d\\ude00"', '"😀"'.encode()),
    ],
)
def test_an_id_keeps_its_type_and_value(written: bytes, kept: bytes) -> None:
    message = codec.decode(request(written))
    assert isinstance(message, Request)
    assert message.id == kept
    assert codec.canonical_id(kept) == kept


@pytest.mark.parametrize(
    "id", [b"null", b"true", b"1.0", b"1e3", b"-1.5", b"[]", b"[1]", b"{}", b'{"a":1}']
)
def test_a_request_with_an_invalid_id_gets_an_error_without_id(id: bytes) -> None:
    message = refused(request(id))
    assert isinstance(message.error, InvalidRequestError)
    assert message.error.message == (
        f"Invalid request: id must be a string or an integer, got {id.decode()}"
    )
    assert message.id is None


@pytest.mark.parametrize("raw", [b"", b"-", b"1.0", b"null", b"[1]", b"1 ", b"x"])
def test_other_types_have_no_canonical_id(raw: bytes) -> None:
    assert codec.canonical_id(raw) is None


# -- what is no JSON ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "cut off"),
        (b" ", "cut off"),
        (b"{", "cut off"),
        (b'{"jsonrpc":"2.0","id":1,"method":"m"', "cut off"),
        (b"\xef\xbb\xbf" + request(), "invalid character (byte 0)"),
        (b"\0", "invalid character (byte 0)"),
        (request() + b"\0", "trailing characters"),
        (request() + b" x", "trailing characters"),
        (request() + request(), "trailing characters"),
        (request(b"01"), "invalid number"),
        (request(b"+1"), "invalid character"),
        (request(b"NaN"), "invalid character"),
        (request(b"'1'"), "invalid character"),
        (request(b'"a\nb"'), "invalid character"),
        (request(b'"\\q"'), "invalid escaped character"),
        (request(params=b'{"a":1,}'), "trailing comma"),
        (request(params=b'{"a":"\xff"}'), "not UTF-8 at byte 52"),
        (request(params=b'{"a":"\xed\xa0\x80"}'), "not UTF-8"),
        (request(b'"\xc3"'), "not UTF-8"),
        (request(params=b'{"a":"\\ud800"}'), "half of a surrogate pair"),
        (request(b'"\\ud800"'), "hex escape"),
        (request(method=b'"\\udc00"'), "surrogate pair"),
        (request(params=b'{"a":%b%b}' % (b"[" * DEEP, b"]" * DEEP)), "nested too deeply"),
        (request(params=b'{"a":' * DEEP + b"1" + b"}" * DEEP), "nested too deeply"),
        # an array is only looked into after the envelope has been given up
        (b"[" * DEEP + b"]" * DEEP, "nested too deeply"),
        (b"[" * DEEP, "nested too deeply"),
        (b"[%b" % request(), "cut off"),
        (b"[%b,]" % request(), "trailing comma"),
        (b"[%b]x" % request(), "trailing characters"),
        (b'["\\ud800"]', "half of a surrogate pair"),
        # so is whatever follows a member of a wrong type
        (b'{"method":7,', "cut off"),
        (b'{"jsonrpc":2,"x":"\\ud800"}', "half of a surrogate pair"),
        (b'{"jsonrpc":2,"id":"\\ud800"}', "half of a surrogate pair"),
        (b'{"jsonrpc":2,"x":%b' % (b"[" * DEEP), "nested too deeply"),
        (b'{"jsonrpc":2} x', "trailing characters"),
        (b"7 x", "trailing characters"),
        (b'"x', "cut off"),
        (b"nul", "cut off"),
        (b"True", "invalid character"),
    ],
)
def test_invalid_json_is_a_parse_error_without_id(data: bytes, reason: str) -> None:
    message = refused(data)
    assert isinstance(message.error, ParseError)
    assert message.error.message.startswith("Parse error: ")
    assert reason in message.error.message
    assert message.id is None


# -- what is no message -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "what", "id"),
    [
        (b"{}", 'jsonrpc is missing; it must be "2.0"', None),
        (b'{"id":7}', 'jsonrpc is missing; it must be "2.0"', b"7"),
        (b'{"method":"m"}', 'jsonrpc is missing; it must be "2.0"', None),
        (request(jsonrpc=b'"1.0"'), 'jsonrpc must be "2.0", got "1.0"', b"1"),
        (request(jsonrpc=b"2.0"), 'jsonrpc must be "2.0", got 2.0', b"1"),
        (request(jsonrpc=b"null"), 'jsonrpc must be "2.0", got null', b"1"),
        (request(b'"\\u00e9"', jsonrpc=b"2"), 'jsonrpc must be "2.0", got 2', '"é"'.encode()),
        (request(b"1.5", jsonrpc=b"2"), 'jsonrpc must be "2.0", got 2', None),
        (request(b"1.5", jsonrpc=b'"2"'), 'jsonrpc must be "2.0", got "2"', None),
        (request(method=b"5"), "method must be a string, got 5", b"1"),
        (request(method=b'["m"]'), 'method must be a string, got ["m"]', b"1"),
        (b'{"jsonrpc":"2.0","method":5}', "method must be a string, got 5", None),
        (request(method=b"null"), "method is missing", b"1"),
        (b'{"jsonrpc":"2.0","id":1}', "method is missing", b"1"),
        (b'{"jsonrpc":"2.0"}', "method is missing", None),
        (b'{"jsonrpc":"2.0","result":{}}', "method is missing", None),
        (b'{"jsonrpc":"2.0","id":1.5,"result":{}}', "method is missing", None),
        (b"[]", "a batch must hold at least one message", None),
        (b" [ ] ", "a batch must hold at least one message", None),
        (b"7", "a message is a JSON object, got 7", None),
        (b' "x" ', 'a message is a JSON object, got "x"', None),
        (b"null", "a message is a JSON object, got null", None),
    ],
)
def test_an_invalid_message_is_an_invalid_request_with_its_id(
    data: bytes, what: str, id: bytes | None
) -> None:
    message = refused(data)
    assert isinstance(message.error, InvalidRequestError)
    assert message.error.message == f"Invalid request: {what}"
    assert message.id == id


@pytest.mark.parametrize("params", [b"null", b"[1]", b'"x"', b"7", b"false"])
def test_params_of_another_type_are_invalid_params(params: bytes) -> None:
    message = refused(request(b'"q"', params=params))
    assert isinstance(message.error, InvalidParamsError)
    assert message.error.message == (
        f"Invalid params: params must be an object, got {params.decode()}"
    )
    assert message.id == b'"q"'


@pytest.mark.parametrize("params", [b"null", b"[1]", b'"x"', b"7"])
def test_invalid_params_of_a_notification_are_dropped(
    params: bytes,
) -> None:
    message = codec.decode(b'{"jsonrpc":"2.0","method":"m","params":%b}' % params)
    assert message == Notification("m")


def test_error_messages_truncate_the_input() -> None:
    message = refused(request(params=b'["%b"]' % (b"x" * 1000)))
    assert message.error.message.endswith('got ["%s...' % ("x" * 58))


# -- batches ------------------------------------------------------------------------------


def test_each_item_of_a_batch_is_decoded_separately() -> None:
    batch = codec.decode(
        b' [1, %b,{"jsonrpc":"2.0","method":"n"}, {"id":5} ,{"jsonrpc":"2.0","id":2,"result":{}}]'
        % request()
    )
    assert isinstance(batch, Batch)
    bad, good, told, nameless, answer = batch.items
    assert isinstance(bad, Malformed)
    assert isinstance(bad.error, InvalidRequestError)
    assert good == Request(b"1", "m")
    assert told == Notification("n")
    assert isinstance(nameless, Malformed)
    assert nameless.id == b"5"
    assert members(answer) == {"id": b"2", "result": b"{}"}


@pytest.mark.parametrize("inner", [b"[]", b"[%b]" % request(), b"[[[1]]]"])
def test_a_nested_batch_is_one_malformed_item(inner: bytes) -> None:
    batch = codec.decode(b"[ %b ,%b]" % (inner, request()))
    assert isinstance(batch, Batch)
    bad, good = batch.items
    assert isinstance(bad, Malformed)
    assert isinstance(bad.error, InvalidRequestError)
    assert bad.error.message == "Invalid request: a batch cannot hold another batch"
    assert good == Request(b"1", "m")


# -- decoding parts -----------------------------------------------------------------------


class Point(Struct):
    x: int
    y: int = 0


def test_json_is_decoded_as_the_given_type() -> None:
    assert codec.decode_as(Point, b'{"x":1}') == Point(1)
    assert codec.decode_as(Point, Raw(b'{"x":1,"y":2}')) == Point(1, 2)
    assert codec.decode_as(dict[str, int], b'{"x":1}') == {"x": 1}
    assert codec.decode_json(b'{"x":[1,null,"a"]}') == {"x": [1, None, "a"]}


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'{"y":1}', "missing required field `x`"),
        (b'{"x":"a"}', "Expected `int`, got `str`"),
        (b'{"x":1', "cut off"),
        (b'{"x":1}]', "trailing characters"),
        (b'{"x":1,"z":%b' % (b"[" * DEEP), "nested too deeply"),
        (b'{"x":1e999}', "out of range"),
    ],
)
def test_invalid_json_is_a_validation_error(raw: bytes, reason: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=reason):
        codec.decode_as(Point, raw)


# -- encoding -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoded", "expected"),
    [
        (codec.encode({"b": 1, "a": [None, "é"]}), '{"b":1,"a":[null,"é"]}'.encode()),
        (codec.encode_canonical({"b": 1, "a": {"d": 1, "c": 2}}), b'{"a":{"c":2,"d":1},"b":1}'),
        (codec.encode_id(7), b"7"),
        (codec.encode_id('a"b'), b'"a\\"b"'),
        (codec.encode_result(b"1", b"{}"), b'{"jsonrpc":"2.0","id":1,"result":{}}'),
        (
            codec.encode_error(b'"1"', InternalError("no")),
            b'{"jsonrpc":"2.0","id":"1","error":{"code":-32603,"message":"no"}}',
        ),
        (
            codec.encode_error(b"null", ResourceNotFoundError("a://b")),
            b'{"jsonrpc":"2.0","id":null,"error":{"code":-32002,'
            b'"message":"Resource not found: a://b","data":{"uri":"a://b"}}}',
        ),
        (
            codec.encode_error(None, RpcError("no", code=5)),
            b'{"jsonrpc":"2.0","error":{"code":5,"message":"no"}}',
        ),
        (codec.encode_notification('a"'), b'{"jsonrpc":"2.0","method":"a\\""}'),
        (
            codec.encode_notification("a", b'{"b":1}'),
            b'{"jsonrpc":"2.0","method":"a","params":{"b":1}}',
        ),
        (codec.encode_request(b"1", 'a"'), b'{"jsonrpc":"2.0","id":1,"method":"a\\""}'),
        (
            codec.encode_request(b'"x"', "a", b"{}"),
            b'{"jsonrpc":"2.0","id":"x","method":"a","params":{}}',
        ),
        (codec.encode_batch([b"{}", b"[]"]), b"[{},[]]"),
    ],
)
def test_messages_are_built_from_encoded_parts(encoded: bytes, expected: bytes) -> None:
    assert encoded == expected
    json.loads(encoded)


def test_null_error_data_is_omitted() -> None:
    assert b"data" not in codec.encode_error(b"1", RpcError("no", None, code=1))
    assert b'"data":0' in codec.encode_error(b"1", RpcError("no", 0, code=1))


def test_a_hook_converts_unsupported_types() -> None:
    assert codec.encode_with({"a": [3 + 4j]}, str) == b'{"a":["(3+4j)"]}'
