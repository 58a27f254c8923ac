"""`Dispatcher`: looks up the method, checks capabilities, runs the handler, encodes the result.

This is the only place that catches the exceptions of handlers. The traceback is logged with a
reference, and the client gets only the reference. Requests that do not wait are answered without
a coroutine.
"""

from __future__ import annotations

import logging
import secrets
import traceback
from collections.abc import Callable, Coroutine, Mapping
from functools import cached_property
from types import CoroutineType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from msgspec import Raw, Struct

from dovetail.core.call import Call
from dovetail.core.era import CacheHint, Encoded
from dovetail.errors import (
    InternalError,
    LimitError,
    MethodNotFoundError,
    ResourceNotFoundError,
    RpcError,
    ToolError,
)
from dovetail.spec.methods import Sender
from dovetail.spec.models import CallToolResult
from dovetail.wire import codec

if TYPE_CHECKING:
    from dovetail.core.middleware import Request

__all__ = ["Chains", "Dispatcher", "InputRequired", "MethodHandler", "Outcome", "Shaped"]

logger: logging.Logger = logging.getLogger("dovetail")


class Shaped(NamedTuple):
    """A result with a cache hint."""

    result: Struct
    hint: CacheHint


class InputRequired(Exception):
    """Not an error: ends the request with an interim result; the client sends it again."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.body = body


# A `Raw` is a JSON object to which the era still adds its metadata.
Outcome: TypeAlias = Struct | dict[str, Any] | Raw | Shaped | Encoded


class MethodHandler(NamedTuple):
    """How a feature serves a method.

    `fault` turns an error text into a result, for methods that report failures as results
    (tools).
    """

    run: Callable[[Call], Outcome | Coroutine[Any, Any, Outcome]]
    fault: Callable[[str], Struct] | None = None
    # It waits or runs a user function, so it needs its own task.
    needs_task: bool = False


class Chains(Protocol):
    """The middleware of a guard."""

    def open(self, call: Call, handler: MethodHandler, transport: str) -> Request[Any]:
        """Return the request on its way through its chain of middleware to the handler."""

    def end_session(self, revision: str, transport: str, duration: float) -> None:
        """Tell the middleware that a legacy session has ended."""


class Dispatcher:
    """Dispatches requests to a table of method handlers."""

    def __init__(
        self,
        handlers: Mapping[str, MethodHandler],
        capabilities: Callable[[], Mapping[str, Any]],
        *,
        expose_tracebacks: bool = False,
        max_result_bytes: int | None = None,
    ) -> None:
        self._handlers = handlers
        self._capabilities = capabilities
        self._expose_tracebacks = expose_tracebacks
        self._max_result_bytes = max_result_bytes

    def guarded(
        self, chains: Chains, transport: str, max_result_bytes: int | None = None
    ) -> Dispatcher:
        """A dispatcher with the middleware of a guard, and an additional result limit."""
        limits = [
            limit for limit in (max_result_bytes, self._max_result_bytes) if limit is not None
        ]
        dispatcher = GuardedDispatcher(
            self._handlers,
            self._capabilities,
            expose_tracebacks=self._expose_tracebacks,
            max_result_bytes=min(limits, default=None),
        )
        dispatcher.chains = chains
        dispatcher.transport = transport
        dispatcher.own_limit = max_result_bytes
        return dispatcher

    def needs_task(self, call: Call) -> bool:
        """Whether `answer` must be called in a separate task."""
        handler = self._handlers.get(call.method)
        return handler is not None and handler.needs_task

    def answer(self, call: Call) -> bytes | Coroutine[Any, Any, bytes]:
        """The encoded response, or a coroutine that returns it."""
        handler = self._handlers.get(call.method)
        spec = call.era.methods.get(call.method)
        if handler is None or spec is None:
            return self._failed(call, self._unknown(call))
        if spec.capability is not None and spec.capability not in self._capabilities():
            return self._failed(call, self._undeclared(call, spec.capability))
        try:
            outcome = handler.run(call)
            if isinstance(outcome, CoroutineType):
                return self._await(call, handler, outcome)
            return self._completed(call, outcome)  # type: ignore[arg-type]
        except Exception as error:  # noqa: BLE001 - the boundary
            return self._fault(call, handler, error)

    def end_session(self, revision: str, duration: float) -> None:
        """A legacy session has ended, after `duration` seconds."""

    def delegate(
        self, call: Call, handler: MethodHandler
    ) -> Outcome | Coroutine[Any, Any, Outcome]:
        """The outcome of a handler, for a call that another server answers."""
        return handler.run(call)

    async def _await(
        self,
        call: Call,
        handler: MethodHandler,
        outcome: Coroutine[Any, Any, Outcome],
    ) -> bytes:
        try:
            return self._completed(call, await outcome)
        except Exception as error:  # noqa: BLE001 - the boundary
            return self._fault(call, handler, error)

    def _completed(self, call: Call, outcome: Outcome) -> bytes:
        body = _encode(call, outcome)
        limit = self._max_result_bytes
        if limit is not None and len(body) > limit:
            raise _too_large(body, limit)
        return codec.encode_result(call.id, body)

    def _fault(self, call: Call, handler: MethodHandler, error: Exception) -> bytes:
        if isinstance(error, InputRequired):
            return codec.encode_result(call.id, error.body)
        if isinstance(error, RpcError):
            try:
                return self._failed(call, error)
            except Exception as encoding_error:  # noqa: BLE001 - the boundary
                # Its message or data cannot be encoded as JSON; report that instead.
                error = encoding_error
        if isinstance(error, ToolError | LimitError):
            text = str(error)
        else:
            text = self._log_crash(call, error)
        # Lone surrogates (file names may contain them) cannot be encoded.
        text = text.encode(errors="replace").decode()
        if handler.fault is None:
            return self._failed(call, InternalError(text))
        if call.request is not None:
            call.request.outcome = "tool_error"
        return codec.encode_result(call.id, call.era.complete(handler.fault(text)))

    def _log_crash(self, call: Call, error: Exception) -> str:
        reference = secrets.token_hex(4)
        # The traceback may have no frame of the author, for example if a result cannot be encoded.
        place = f" in {call.handler.where}" if call.handler is not None else ""
        logger.error("%s failed%s, reference %s", call.method, place, reference, exc_info=error)
        if self._expose_tracebacks:
            return "".join(traceback.format_exception(error))
        return f"Internal error, reference {reference}; the server's log has the details."

    def _failed(self, call: Call, error: RpcError) -> bytes:
        call.refusal = error
        if isinstance(error, ResourceNotFoundError):
            # resources.notfound.32602 (2026-07-28 server/resources) and earlier -32002
            code = call.era.revision.resource_not_found
            error = RpcError(error.message, error.data, code=code)
        call.failure = error.code
        return codec.encode_error(call.id, error)

    def _unknown(self, call: Call) -> RpcError:
        spec = call.era.methods.get(call.method)
        if spec is not None and spec.sender is Sender.CLIENT and spec.capability is not None:
            # Handlers that no entry needs are not there.
            return self._undeclared(call, spec.capability)
        # base.error.method-not-found: methods of other revisions are not in the table
        return MethodNotFoundError(
            f"Method not found: {call.method[:100]!r} does not exist at {call.era.revision}"
        )

    def _undeclared(self, call: Call, capability: str) -> RpcError:
        return MethodNotFoundError(
            f"Method not found: {call.method!r} needs the capability {capability!r}, which this "
            "server has not declared"
        )


def _encode(call: Call, outcome: Outcome) -> bytes:
    if isinstance(outcome, Encoded):
        return outcome.body
    if isinstance(outcome, Shaped):
        return call.era.complete(outcome.result, outcome.hint)
    return call.era.complete(outcome)


def _too_large(body: bytes, limit: int) -> LimitError:
    return LimitError(
        f"The result is too large: {len(body):,} bytes, the limit is {limit:,}. Ask for less."
    )


class GuardedDispatcher(Dispatcher):
    """A dispatcher with the middleware of a guard; create it with `Dispatcher.guarded`.

    The middleware is around every request, unknown methods included.
    """

    chains: Chains
    transport = ""
    # The result limit of the guard, without that of the server.
    own_limit: int | None = None

    def needs_task(self, call: Call) -> bool:
        """Always True: a middleware may wait in any method."""
        return True

    def answer(self, call: Call) -> bytes | Coroutine[Any, Any, bytes]:
        """The encoded response, or a coroutine that returns it."""
        handler = self._handlers.get(call.method, _UNKNOWN)
        request = call.request = self.chains.open(call, self._innermost, self.transport)
        answer: bytes | None = None
        try:
            outcome = request.run()
            if isinstance(outcome, CoroutineType):
                return self._await_end(call, handler, request, outcome)
            answer = self._completed(call, outcome)  # type: ignore[arg-type]
        except Exception as error:  # noqa: BLE001 - the boundary
            answer = self._fault(call, handler, error)
        except BaseException:
            request.end(None)
            raise
        request.end(answer)
        return answer

    @cached_property
    def _innermost(self) -> MethodHandler:
        return MethodHandler(self._run_method)

    def _run_method(self, call: Call) -> Outcome | Coroutine[Any, Any, Outcome]:
        handler = self._handlers.get(call.method)
        spec = call.era.methods.get(call.method)
        if handler is None or spec is None:
            raise self._unknown(call)
        if spec.capability is not None and spec.capability not in self._capabilities():
            raise self._undeclared(call, spec.capability)
        return handler.run(call)

    async def _await_end(
        self,
        call: Call,
        handler: MethodHandler,
        request: Request[Any],
        outcome: Coroutine[Any, Any, Outcome],
    ) -> bytes:
        answer: bytes | None = None
        try:
            answer = await self._await(call, handler, outcome)
            return answer
        finally:
            request.end(answer)

    def end_session(self, revision: str, duration: float) -> None:
        """Tell the middleware."""
        self.chains.end_session(revision, self.transport, duration)

    async def delegate(self, call: Call, handler: MethodHandler) -> Outcome:
        """The outcome of a handler, with the middleware of this server around it."""
        outer = call.request
        request = call.request = self.chains.open(call, handler, self.transport)
        try:
            outcome = request.run()
            if isinstance(outcome, CoroutineType):
                outcome = await outcome
            limit = self.own_limit
            if limit is not None and len(body := _encode(call, outcome)) > limit:  # type: ignore[arg-type]
                raise _too_large(body, limit)
            if isinstance(outcome, CallToolResult) and outcome.is_error:
                request.outcome = "tool_error"
        except Exception as error:
            if not isinstance(error, InputRequired):
                request.error = error
            raise
        finally:
            call.request = outer
            request.end(None if call.phase.is_cancelled else b"")
        return outcome  # type: ignore[return-value]

    def _completed(self, call: Call, outcome: Outcome) -> bytes:
        if isinstance(outcome, CallToolResult) and outcome.is_error and call.request is not None:
            call.request.outcome = "tool_error"
        return Dispatcher._completed(self, call, outcome)

    def _fault(self, call: Call, handler: MethodHandler, error: Exception) -> bytes:
        if not isinstance(error, InputRequired) and call.request is not None:
            call.request.error = error
        return super()._fault(call, handler, error)


# For the errors of unknown methods.
_UNKNOWN = MethodHandler(lambda call: {})
