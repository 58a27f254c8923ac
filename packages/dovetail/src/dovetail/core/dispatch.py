"""`Dispatcher`: looks up the method, checks capabilities, runs the handler, encodes the result.

This is the only place that catches the exceptions of handlers. The traceback is logged with a
reference, and the client gets only the reference. Requests that do not wait are answered without
a coroutine.
"""

from __future__ import annotations

import logging
import secrets
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from types import CoroutineType
from typing import Any, NamedTuple, TypeAlias

from msgspec import Raw, Struct

from dovetail.core.call import Call
from dovetail.core.era import CacheHint, Encoded
from dovetail.core.hooks import Hook, HookedCall
from dovetail.errors import (
    InternalError,
    LimitError,
    MethodNotFoundError,
    ResourceNotFoundError,
    RpcError,
    ToolError,
)
from dovetail.spec.models import CallToolResult
from dovetail.wire import codec

__all__ = ["Dispatcher", "HookedDispatcher", "InputRequired", "MethodHandler", "Outcome", "Shaped"]

logger = logging.getLogger("dovetail")


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

    def hooked(
        self, hooks: Sequence[Hook], transport: str, max_result_bytes: int | None = None
    ) -> Dispatcher:
        """A dispatcher with hooks around every call and an additional result limit."""
        limits = [
            limit for limit in (max_result_bytes, self._max_result_bytes) if limit is not None
        ]
        dispatcher = HookedDispatcher(
            self._handlers,
            self._capabilities,
            expose_tracebacks=self._expose_tracebacks,
            max_result_bytes=min(limits, default=None),
        )
        dispatcher.hooks = tuple(hooks)
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
        if call.hooked is not None:
            call.hooked.outcome = "tool_error"
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


_REFUSED = MethodHandler(lambda call: {})


class HookedDispatcher(Dispatcher):
    """A dispatcher with hooks; create it with `Dispatcher.hooked`."""

    hooks: tuple[Hook, ...] = ()
    transport = ""
    # The result limit of the hooks' guard, without that of the server.
    own_limit: int | None = None

    def needs_task(self, call: Call) -> bool:
        """Always True: a hook may wait in any method."""
        return True

    def answer(self, call: Call) -> bytes | Coroutine[Any, Any, bytes]:
        """The encoded response, or a coroutine that returns it."""
        hooked = call.hooked = HookedCall(call, self.transport)
        return self._run_hooks(call, hooked, 0)

    def end_session(self, revision: str, duration: float) -> None:
        """Tell the hooks."""
        for hook in self.hooks:
            try:
                hook.session_ended(revision, self.transport, duration)
            except Exception:
                logger.exception("a hook failed after a session")

    async def delegate(self, call: Call, handler: MethodHandler) -> Outcome:
        """The outcome of a handler, with the hooks of this server around it."""
        outer = call.hooked
        hooked = call.hooked = HookedCall(call, self.transport)
        passed = 0
        try:
            for hook in self.hooks:
                waiting = hook.before(hooked)
                if waiting is not None:
                    await waiting
                passed += 1
            outcome = handler.run(call)
            if isinstance(outcome, Coroutine):
                outcome = await outcome
            limit = self.own_limit
            if limit is not None and len(body := _encode(call, outcome)) > limit:
                raise _too_large(body, limit)
            if isinstance(outcome, CallToolResult) and outcome.is_error:
                hooked.outcome = "tool_error"
        except Exception as error:
            if not isinstance(error, InputRequired):
                hooked.error = error
                hooked.outcome = "refused" if passed < len(self.hooks) else "error"
            raise
        finally:
            call.hooked = outer
            self._end_hooks(hooked, passed, None if call.cancelled else b"")
        return outcome

    def _run_hooks(
        self, call: Call, hooked: HookedCall, passed: int
    ) -> bytes | Coroutine[Any, Any, bytes]:
        try:
            for hook in self.hooks[passed:] if passed else self.hooks:
                waiting = hook.before(hooked)
                if waiting is not None:
                    return self._wait_for_hook(call, hooked, passed, waiting)
                passed += 1
        except Exception as error:  # noqa: BLE001 - the boundary
            return self._rejected(call, hooked, passed, error)
        answer = super().answer(call)
        if isinstance(answer, bytes):
            self._end_hooks(hooked, passed, answer)
            return answer
        return self._wait_for_answer(hooked, passed, answer)

    async def _wait_for_hook(
        self, call: Call, hooked: HookedCall, passed: int, waiting: Awaitable[None]
    ) -> bytes:
        try:
            await waiting
        except Exception as error:  # noqa: BLE001 - the boundary
            return self._rejected(call, hooked, passed, error)
        except BaseException:
            self._end_hooks(hooked, passed, None)
            raise
        answer = self._run_hooks(call, hooked, passed + 1)
        return answer if isinstance(answer, bytes) else await answer

    async def _wait_for_answer(
        self, hooked: HookedCall, passed: int, answer: Coroutine[Any, Any, bytes]
    ) -> bytes:
        body: bytes | None = None
        try:
            body = await answer
            return body
        finally:
            self._end_hooks(hooked, passed, body)

    def _rejected(self, call: Call, hooked: HookedCall, passed: int, error: Exception) -> bytes:
        handler = self._handlers.get(call.method, _REFUSED)
        answer = self._fault(call, handler, error)
        hooked.outcome = "refused"
        self._end_hooks(hooked, passed, answer)
        return answer

    def _completed(self, call: Call, outcome: Outcome) -> bytes:
        if isinstance(outcome, CallToolResult) and outcome.is_error and call.hooked is not None:
            call.hooked.outcome = "tool_error"
        return super()._completed(call, outcome)

    def _fault(self, call: Call, handler: MethodHandler, error: Exception) -> bytes:
        if not isinstance(error, InputRequired) and call.hooked is not None:
            call.hooked.error = error
        return super()._fault(call, handler, error)

    def _end_hooks(self, hooked: HookedCall, passed: int, answer: bytes | None) -> None:
        hooked.end(answer)
        left = self.hooks if passed == len(self.hooks) else self.hooks[:passed]
        for hook in reversed(left):
            try:
                if hooked.error is None:
                    hook.after(hooked)
                else:
                    hook.failed(hooked, hooked.error)
            except Exception:
                # The response is ready; an error in a hook must not change it.
                logger.exception("a hook failed after %s", hooked.method)
