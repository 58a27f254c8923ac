"""Middleware: functions around requests, which may change arguments, results, lists and errors.

A middleware gets the request and a function that runs the rest of the chain. Chains are built
when a middleware is added, so servers without middleware do not pay for it. Requests and results
are views: what no middleware looks at is not decoded, and passed on as the bytes that it came as.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Mapping, MutableMapping, Sequence
from functools import partial
from types import CoroutineType
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from dovetail.core.call import Call, MiddlewareLimit
from dovetail.core.call_facts import CallFacts
from dovetail.core.dispatch import InputRequired, MethodHandler, Outcome
from dovetail.errors import UsageError
from dovetail.spec.models import Params

__all__ = ["AnyMiddleware", "CallNext", "Request", "default_method", "wrap_handlers"]

R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])

# The attribute that `default_method` sets.
_MARK = "only_passes_on"


class Request(CallFacts, ABC, Generic[R]):
    """A request on its way to its handler; R is the type of the result."""

    # The method on the wire, and the method of `Middleware` that handles it.
    method: ClassVar[str]
    hook: ClassVar[str]

    # Most requests never change these.
    _has_run = False
    # A middleware may start several handlers at once. Its time limit does not count their time.
    _handlers_running = 0
    # Set once the middleware waits for something.
    _time_limit: MiddlewareLimit | None = None

    def __init__(self, call: Call, handler: MethodHandler, chain: tuple[AnyMiddleware, ...]):
        self._call = call
        self._handler = handler
        self._chain = chain

    @property
    def state(self) -> dict[str, Any]:
        """Values for the time of this request; handlers find them in `ctx.state`."""
        return self._call.state

    @abstractmethod
    def _changed_params(self) -> Params | None:
        """Return the params with the changes of the middleware; None if it cannot have any."""

    @abstractmethod
    def _read(self, outcome: Any) -> R | None:
        """Return what the handler returned as a result; None if it is not one, such as a task.

        Results are decoded when a middleware looks at them.
        """

    @abstractmethod
    def _write(self, result: R) -> Outcome:
        """Return a result in the form that the client's revision has; raises UsageError.

        What no middleware looked at is returned as it came from the handler.
        """

    async def _await_rest(self, running: Coroutine[Any, Any, Any], awaited: Any) -> Outcome:
        """Await the rest of the chain after its first step."""
        call = self._call
        limit = call.services.runner.limit_middleware(call, self._handlers_running)
        self._time_limit = limit
        try:
            result = await limit.run(running, awaited)
        except _NotAResult as interim:
            return interim.unwrap()
        if result is None:
            raise self._no_result(0)
        return self._write(result)

    def _after(self, position: int) -> CallNext[Any]:
        """Return the function that runs the chain from this position on."""
        if position == len(self._chain):
            return self._run_handler
        return partial(self._run_from, position)

    async def _run_from(self, position: int, request: Request[Any]) -> Any:
        result = await self._chain[position](request, self._after(position + 1))
        if result is None:
            raise self._no_result(position)
        return result

    async def _run_handler(self, request: Request[Any]) -> Any:
        call = self._call
        if self._has_run:
            # The handler may ask the same questions again.
            call.record.begin_again()
        self._has_run = True
        params = request._changed_params()
        if params is not None:
            call.replace_params(params)
        try:
            outcome: Any = self._handler.run(call)
            if isinstance(outcome, CoroutineType):
                outcome = await self._await_handler(outcome)
        except InputRequired as question:
            raise _NotAResult(question) from None
        result = request._read(outcome)
        if result is None:
            raise _NotAResult(outcome)
        return result

    async def _await_handler(self, running: Coroutine[Any, Any, Outcome]) -> Outcome:
        """Await a handler, which has time limits of its own."""
        self._handlers_running += 1
        if self._time_limit is not None:
            self._time_limit.pause()
        try:
            return await running
        finally:
            self._handlers_running -= 1
            if self._time_limit is not None:
                self._time_limit.resume()

    def _no_result(self, position: int) -> UsageError:
        middleware = self._chain[position]
        owner = getattr(middleware, "__self__", middleware)
        name = getattr(owner, "__name__", type(owner).__name__)
        return UsageError(
            f"middleware {name!r} returned None for {self._call.method}; return the result of "
            "`await call_next(request)`"
        )


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

    def unwrap(self) -> Outcome:
        """Return the new task; raises the question."""
        if isinstance(self.outcome, InputRequired):
            raise self.outcome from None
        return self.outcome


def wrap_handlers(
    handlers: MutableMapping[str, MethodHandler],
    plain: Mapping[str, MethodHandler],
    kinds: Sequence[type[Request[Any]]],
    middleware: Sequence[AnyMiddleware],
) -> None:
    """Put the middleware around the handlers of these kinds of requests; the first is outermost."""
    for kind in kinds:
        chain = tuple(
            function for each in middleware if (function := _function_for(each, kind)) is not None
        )
        handler = plain[kind.method]
        handlers[kind.method] = _wrap(handler, kind, chain) if chain else handler


def default_method(method: F) -> F:
    """Mark a method of `Middleware` that only passes requests on, so they need not go through."""
    method.only_passes_on = True  # type: ignore[attr-defined]
    return method


def _function_for(middleware: AnyMiddleware, kind: type[Request[Any]]) -> AnyMiddleware | None:
    """Return what handles requests of this kind: the middleware itself or one of its methods.

    None if the middleware does nothing for them.
    """
    if not hasattr(type(middleware).__call__, _MARK):
        return middleware
    method: AnyMiddleware = getattr(middleware, kind.hook)
    return None if hasattr(method, _MARK) else method


def _wrap(
    handler: MethodHandler, kind: type[Request[Any]], chain: tuple[AnyMiddleware, ...]
) -> MethodHandler:
    return MethodHandler(partial(_run, kind, handler, chain), handler.fault, needs_task=True)


def _run(
    kind: type[Request[Any]], handler: MethodHandler, chain: tuple[AnyMiddleware, ...], call: Call
) -> Outcome | Coroutine[Any, Any, Outcome]:
    """Run a call through a chain; returns a coroutine only if it waits for something.

    The first step runs at once: a call that does not wait needs neither a coroutine nor a timer.
    """
    request = kind(call, handler, chain)
    running: Any = chain[0](request, request._run_handler if len(chain) == 1 else request._after(1))
    if type(running) is not CoroutineType:
        running = _await_it(running)
    try:
        awaited = running.send(None)
    except StopIteration as returned:
        result = returned.value
    except _NotAResult as interim:
        return interim.unwrap()
    else:
        return request._await_rest(running, awaited)
    if result is None:
        raise request._no_result(0)
    return request._write(result)


async def _await_it(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
