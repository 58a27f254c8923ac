"""Encodes and decodes JSON-RPC messages; the only module that creates JSON encoders and decoders.

Invalid input becomes a `Malformed` value, not an exception, so that a peer cannot end a stream with
it. Responses are built from parts that are already encoded, so a result is encoded only once.
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
    "encode_message",
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
    """The readable members of an envelope with members of the wrong type."""

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

# Errors of the decoder. `reason` replaces the text of two of them: for deep nesting, and for a lone
# surrogate escape, which is legal JSON but not valid in UTF-8.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def decode(data: bytes) -> Incoming:
    """Decode a message or a batch; invalid input gives the error to answer with."""
    try:
        if not data.isascii():
            # stdio.utf8 (2025-11-25 basic/transports): messages are UTF-8. Raw members are
            # skipped, not read, by the envelope decoder, so the whole text is checked here.
            data.decode()
        return _classify(_decode_envelope(data))
    except msgspec.ValidationError:
        # Decoding stopped at the first invalid member; the rest has not been read.
        try:
            return _decode_unusual(data)
        except UNREADABLE as error:
            return _unreadable(error)
    except UNREADABLE as error:
        return _unreadable(error)


def _classify(envelope: _Envelope) -> Message | Malformed:
    raw_id = bytes(envelope.id)
    # Most ids are digits only, which have one representation.
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
            # A notification is never answered, so its invalid params are dropped.
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
    """Decode a batch, or describe the invalid member of an envelope and keep the id."""
    if data.lstrip()[:1] == b"[":
        return _decode_batch(data)
    try:
        readable = _decode_readable(data)
    except msgspec.ValidationError:
        _decode_raw(data)  # raises if it is not JSON
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
        # Not decoded, because nested arrays would be read once for each level.
        return _invalid("a batch cannot hold another batch", None)
    item = decode(data)
    assert not isinstance(item, Batch)
    return item


def canonical_id(raw: bytes) -> bytes | None:
    """The normalized JSON of an id, or None if it is neither a string nor an integer."""
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
    """The reason for a decoding error, clearer than the decoder's text in some cases."""
    if isinstance(error, RecursionError):
        return "the JSON is nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start}"
    text = str(error)
    if "truncated" in text:
        return "the JSON is cut off or holds half of a surrogate pair"
    return text


def decoder(type_: type[T]) -> Callable[[bytes | Raw], T]:
    """A decoder function for `type_`; it raises one of UNREADABLE."""
    return msgspec.json.Decoder(type_).decode


def decode_as(type_: type[T], raw: bytes | Raw) -> T:
    """Decode JSON as `type_`; raises `msgspec.ValidationError` if it is invalid."""
    decoder = _decoders.get(type_)
    if decoder is None:
        decoder = _decoders[type_] = msgspec.json.Decoder(type_)
    try:
        value: T = decoder.decode(raw)
    except UNREADABLE as error:
        if isinstance(error, msgspec.ValidationError):
            raise
        # The envelope decoder skips params, so a syntax error is found only here.
        raise msgspec.ValidationError(reason(error)) from None
    return value


def decode_json(raw: bytes | Raw) -> Any:
    """Decode JSON as dicts, lists and scalars."""
    return decode_as(object, raw)


def encode(value: Any) -> bytes:
    """Encode a value or struct as compact JSON."""
    return _encode(value)


def encode_with(value: Any, hook: Callable[[Any], Any]) -> bytes:
    """Like `encode`; `hook` converts objects of unsupported types."""
    return msgspec.json.encode(value, enc_hook=hook)


def encode_canonical(value: Any) -> bytes:
    """Encode with sorted members, so that equal values give equal bytes."""
    return _encode_canonical(value)


def encode_id(value: str | int) -> bytes:
    """Encode a request id."""
    return _encode(value)


def encode_result(id: bytes, result: bytes) -> bytes:
    """A success response; `result` is encoded JSON."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (id, result)


def encode_error(id: bytes | None, error: RpcError) -> bytes:
    """An error response; `id=None` omits the id."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    head = b'{"jsonrpc":"2.0",' if id is None else b'{"jsonrpc":"2.0","id":%b,' % id
    return b'%b"error":%b}' % (head, _encode(body))


def encode_notification(method: str, params: bytes | Raw | None = None) -> bytes:
    """A notification; `params` is encoded JSON."""
    if params is None:
        return b'{"jsonrpc":"2.0","method":%b}' % _encode(method)
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (_encode(method), params)


def encode_request(id: bytes, method: str, params: bytes | Raw | None = None) -> bytes:
    """A request; `params` is encoded JSON."""
    if params is None:
        return b'{"jsonrpc":"2.0","id":%b,"method":%b}' % (id, _encode(method))
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (id, _encode(method), params)


def encode_message(message: Request | Notification) -> bytes:
    """A request or notification of our own."""
    if isinstance(message, Notification):
        return encode_notification(message.method, message.params)
    return encode_request(message.id, message.method, message.params)


def encode_batch(messages: list[bytes]) -> bytes:
    """A batch of encoded messages."""
    return b"[%b]" % b",".join(messages)
