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
from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from dovetail.core.call import Call
from dovetail.errors import (
    HeaderMismatchError,
    InvalidParamsError,
    MethodNotFoundError,
    RpcError,
    UnsupportedVersionError,
)
from dovetail.features.header_params import HeaderParams
from dovetail.runtime.engine import Engine
from dovetail.runtime.one_shot import DeadEnd, RequestLink
from dovetail.spec.models import CallToolParams
from dovetail.transports.streamable_http.asgi import (
    JSON,
    HttpRequest,
    respond,
    watch_for_disconnect,
)
from dovetail.transports.streamable_http.headers import check_mirror
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


class ModernEndpoint:
    """Serves modern requests."""

    def __init__(
        self, engine: Engine, header_params: Callable[[str], HeaderParams], *, streaming: bool
    ) -> None:
        self._engine = engine
        self._header_params = header_params
        self._streaming = streaming
        # Requests that wait, to be ended with the server.
        self._links: set[DeadEnd] = set()

    def close(self) -> None:
        """End the streams that are open."""
        for link in tuple(self._links):
            link.end()

    async def post(
        self, request: HttpRequest, message: Request, scope: Any, principal: str | None
    ) -> None:
        """Answer one request."""
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
            await respond(request.transmit, status, codec.encode_error(message.id, problem), JSON)
            return
        assert isinstance(call, Call)
        await self._serve(request, call, scope, principal)

    def _check_headers(
        self, headers: dict[bytes, bytes], message: Request, call: Call | RpcError
    ) -> None:
        # http2.version-header.mismatch: the header is held to the body, then to what we speak
        version = headers.get(b"mcp-protocol-version")
        if isinstance(call, Call):
            check_mirror("MCP-Protocol-Version", version, call.era.revision.date)
        elif isinstance(call, UnsupportedVersionError):
            check_mirror("MCP-Protocol-Version", version, call.data["requested"])
            return
        else:
            return
        # http2.header.method-missing, http2.header.method-mismatch
        check_mirror("Mcp-Method", headers.get(b"mcp-method"), message.method)
        spec = call.era.methods.get(message.method)
        if spec is None or spec.mirrored is None:
            return
        # http2.header.name-missing, http2.header.name-mismatch
        check_mirror("Mcp-Name", headers.get(b"mcp-name"), getattr(call.params, spec.mirrored))
        if isinstance(call.params, CallToolParams):
            self._check_parameters(headers, call.params)

    def _check_parameters(self, headers: dict[bytes, bytes], params: CallToolParams) -> None:
        mirrored = self._header_params(params.name)
        if not mirrored:
            return
        arguments = {} if params.arguments is UNSET else codec.decode_json(params.arguments)
        for path, header in mirrored:
            # http2.param.match, http2.param.missing-reject, http2.param.null-not-expected
            name = f"Mcp-Param-{header}"
            check_mirror(name, headers.get(name.lower().encode()), _value_at(path, arguments))

    async def _serve(
        self, request: HttpRequest, call: Call, scope: Any, principal: str | None
    ) -> None:
        reply = Reply(request.transmit, streams=self._streaming)
        engine = self._engine
        link = RequestLink(engine, reply) if self._streaming else DeadEnd()
        engine.equip(call, reply, link, scope, principal)
        # A function that does not wait is over before anybody could have gone away.
        answer = engine.dispatcher.answer(call)
        if not isinstance(answer, bytes):
            waiting = _Waiting(request, call)
            self._links.add(link)
            try:
                answer = await answer
            except asyncio.CancelledError:
                if not waiting.taken_back():
                    reply.stop()
                    raise
                await reply.end()
                return
            finally:
                call.over = True
                waiting.end()
                self._links.discard(link)
        await reply.finish(answer, 200 if call.failure is None else _STATUS.get(call.failure, 200))


class _Waiting:
    """A call that takes its time, and a client that may not."""

    __slots__ = ("_call", "_gone", "_task", "_watch")

    def __init__(self, request: HttpRequest, call: Call) -> None:
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


def _value_at(path: tuple[str, ...], arguments: Any) -> Any:
    for key in path:
        if not isinstance(arguments, dict):
            return None
        arguments = arguments.get(key)
    return arguments
