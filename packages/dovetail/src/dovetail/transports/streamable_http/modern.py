"""POST at 2026-07-28: one request, one response, no session.

    problem                                                  status  code
    `_meta` lacks a required key                             400     -32602
    a header is missing or differs from the body             400     -32020
    unsupported version                                      400     -32022
    the method does not exist or is not declared             404     -32601
    the client did not declare a required capability         400     -32021
    too many calls                                           429     429
    anything else                                            200     set by the feature

A client that closes the response cancels its request.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Coroutine
from decimal import Decimal
from typing import Any, NamedTuple

from msgspec import UNSET

from dovetail.core.call import Call
from dovetail.core.link import ClientChannels, Link, Outgoing
from dovetail.core.principal import Principal
from dovetail.errors import (
    HeaderMismatchError,
    InvalidParamsError,
    InvalidRequestError,
    MethodNotFoundError,
    RpcError,
    UnsupportedVersionError,
)
from dovetail.runtime.engine import Engine
from dovetail.runtime.link import RequestLink, ResponseOnlyLink
from dovetail.runtime.message_handler import MessageHandler, StatelessHandler
from dovetail.spec.header_params import HeaderParams, value_at
from dovetail.spec.models import CallToolParams
from dovetail.transports.asgi.in_flight import HttpCounts
from dovetail.transports.asgi.messages import (
    HttpResponse,
    PendingResponse,
    RequestView,
    accepts,
    error_status,
)
from dovetail.transports.asgi.reply import Reply
from dovetail.wire import codec
from dovetail.wire.messages import Batch, Malformed, Request, Response

__all__ = [
    "ModernEndpoint",
    "check_mirror",
    "read_value",
]

_PREFIX = b"=?base64?"
_SUFFIX = b"?="
_WHITESPACE = b" \t"
# The JSON number syntax; Decimal accepts more than that.
_NUMBER = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,4})?")
# RFC 9110 field values: visible ASCII, space and tab
_VISIBLE = frozenset(range(0x20, 0x7F)) | {0x09}


def read_value(name: str, raw: bytes) -> str:
    """Decode a header value; raises HeaderMismatchError if it is not valid."""
    # Surrounding whitespace is not part of a value, but not every HTTP parser strips it.
    raw = raw.strip(_WHITESPACE)
    if not _VISIBLE.issuperset(raw):
        # http2.header.invalid-chars
        raise HeaderMismatchError(
            f"Header mismatch: {name} contains characters that are not allowed in a header"
        )
    if raw.startswith(_PREFIX) and raw.endswith(_SUFFIX) and len(raw) >= len(_PREFIX + _SUFFIX):
        # http2.header.name-base64: decoded strictly before it is compared
        try:
            return base64.b64decode(raw[len(_PREFIX) : -len(_SUFFIX)], validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise HeaderMismatchError(
                f"Header mismatch: {name} is not valid base64 of UTF-8 text"
            ) from None
    return raw.decode()


def check_mirror(name: str, raw: bytes | None, value: Any) -> None:
    """Raise HeaderMismatchError unless the header has the same value as the body.

    `value` is the value in the body; None means that no header is expected.
    """
    if value is None:
        return
    if _is_identical(raw, value):
        return
    if raw is None:
        raise HeaderMismatchError(f"Header mismatch: {name} is missing; the body has {value!r}")
    given = read_value(name, raw)
    if not _is_equal(given, value):
        raise HeaderMismatchError(f"Header mismatch: {name} is {given!r}, the body has {value!r}")


def _is_identical(raw: bytes | None, value: Any) -> bool:
    """Whether the header equals the value byte for byte and needs no decoding."""
    return (
        isinstance(value, str)
        and value.encode() == raw
        and value.isascii()
        and value.isprintable()
        and raw[:2] != _PREFIX[:2]
        and value[:1] != " " != value[-1:]
    )


def _is_equal(given: str, value: Any) -> bool:
    if isinstance(value, bool):
        return given == ("true" if value else "false")
    if isinstance(value, int | float):
        # http2.param.integer-numeric: 42.0 and 42 are the same; large ones are not rounded
        return bool(_NUMBER.fullmatch(given)) and Decimal(given) == value
    return bool(given == value)


_STATUS = {
    MethodNotFoundError.code: 404,
    HeaderMismatchError.code: 400,
    UnsupportedVersionError.code: 400,
    -32021: 400,
}

_NOT_A_REQUEST = InvalidRequestError(
    "Invalid request: the body must be one request or notification"
)
# Limits of the cache of validated header sets, whose values are chosen by clients.
_MAX_CACHED = 1024
_MAX_CACHED_BYTES = 512
# Clients that do not accept streams get the response only.
_RESPONSE_ONLY: Link = ResponseOnlyLink(channels=ClientChannels(changes=False, messages=False))


class _Mirrored(NamedTuple):
    """The headers that mirror parts of the body, and these parts."""

    version_header: bytes | None
    method_header: bytes | None
    name_header: bytes | None
    version: str
    method: str
    name: str | None

    def check(self) -> None:
        """Raise HeaderMismatchError if they differ."""
        # http2.version-header.mismatch: compare with the body first, then with our versions
        check_mirror("MCP-Protocol-Version", self.version_header, self.version)
        # http2.header.method-missing, http2.header.method-mismatch
        check_mirror("Mcp-Method", self.method_header, self.method)
        # http2.header.name-missing, http2.header.name-mismatch
        check_mirror("Mcp-Name", self.name_header, self.name)


class _ReplyLink(RequestLink):
    """The link of a request whose response may become a stream of events."""

    __slots__ = ("reply",)

    def __init__(self, engine: Engine, reply: Reply) -> None:
        super().__init__(engine)
        self.reply = reply

    def send(self, message: Outgoing) -> None:
        """Send an event before the response; from any thread."""
        self.reply.send(codec.encode_message(message))

    async def drain(self) -> None:
        """Wait for a slow client."""
        await self.reply.drain()


class ModernEndpoint:
    """Serves modern requests."""

    def __init__(
        self, engine: Engine, header_params: Callable[[str, Call], HeaderParams], *, streaming: bool
    ) -> None:
        self._engine = engine
        self._handler = StatelessHandler(engine)
        self._header_params = header_params
        self._streaming = streaming
        # Header sets that matched their body; clients send the same ones again.
        self._matching: set[_Mirrored] = set()

    @property
    def counts(self) -> HttpCounts:
        """Current number of open calls and streams."""
        links = [in_flight.call.link for in_flight in self._handler.in_flight.values()]
        streams = sum(isinstance(link, _ReplyLink) and link.reply.is_stream for link in links)
        return HttpCounts(calls=len(links), streams=streams)

    @property
    def handlers(self) -> list[MessageHandler]:
        """The handlers of running calls."""
        return [self._handler]

    def end_streams(self) -> None:
        """End the streams of clients that listen for changes."""
        for in_flight in tuple(self._handler.in_flight.values()):
            link = in_flight.call.link
            if isinstance(link, RequestLink):
                link.end()

    def refuse(self, message: Malformed | Batch | Response) -> bytes:
        """The error for a body that is neither a request nor a notification."""
        if isinstance(message, Malformed):
            return self._handler.refuse_malformed(message)
        if isinstance(message, Response):
            return codec.encode_error(None, _NOT_A_REQUEST)
        refusal = self._handler.refuse_batch()
        assert refusal is not None  # no modern revision has batches
        return refusal

    def begin(
        self, request: RequestView, message: Request, principal: Principal | None
    ) -> PendingResponse:
        """Return the response to one request, or a coroutine that writes it."""
        call = self._handler.open(message, principal)
        problem = call if isinstance(call, RpcError) else None
        try:
            self._check_headers(request.headers, message, call)
        except HeaderMismatchError as mismatch:
            problem = mismatch
        if problem is None:
            assert isinstance(call, Call)
            return self._serve(request, call)
        status, headers = error_status(problem, _STATUS)
        if isinstance(problem, InvalidParamsError):
            status = 400
        return HttpResponse(status, codec.encode_error(message.id, problem), headers)

    def _check_headers(
        self, headers: dict[bytes, bytes], message: Request, call: Call | RpcError
    ) -> None:
        if isinstance(call, RpcError):
            if isinstance(call, UnsupportedVersionError):
                version = headers.get(b"mcp-protocol-version")
                check_mirror("MCP-Protocol-Version", version, call.data["requested"])
            return
        spec = call.era.methods.get(message.method)
        member = None if spec is None else spec.member
        name = None if member is None else getattr(call.params, member)
        mirrored = _Mirrored(
            headers.get(b"mcp-protocol-version"),
            headers.get(b"mcp-method"),
            headers.get(b"mcp-name"),
            call.era.revision.date,
            message.method,
            name,
        )
        if mirrored not in self._matching:
            mirrored.check()
            self._cache(mirrored)
        if isinstance(call.params, CallToolParams):
            self._check_parameters(headers, call, call.params)

    def _cache(self, mirrored: _Mirrored) -> None:
        if sum(len(part) for part in mirrored if part is not None) > _MAX_CACHED_BYTES:
            return
        if len(self._matching) >= _MAX_CACHED:
            self._matching.clear()
        self._matching.add(mirrored)

    def _check_parameters(
        self, headers: dict[bytes, bytes], call: Call, params: CallToolParams
    ) -> None:
        mirrored = self._header_params(params.name, call)
        if not mirrored:
            return
        arguments = {} if params.arguments is UNSET else codec.decode_json(params.arguments)
        for path, header in mirrored:
            # http2.param.match, http2.param.missing-reject, http2.param.null-not-expected
            name = f"Mcp-Param-{header}"
            check_mirror(name, headers.get(name.lower().encode()), value_at(path, arguments))

    def _serve(self, request: RequestView, call: Call) -> PendingResponse:
        # http.accept.406: a client must accept both; one that accepts only JSON gets the response
        streams = self._streaming and accepts(request.headers.get(b"accept"), b"text/event-stream")
        reply = Reply(request.transmit, streams=streams)
        link = _ReplyLink(self._engine, reply) if streams else _RESPONSE_ONLY
        answer = self._handler.start(call, link, request)
        if not isinstance(answer, bytes):
            return self._wait(request, call, reply, answer)
        if reply.is_stream:
            return reply.finish(answer)
        if call.failure is None:
            return HttpResponse(200, answer)
        status, headers = error_status(call.refusal, _STATUS)
        return HttpResponse(status, answer, headers)

    async def _wait(
        self,
        request: RequestView,
        call: Call,
        reply: Reply,
        answer: Coroutine[Any, Any, bytes | None],
    ) -> None:
        """Wait for the handler and write the response."""
        # http2.cancel.close-is-cancel, http2.cancel.silence
        in_flight = self._handler.in_flight[call]
        watch = request.watch(in_flight.withdraw)
        try:
            body = await answer
        except BaseException:
            reply.stop()
            raise
        finally:
            watch.cancel()
        if body is None:
            await reply.end()
        else:
            await reply.finish(body, *error_status(call.refusal, _STATUS))
