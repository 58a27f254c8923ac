"""Middleware: functions around requests, which may change arguments, results, lists and errors.

A middleware gets the request and a function that runs the rest of the chain. That of a guard sees
every request, that of a server the requests that its tools, prompts, resources and lists serve.
Chains are built when a middleware is added, so servers without middleware do not pay for it.
Requests and results are views: what no middleware looks at is not decoded, and passed on as the
bytes that it came as. `CallFacts` is what handlers can read as well.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, MutableMapping, Sequence
from functools import partial
from time import perf_counter
from types import CoroutineType
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Protocol, Self, TypeAlias, TypeVar

from msgspec import UNSET, Raw

from dovetail.core.call import Call, MiddlewareLimit
from dovetail.core.dispatch import InputRequired, MethodHandler, Outcome
from dovetail.core.principal import Principal
from dovetail.core.telemetry import SpanIds
from dovetail.errors import RpcError, UsageError
from dovetail.spec.models import Params
from dovetail.wire import codec

__all__ = [
    "AnyMiddleware",
    "CallFacts",
    "CallNext",
    "Chain",
    "GuardChains",
    "Outcomes",
    "Request",
    "call_of",
    "default_method",
    "make_chain",
    "transparent",
    "wrap_handlers",
]

logger: logging.Logger = logging.getLogger("dovetail")

R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])

# ok: a result. tool_error: a tool result with isError. error: a JSON-RPC error.
# refused: rejected by a middleware. cancelled: the client no longer waits for the response.
Outcomes: TypeAlias = Literal["ok", "tool_error", "error", "refused", "cancelled"]

# The attributes that `default_method` and `transparent` set.
_DEFAULT, _TRANSPARENT = "only_passes_on", "returns_call_next"


class CallFacts:
    """The caller and the request: what handlers and middleware can read of a call."""

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        self._call = call

    @property
    def principal(self) -> Principal | None:
        """The authenticated caller (id, scopes, claims), None if nothing authenticated it."""
        return self._call.principal

    @property
    def revision(self) -> str:
        """The protocol revision of the request."""
        return self._call.era.revision.date

    @property
    def request_id(self) -> str | int:
        """The JSON-RPC id of the request."""
        id: str | int = codec.decode_json(self._call.id)
        return id

    @property
    def meta(self) -> dict[str, Any]:
        """The `_meta` of the request, trace context included."""
        return self._call.meta

    @property
    def client_extensions(self) -> dict[str, Any]:
        """The extensions that the client declared: their settings by name."""
        call = self._call
        # Older revisions have no extensions; their clients use `experimental`, and some both.
        is_modern = call.era.revision.extensions
        found: dict[str, Any] = {}
        for member in ("extensions",) if is_modern else ("experimental", "extensions"):
            declared = call.peer.capabilities.get(member)
            if isinstance(declared, dict):
                found.update({k: v for k, v in declared.items() if isinstance(v, dict)})
        return found

    @property
    def scope(self) -> Any:
        """The ASGI scope of the request, or the `scope` passed to `server.handle`."""
        return self._call.origin.scope


def call_of(facts: CallFacts) -> Call:
    """Return the call behind a context, for other parts of the framework."""
    return facts._call


class Request(CallFacts, Generic[R]):
    """A request on its way to its handler; R is the type of the result.

    This class serves the methods that have no class of their own.
    """

    # The method of `Middleware` that handles it, and the method on the wire that it is for.
    hook: ClassVar[str] = ""
    handles: ClassVar[str] = ""

    transport: str = ""
    """How the request came: "http", "stdio" or "mount". Only middleware of a guard knows it."""
    outcome: Outcomes | None = None
    """How the request ended, in callbacks of `add_done_callback`."""
    size: int = 0
    """The length of the response in bytes, in callbacks of `add_done_callback`."""
    error: Exception | None = None
    """The exception that ended the request, in callbacks of `add_done_callback`."""
    span_ids: SpanIds | None = None
    """The span of the request, if a middleware traces it."""

    started: float = 0.0
    """When the request began, on the clock of `time.perf_counter`."""

    # Most requests never change these.
    _has_run = False
    # A middleware may start several handlers at once. Its time limit does not count their time.
    _handlers_running = 0
    # Set once the middleware waits for something.
    _time_limit: MiddlewareLimit | None = None
    _callbacks: list[Callable[[Any], None]] | None = None
    _duration: float | None = None

    def __init__(self, call: Call, handler: MethodHandler, chain: Chain) -> None:
        self._call = call
        self._handler = handler
        self._chain = chain

    @property
    def method(self) -> str:
        """The method of the request, such as `tools/call`."""
        return self._call.method

    @property
    def target(self) -> str | None:
        """The tool name, prompt name or URI in the request, None if it has none."""
        spec = self._call.era.methods.get(self._call.method)
        if spec is None or spec.member is None:
            return None
        name: str | None = getattr(self._call.params, spec.member, None)
        return name

    @property
    def has_known_method(self) -> bool:
        """Whether the revision has this method; otherwise the caller made up its name."""
        return self._call.method in self._call.era.methods

    @property
    def has_known_target(self) -> bool:
        """Whether the named tool, prompt or resource exists; only known at the end.

        False as well if the request was rejected before the server looked for it.
        """
        return self._call.handler is not None or self.outcome in ("ok", "tool_error")

    @property
    def raw_arguments(self) -> bytes:
        """The arguments as JSON; empty if the method has no arguments."""
        given = getattr(self._call.params, "arguments", UNSET)
        if given is UNSET or given is None:
            return b""
        return bytes(given) if isinstance(given, Raw) else codec.encode(given)

    @property
    def state(self) -> dict[str, Any]:
        """Values for the time of this request; handlers find them in `ctx.state`."""
        return self._call.state

    @property
    def code(self) -> int | None:
        """The code of the JSON-RPC error, if the request ended with one."""
        if self._call.failure is None and isinstance(self.error, RpcError):
            # A mounted server: the outer one answers.
            return self.error.code
        return self._call.failure

    @property
    def duration(self) -> float:
        """Seconds that the request took, or has taken so far."""
        return perf_counter() - self.started if self._duration is None else self._duration

    def add_done_callback(self, callback: Callable[[Self], None]) -> None:
        """Call `callback(request)` when the response is ready or is not needed any more.

        By then the request has its `outcome`, `size`, `duration`, `error` and `code`. The last
        callback is called first. Only for middleware of a guard.
        """
        if self._callbacks is None:
            self._callbacks = []
        self._callbacks.append(callback)

    def end(self, answer: bytes | None) -> None:
        """Record the end and run the callbacks; `answer` is None without a response."""
        self._duration = perf_counter() - self.started
        if answer is None or self._call.phase.is_cancelled:
            self.outcome = "cancelled"
        elif self.error is not None and not self._has_run:
            self.outcome = "refused"
        elif self.outcome is None:
            is_error = self.error is not None or self._call.failure is not None
            self.outcome = "error" if is_error else "ok"
        self.size = 0 if answer is None else len(answer)
        for callback in reversed(self._callbacks or ()):
            try:
                callback(self)
            except Exception:
                # The response is ready; an error of a callback must not change it.
                logger.exception("a middleware failed after %s", self.method)

    def _changed_params(self) -> Params | None:
        """Return the params with the changes of the middleware; None if it cannot have any."""
        return None

    def _read(self, outcome: Any) -> R | None:
        """Return what the handler returned as a result; None if it is not one, such as a task.

        Results are decoded when a middleware looks at them.
        """
        result: R = outcome
        return result

    def _write(self, result: R) -> Outcome:
        """Return a result in the form that the client's revision has; raises UsageError.

        What no middleware looked at is returned as it came from the handler.
        """
        outcome: Outcome = result  # type: ignore[assignment]
        return outcome

    def run(self) -> Outcome | Coroutine[Any, Any, Outcome]:
        """Run the chain; returns a coroutine only if it waits for something. For dispatchers.

        The first step runs at once: a request that does not wait needs no coroutine and no timer.
        """
        chain = self._chain
        running: Any = chain.first(self, chain.call_next)
        if chain.is_transparent:
            outcome: Outcome | Coroutine[Any, Any, Outcome] = running
            return outcome
        if type(running) is not CoroutineType:
            running = _await_it(running)
        try:
            awaited = running.send(None)
        except StopIteration as returned:
            result = returned.value
        except _NotAResult as interim:
            return interim.unwrap()
        else:
            return self._await_rest(running, awaited)
        if result is None:
            raise _no_result(chain.first, self)
        return self._write(result)

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
            raise _no_result(self._chain.first, self)
        return self._write(result)

    def _start_handler(self) -> Any:
        """Run the handler of a chain that does not look at results."""
        self._has_run = True
        return self._handler.run(self._call)

    async def _run_handler(self) -> R:
        call = self._call
        if self._has_run:
            # The handler may ask the same questions again.
            call.record.restart()
        self._has_run = True
        params = self._changed_params()
        if params is not None:
            call.replace_params(params)
        try:
            outcome: Any = self._handler.run(call)
            if isinstance(outcome, CoroutineType):
                outcome = await self._await_handler(outcome)
        except InputRequired as question:
            raise _NotAResult(question) from None
        result = self._read(outcome)
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


CallNext: TypeAlias = Callable[[Request[R]], Awaitable[R]]
"""Passes a request on to the next middleware, or to the handler, and returns the result."""


class AnyMiddleware(Protocol):
    """An async function or an object with an async `__call__`."""

    def __call__(self, request: Any, call_next: CallNext[Any], /) -> Awaitable[Any]:
        """Return the result, usually that of `await call_next(request)`."""


class Chain(NamedTuple):
    """The middleware of one kind of requests, built once. All state of a run is in the request."""

    first: AnyMiddleware
    call_next: CallNext[Any]
    # Whether no middleware of it looks at results: then `call_next` runs the handler at once, and
    # what the chain returns is what the handler returned.
    is_transparent: bool


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
        chain = make_chain(kind, middleware)
        handler = plain[kind.handles]
        handlers[kind.handles] = handler if chain is None else _wrap(handler, kind, chain)


def make_chain(kind: type[Request[Any]], middleware: Sequence[AnyMiddleware]) -> Chain | None:
    """Return what the middleware does for requests of this kind; None for nothing."""
    functions = (_function_for(each, kind) for each in middleware)
    chain = [each for each in functions if each is not None]
    if not chain:
        return None
    is_transparent = all(_is_marked(each, _TRANSPARENT) for each in chain)
    call_next: CallNext[Any] = kind._start_handler if is_transparent else kind._run_handler
    for each in reversed(chain[1:]):
        call_next = _linked(each, call_next)
    return Chain(chain[0], call_next, is_transparent)


def transparent(method: F) -> F:
    """Mark a `__call__` that returns what `call_next` returns, whatever it is, as it is.

    Such a middleware sees the end of a request only through `add_done_callback`.
    """
    setattr(method, _TRANSPARENT, True)
    return method


def _is_marked(middleware: AnyMiddleware, mark: str) -> bool:
    return hasattr(type(middleware).__call__, mark)


def _linked(middleware: AnyMiddleware, call_next: CallNext[Any]) -> CallNext[Any]:
    if not _is_marked(middleware, _TRANSPARENT):
        return _checked(middleware, call_next)

    def run(request: Request[Any]) -> Awaitable[Any]:
        return middleware(request, call_next)

    return run


def _checked(middleware: AnyMiddleware, call_next: CallNext[Any]) -> CallNext[Any]:
    """The same with a check of the result, so that an error names the right middleware.

    The result of the first middleware is checked at the end.
    """

    async def run(request: Request[Any]) -> Any:
        result = await middleware(request, call_next)
        if result is None:
            raise _no_result(middleware, request)
        return result

    return run


def _no_result(middleware: AnyMiddleware, request: Request[Any]) -> UsageError:
    owner = getattr(middleware, "__self__", middleware)
    name = getattr(owner, "__name__", type(owner).__name__)
    return UsageError(
        f"middleware {name!r} returned None for {request.method}; return the result of "
        "`await call_next(request)`"
    )


def default_method(method: F) -> F:
    """Mark a method of `Middleware` that only passes requests on, so they need not go through."""
    setattr(method, _DEFAULT, True)
    return method


def _function_for(middleware: AnyMiddleware, kind: type[Request[Any]]) -> AnyMiddleware | None:
    """Return what handles requests of this kind: the middleware itself or one of its methods.

    None if the middleware does nothing for them.
    """
    if not _is_marked(middleware, _DEFAULT):
        return middleware
    method: AnyMiddleware | None = getattr(middleware, kind.hook) if kind.hook else None
    return None if hasattr(method, _DEFAULT) else method


def _wrap(handler: MethodHandler, kind: type[Request[Any]], chain: Chain) -> MethodHandler:
    return MethodHandler(partial(_run, kind, handler, chain), handler.fault, needs_task=True)


def _run(
    kind: type[Request[Any]], handler: MethodHandler, chain: Chain, call: Call
) -> Outcome | Coroutine[Any, Any, Outcome]:
    return kind(call, handler, chain).run()


class GuardChains:
    """The chains of the middleware of a guard: around all requests, those without a kind too."""

    def __init__(
        self, kinds: Sequence[type[Request[Any]]], middleware: Sequence[AnyMiddleware]
    ) -> None:
        self._middleware = middleware
        self._chains = {kind.handles: (kind, _chain_of(kind, middleware)) for kind in kinds}
        self._other = Request, _chain_of(Request, middleware)

    def open(self, call: Call, handler: MethodHandler, transport: str) -> Request[Any]:
        """Return the request on its way through its chain of middleware to the handler."""
        kind, chain = self._chains.get(call.method, self._other)
        request: Request[Any] = kind(call, handler, chain)
        request.transport = transport
        request.started = perf_counter()
        return request

    def end_session(self, revision: str, transport: str, duration: float) -> None:
        """Tell the middleware that a legacy session has ended."""
        for each in self._middleware:
            session_ended = getattr(each, "session_ended", None)
            if session_ended is None:
                continue
            try:
                session_ended(revision, transport, duration)
            except Exception:
                # The failure of one must not keep it from the others.
                logger.exception("a middleware failed after a session")


@transparent
def _pass_on(request: Request[Any], call_next: CallNext[Any]) -> Awaitable[Any]:
    return call_next(request)


def _chain_of(kind: type[Request[Any]], middleware: Sequence[AnyMiddleware]) -> Chain:
    """Return the chain, which may do nothing: the request is measured all the same."""
    return make_chain(kind, middleware) or Chain(_pass_on, kind._start_handler, True)


async def _await_it(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
