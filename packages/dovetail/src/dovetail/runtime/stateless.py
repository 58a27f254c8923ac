"""`server.handle`: one message in, its response out, nothing stored in between.

A legacy request is served as if its client had completed the handshake and declared nothing:
there is no way to send it a request.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from dovetail.core.call import Call, StaticScope
from dovetail.core.link import Link
from dovetail.core.principal import Principal
from dovetail.errors import RpcError
from dovetail.runtime.engine import Engine
from dovetail.runtime.link import CallbackLink, ResponseOnlyLink, Send
from dovetail.runtime.message_handler import (
    StatelessHandler,
    finish_batch,
    refuse_message,
    start_lifespan,
    too_long,
)
from dovetail.spec.revisions import Revision
from dovetail.wire import codec
from dovetail.wire.messages import Batch, Malformed, Notification, Request, Response

__all__ = ["StatelessEndpoint"]


class StatelessEndpoint:
    """Answers messages that stand alone, at one revision for legacy clients."""

    def __init__(self, engine: Engine, revision: Revision) -> None:
        self._engine = engine
        self._handler = StatelessHandler(engine, revision)
        self._link = ResponseOnlyLink(self._handler.session)
        self._limit = engine.options.max_message_bytes

    def handle(
        self, data: bytes, send: Send | None, scope: Any, principal: Principal | None
    ) -> bytes | Coroutine[Any, Any, bytes | None] | None:
        """The response, at once or to be awaited; None if there is none."""
        if len(data) > self._limit:
            return self._handler.refuse_malformed(Malformed(too_long(self._limit)))
        if not self._engine.lifespan.started:
            return self._handle_first(data, send, scope, principal)
        message = codec.decode(data)
        handler = self._handler
        if isinstance(message, Request):
            call = handler.open(message, principal)
            if isinstance(call, RpcError):
                return codec.encode_error(message.id, call)
            if send is None:
                start = handler.start_alone if principal is None else handler.start
                return start(call, self._link, StaticScope(scope))
            return self._answer(call, self._callback_link(send), scope)
        if isinstance(message, Batch):
            return handler.refuse_batch() or self._answer_batch(message, send, scope, principal)
        if isinstance(message, Malformed):
            return handler.refuse_malformed(message)
        if isinstance(message, Notification):
            handler.notify(message)
        elif isinstance(message, Response):
            handler.resolve(message)
        return None

    async def _handle_first(
        self, data: bytes, send: Send | None, scope: Any, principal: Principal | None
    ) -> bytes | None:
        error = await start_lifespan(self._engine)
        if error is not None:
            return refuse_message(codec.decode(data), error)
        answer = self.handle(data, send, scope, principal)
        return answer if answer is None or isinstance(answer, bytes) else await answer

    def _callback_link(self, send: Send) -> CallbackLink:
        return CallbackLink(self._engine, self._handler.session, send)

    async def _answer(self, call: Call, link: Link, scope: Any) -> bytes | None:
        try:
            answer = self._handler.start(call, link, StaticScope(scope))
            return answer if isinstance(answer, bytes) else await answer
        finally:
            await link.drain()

    async def _answer_batch(
        self, batch: Batch, send: Send | None, scope: Any, principal: Principal | None
    ) -> bytes | None:
        link: Link = self._link if send is None else self._callback_link(send)
        started = self._handler.start_batch(batch, link, StaticScope(scope), principal)
        try:
            responses = await finish_batch(*started)
        finally:
            await link.drain()
        return codec.encode_batch(responses) if responses else None
