"""Bytes to messages and back; the only importer of a JSON library's coders.

Bad input is a value (`Malformed`), never an exception: a peer that sends rubbish
must not be able to end a stream. Answers are put together from parts that are
already encoded, because a result is encoded exactly once, by whoever knows it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from dovetail.errors import InvalidParamsError, InvalidRequestError, ParseError, RpcError
from dovetail.wire.messages import (
    Batch,
    Incoming,
    Malformed,
    Message,
    Notification,
    Request,
    Response,
)

__all__ = [
    "UNREADABLE",
    "canonical_id",
    "decode",
    "decode_as",
    "decode_json",
    "decoder",
    "encode",
    "encode_batch",
    "encode_canonical",
    "encode_error",
    "encode_id",
    "encode_notification",
    "encode_request",
    "encode_result",
    "encode_with",
    "reason",
]

T = TypeVar("T")

_ABSENT = Raw()


class _Envelope(Struct, gc=False):
    jsonrpc: str
    id: Raw = _ABSENT
    method: str | None = None
    params: Raw = _ABSENT
    result: Raw = _ABSENT
    error: Raw = _ABSENT


class _Readable(Struct, gc=False):
    """What can still be told of an envelope whose members have wrong types."""

    jsonrpc: Raw = _ABSENT
    id: Raw = _ABSENT
    method: Raw = _ABSENT


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_readable = msgspec.json.Decoder(_Readable).decode
_decode_raw = msgspec.json.Decoder(Raw).decode
_decode_array = msgspec.json.Decoder(list[Raw]).decode
_decode_any = msgspec.json.Decoder().decode
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_encode = msgspec.json.Encoder().encode
_encode_canonical = msgspec.json.Encoder(order="deterministic").encode

_OPENING_BRACE = ord("{")
_QUOTE = ord('"')

# A lone surrogate escape is legal JSON text that no UTF-8 string can hold; the decoder
# reports it, and deep nesting, in ways that need words of our own.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def decode(data: bytes) -> Incoming:
    """One message, a batch of them, or the error to answer with."""
    try:
        if not data.isascii():
            # stdio.utf8 (2025-11-25 basic/transports): messages are UTF-8. Raw members are
            # skipped, not read, by the envelope decoder, so the whole text is checked here.
            data.decode()
        return _classify(_decode_envelope(data))
    except msgspec.ValidationError:
        # Decoding stopped at the first member that did not fit: the rest has not been seen yet.
        try:
            return _decode_unusual(data)
        except UNREADABLE as error:
            return _unreadable(error)
    except UNREADABLE as error:
        return _unreadable(error)


def _classify(envelope: _Envelope) -> Message | Malformed:
    raw_id = bytes(envelope.id)
    # Most ids are plain numbers, and there is one way to write those.
    id = raw_id if raw_id.isdigit() else canonical_id(raw_id) if raw_id else None
    if envelope.jsonrpc != "2.0":
        given = _clip(_encode(envelope.jsonrpc))
        return _invalid(f'jsonrpc must be "2.0", got {given}', id)
    if envelope.method is None:
        return _classify_response(envelope, id)
    if raw_id and id is None:
        # base.request.id-not-null (2025-11-25 basic/index): a string or an integer, never null.
        return _invalid(f"id must be a string or an integer, got {_clip(raw_id)}", None)
    params = None if envelope.params is _ABSENT else envelope.params
    if params is not None and memoryview(params)[0] != _OPENING_BRACE:
        if id is None:
            # A notification is never answered, not even a bad one; what it said is lost.
            return Notification(envelope.method)
        text = f"Invalid params: params must be an object, got {_clip(bytes(params))}"
        return Malformed(InvalidParamsError(text), id)
    if id is None:
        return Notification(envelope.method, params)
    return Request(id, envelope.method, params)


def _classify_response(envelope: _Envelope, id: bytes | None) -> Message | Malformed:
    if envelope.error is not _ABSENT:
        return Response(id, error=envelope.error)
    if envelope.result is not _ABSENT and id is not None:
        return Response(id, result=envelope.result)
    return _invalid("method is missing", id)


def _decode_unusual(data: bytes) -> Incoming:
    """An array, or an envelope with a member of a wrong type: say which, keep the id."""
    if data.lstrip()[:1] == b"[":
        return _decode_batch(data)
    try:
        readable = _decode_readable(data)
    except msgspec.ValidationError:
        _decode_raw(data)  # raises where it is no JSON at all
        return _invalid(f"a message is a JSON object, got {_clip(data)}", None)
    id = canonical_id(bytes(readable.id))
    if readable.jsonrpc is _ABSENT:
        return _invalid('jsonrpc is missing; it must be "2.0"', id)
    if memoryview(readable.jsonrpc)[0] != _QUOTE:
        given = _clip(bytes(readable.jsonrpc))
        return _invalid(f'jsonrpc must be "2.0", got {given}', id)
    return _invalid(f"method must be a string, got {_clip(bytes(readable.method))}", id)


def _decode_batch(data: bytes) -> Incoming:
    entries = _decode_array(data)
    if not entries:
        return _invalid("a batch must hold at least one message", None)
    return Batch(tuple(_decode_item(bytes(entry)) for entry in entries))


def _decode_item(data: bytes) -> Message | Malformed:
    if data[:1] == b"[":
        # Not looked into: arrays in arrays would be read once for each level.
        return _invalid("a batch cannot hold another batch", None)
    item = decode(data)
    assert not isinstance(item, Batch)
    return item


def canonical_id(raw: bytes) -> bytes | None:
    """The id's JSON text in one spelling, or None where it is neither string nor integer."""
    if raw[:1] == b'"':
        return _encode(_decode_any(raw)) if b"\\" in raw else raw
    if raw.isdigit() or (raw[:1] == b"-" and raw[1:].isdigit()):
        return raw
    return None


def _unreadable(error: Exception) -> Malformed:
    return Malformed(ParseError(f"Parse error: {reason(error)}"))


def _invalid(what: str, id: bytes | None) -> Malformed:
    return Malformed(InvalidRequestError(f"Invalid request: {what}"), id)


def _clip(raw: bytes, limit: int = 60) -> str:
    text = raw.decode(errors="replace").strip()
    return text if len(text) <= limit else f"{text[:limit]}..."


def reason(error: Exception) -> str:
    """Why something could not be read, in words of ours where the decoder's mislead."""
    if isinstance(error, RecursionError):
        return "the JSON is nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start}"
    text = str(error)
    if "truncated" in text:
        return "the JSON is cut off or holds half of a surrogate pair"
    return text


def decoder(type_: type[T]) -> Callable[[bytes | Raw], T]:
    """Like `decode_as`, looked up once; raises one of UNREADABLE."""
    return msgspec.json.Decoder(type_).decode


def decode_as(type_: type[T], raw: bytes | Raw) -> T:
    """Raw JSON as `type_`; raises `msgspec.ValidationError` where it does not fit."""
    decoder = _decoders.get(type_)
    if decoder is None:
        decoder = _decoders[type_] = msgspec.json.Decoder(type_)
    try:
        value: T = decoder.decode(raw)
    except UNREADABLE as error:
        if isinstance(error, msgspec.ValidationError):
            raise
        # Params were skipped, not read, when the envelope was decoded.
        raise msgspec.ValidationError(reason(error)) from None
    return value


def decode_json(raw: bytes | Raw) -> Any:
    """Raw JSON as dicts, lists and scalars."""
    return decode_as(object, raw)


def encode(value: Any) -> bytes:
    """Any JSON-able value or struct as compact JSON."""
    return _encode(value)


def encode_with(value: Any, hook: Callable[[Any], Any]) -> bytes:
    """Like `encode`; `hook` turns objects of foreign types into plain ones."""
    return msgspec.json.encode(value, enc_hook=hook)


def encode_canonical(value: Any) -> bytes:
    """Equal values as equal bytes, whatever the order of their members."""
    return _encode_canonical(value)


def encode_id(value: str | int) -> bytes:
    """A request id of our own as JSON text."""
    return _encode(value)


def encode_result(id: bytes, result: bytes) -> bytes:
    """A success response around a result that is already JSON."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (id, result)


def encode_error(id: bytes | None, error: RpcError) -> bytes:
    """An error response; `id=None` leaves the member out."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    head = b'{"jsonrpc":"2.0",' if id is None else b'{"jsonrpc":"2.0","id":%b,' % id
    return b'%b"error":%b}' % (head, _encode(body))


def encode_notification(method: str, params: bytes | None = None) -> bytes:
    """A notification around params that are already JSON."""
    if params is None:
        return b'{"jsonrpc":"2.0","method":%b}' % _encode(method)
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (_encode(method), params)


def encode_request(id: bytes, method: str, params: bytes | None = None) -> bytes:
    """A request around params that are already JSON."""
    if params is None:
        return b'{"jsonrpc":"2.0","id":%b,"method":%b}' % (id, _encode(method))
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (id, _encode(method), params)


def encode_batch(messages: list[bytes]) -> bytes:
    """Several encoded messages as one array."""
    return b"[%b]" % b",".join(messages)
