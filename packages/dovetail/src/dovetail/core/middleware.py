"""Middleware: functions around requests, which may change arguments, results, lists and errors.

A middleware gets the request and a function that runs the rest of the chain. Chains are built
when a middleware is added, so servers without middleware do not pay for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Mapping, MutableMapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from dovetail.core.call import Call, MiddlewareLimit
from dovetail.core.call_facts import CallFacts
from dovetail.core.dispatch import InputRequired, MethodHandler, Outcome
from dovetail.errors import UsageError
from dovetail.spec.models import Params

__all__ = ["AnyMiddleware", "CallNext", "Request", "wrap_handlers"]

R = TypeVar("R")


class Request(CallFacts, ABC, Generic[R]):
    """A request on its way to its handler; R is the type of the result."""

    __slots__ = ()

    # The method on the wire, and the method of `Middleware` that handles it.
    method: ClassVar[str]
    hook: ClassVar[str]

    @property
    def state(self) -> dict[str, Any]:
        """Values for the time of this request; handlers find them in `ctx.state`."""
        return self._call.state

    @abstractmethod
    def _to_params(self) -> Params:
        """Return the params of the request, with the changes of the middleware."""

    @abstractmethod
    def _read(self, outcome: Any) -> R | None:
        """Return what the handler returned as a result; None if it is not one, such as a task."""

    @abstractmethod
    def _write(self, result: R) -> Outcome:
        """Return a result in the form that the client's revision has; raises UsageError."""


CallNext: TypeAlias = Callable[[Request[R]], Awaitable[R]]
"""Passes a request on to the next middleware, or to the handler, and returns the result."""


class AnyMiddleware(Protocol):
    """An async function or an object with an async `__call__`."""

    def __call__(self, request: Any, call_next: CallNext[Any], /) -> Awaitable[Any]:
        """Return the result, usually that of `await call_next(request)`."""


class _NotAResult(BaseException):
    """Carries an outcome that is not a result past the middleware: a question, or a new task.

    Not an Exception, so that `except Exception` in a middleware does not take it for a failure.
    """

    def __init__(self, outcome: Outcome | InputRequired) -> None:
        super().__init__()
        self.outcome = outcome


def wrap_handlers(
    handlers: MutableMapping[str, MethodHandler],
    plain: Mapping[str, MethodHandler],
    kinds: Sequence[type[Request[Any]]],
    middleware: Sequence[AnyMiddleware],
) -> None:
    """Put the middleware around the handlers of these kinds of requests; the first is outermost."""
    for kind in kinds:
        chain = tuple(each for each in middleware if _handles(each, kind))
        handler = plain[kind.method]
        handlers[kind.method] = _wrap(handler, kind, chain) if chain else handler


def _handles(middleware: AnyMiddleware, kind: type[Request[Any]]) -> bool:
    """Whether a middleware may do anything for requests of this kind."""
    covers: Callable[[str], bool] | None = getattr(middleware, "covers", None)
    return covers is None or covers(kind.hook)


def _wrap(
    handler: MethodHandler, kind: type[Request[Any]], chain: tuple[AnyMiddleware, ...]
) -> MethodHandler:
    def run(call: Call) -> Coroutine[Any, Any, Outcome]:
        return _run(call, handler, kind, chain)

    return MethodHandler(run, handler.fault, needs_task=True)


async def _run(
    call: Call, handler: MethodHandler, kind: type[Request[Any]], chain: tuple[AnyMiddleware, ...]
) -> Outcome:
    request = kind(call)
    try:
        limit = call.services.runner.limit_middleware(call)
        result = await limit.run(_ChainRun(call, handler, chain, limit).step(0)(request))
    except _NotAResult as interim:
        if isinstance(interim.outcome, InputRequired):
            raise interim.outcome from None
        return interim.outcome
    return request._write(result)


class _ChainRun:
    """One call on its way through a chain."""

    __slots__ = ("_call", "_chain", "_handler", "_has_run", "_time_limit")

    def __init__(
        self,
        call: Call,
        handler: MethodHandler,
        chain: tuple[AnyMiddleware, ...],
        time_limit: MiddlewareLimit,
    ) -> None:
        self._call = call
        self._handler = handler
        self._chain = chain
        self._time_limit = time_limit
        self._has_run = False

    def step(self, position: int) -> Callable[[Request[Any]], Coroutine[Any, Any, Any]]:
        """Return the function that runs the chain from this position on."""
        if position == len(self._chain):
            return self._run_handler
        middleware = self._chain[position]

        async def run_middleware(request: Request[Any]) -> Any:
            result = await middleware(request, self.step(position + 1))
            if result is None:
                name = getattr(middleware, "__name__", type(middleware).__name__)
                raise UsageError(
                    f"middleware {name!r} returned None for {self._call.method}; return the "
                    "result of `await call_next(request)`"
                )
            return result

        return run_middleware

    async def _run_handler(self, request: Request[Any]) -> Any:
        call = self._call
        if self._has_run:
            # The handler may ask the same questions again.
            call.record.begin_again()
        self._has_run = True
        call.replace_params(request._to_params())
        try:
            outcome = self._handler.run(call)
            if isinstance(outcome, Coroutine):
                # The handler has time limits of its own.
                self._time_limit.pause()
                try:
                    outcome = await outcome
                finally:
                    self._time_limit.resume()
        except InputRequired as question:
            raise _NotAResult(question) from None
        result = request._read(outcome)
        if result is None:
            raise _NotAResult(outcome)
        return result
