"""POST at 2026-07-28: one request, one response, nothing remembered.

    what is wrong                                            status  code
    `_meta` lacks what every request carries                 400     -32602
    a header is missing or says something else than the body 400     -32020
    the version is none of ours                              400     -32022
    the method does not exist or is not declared             404     -32601
    the client has not declared what the call needs          400     -32021
    anything else                                            200     as the feature says

A client that closes the response has cancelled its request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from msgspec import UNSET

from dovetail.core.call import Call
from dovetail.core.principal import Principal
from dovetail.errors import (
    HeaderMismatchError,
    InvalidParamsError,
    MethodNotFoundError,
    RpcError,
    UnsupportedVersionError,
)
from dovetail.features.header_params import HeaderParams, value_at
from dovetail.runtime.engine import Engine
from dovetail.runtime.one_shot import NullLink, RequestLink, ResponseOnlyLink
from dovetail.spec.models import CallToolParams
from dovetail.transports.streamable_http.accept import accepts
from dovetail.transports.streamable_http.asgi import (
    Headers,
    HttpResponse,
    PendingResponse,
    RequestView,
    watch_for_disconnect,
)
from dovetail.transports.streamable_http.counts import HttpCounts
from dovetail.transports.streamable_http.headers import check_mirror
from dovetail.transports.streamable_http.refusals import find_refusal
from dovetail.transports.streamable_http.reply import Reply
from dovetail.wire import codec
from dovetail.wire.messages import Request

__all__ = ["ModernEndpoint"]

_STATUS = {
    MethodNotFoundError.code: 404,
    HeaderMismatchError.code: 400,
    UnsupportedVersionError.code: 400,
    -32021: 400,
}

_MOST_AGREED = 1024
_LONGEST_AGREED = 512


class _Said(NamedTuple):
    """What the headers say, and what the body says."""

    version_header: bytes | None
    method_header: bytes | None
    name_header: bytes | None
    version: str
    method: str
    name: str | None

    def check(self) -> None:
        """Raise HeaderMismatchError where they differ."""
        # http2.version-header.mismatch: the header is held to the body, then to what we speak
        check_mirror("MCP-Protocol-Version", self.version_header, self.version)
        # http2.header.method-missing, http2.header.method-mismatch
        check_mirror("Mcp-Method", self.method_header, self.method)
        # http2.header.name-missing, http2.header.name-mismatch
        check_mirror("Mcp-Name", self.name_header, self.name)


class ModernEndpoint:
    """Serves modern requests."""

    def __init__(
        self, engine: Engine, header_params: Callable[[str, Call], HeaderParams], *, streaming: bool
    ) -> None:
        self._engine = engine
        self._header_params = header_params
        self._streaming = streaming
        # Headers that were found to say what the body says: a client repeats itself.
        self._agreed: set[_Said] = set()
        # Requests that wait, to be ended with the server, and what carries their answers.
        self._links: dict[NullLink, Reply] = {}

    @property
    def counts(self) -> HttpCounts:
        """What is held for clients now."""
        streams = sum(reply.is_stream for reply in self._links.values())
        return HttpCounts(calls=len(self._links), streams=streams)

    def close(self) -> None:
        """End the streams that are open."""
        for link in tuple(self._links):
            link.end()

    def begin(
        self, request: RequestView, message: Request, principal: Principal | None
    ) -> PendingResponse:
        """Answer one request, or begin to."""
        call = self._engine.eras.open(message, None, principal)
        problem = call if isinstance(call, RpcError) else None
        try:
            self._check_headers(request.headers, message, call)
        except HeaderMismatchError as mismatch:
            problem = mismatch
        if problem is not None:
            status = (
                400 if isinstance(problem, InvalidParamsError) else _STATUS.get(problem.code, 200)
            )
            return HttpResponse(status, codec.encode_error(message.id, problem))
        assert isinstance(call, Call)
        return self._serve(request, call, principal)

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
        said = _Said(
            headers.get(b"mcp-protocol-version"),
            headers.get(b"mcp-method"),
            headers.get(b"mcp-name"),
            call.era.revision.date,
            message.method,
            name,
        )
        if said not in self._agreed:
            said.check()
            self._remember(said)
        if isinstance(call.params, CallToolParams):
            call.services = self._engine
            self._check_parameters(headers, call, call.params)

    def _remember(self, said: _Said) -> None:
        # Clients choose what stands in it: it must neither grow with them nor with what they say.
        if sum(len(part) for part in said if part is not None) > _LONGEST_AGREED:
            return
        if len(self._agreed) >= _MOST_AGREED:
            self._agreed.clear()
        self._agreed.add(said)

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

    def _serve(
        self, request: RequestView, call: Call, principal: Principal | None
    ) -> PendingResponse:
        # http.accept.406: a client must take both; one that takes only JSON gets the answer alone
        streams = self._streaming and accepts(request.headers.get(b"accept"), b"text/event-stream")
        reply = Reply(request.transmit, streams=streams)
        engine = self._engine
        link = RequestLink(engine, reply) if streams else ResponseOnlyLink(messages=False)
        engine.equip(call, reply, link, request, principal)
        # A function that does not wait is over before anybody could have gone away.
        answer = engine.dispatcher.answer(call)
        if not isinstance(answer, bytes):
            return self._wait(request, call, reply, link, answer)
        # What a handler has left behind may talk on; nobody listens any more.
        call.over = True
        if reply.is_stream:
            return reply.finish(answer)
        return HttpResponse(_status_of(call), answer, *_headers_of(call))

    async def _wait(
        self,
        request: RequestView,
        call: Call,
        reply: Reply,
        link: NullLink,
        answer: Coroutine[Any, Any, bytes],
    ) -> None:
        """The rest of a call that waits for something."""
        waiting = _Waiting(request, call)
        self._links[link] = reply
        try:
            body = await answer
        except asyncio.CancelledError:
            if not waiting.taken_back():
                reply.stop()
                raise
            await reply.end()
            return
        finally:
            call.over = True
            waiting.end()
            del self._links[link]
        await reply.finish(body, _status_of(call), *_headers_of(call))


def _status_of(call: Call) -> int:
    if call.failure is None:
        return 200
    refusal = find_refusal(call)
    return _STATUS.get(call.failure, 200) if refusal is None else refusal[0]


def _headers_of(call: Call) -> tuple[Headers, ...]:
    refusal = None if call.failure is None else find_refusal(call)
    return () if refusal is None else (refusal[1],)


class _Waiting:
    """A call that takes its time, and a client that may not."""

    __slots__ = ("_call", "_gone", "_task", "_watch")

    def __init__(self, request: RequestView, call: Call) -> None:
        self._call = call
        self._task = asyncio.current_task()
        self._gone = False
        self._watch = watch_for_disconnect(request.receive, self._disconnected)

    def end(self) -> None:
        self._watch.cancel()

    def taken_back(self) -> bool:
        """Whether the client went away, and that alone is why the call was cancelled."""
        return self._gone and self._task is not None and self._task.uncancel() == 0

    def _disconnected(self) -> None:
        # http2.cancel.close-is-cancel, http2.cancel.silence
        self._gone = True
        self._call.cancelled = self._call.over = True
        if self._task is not None:
            self._task.cancel()
