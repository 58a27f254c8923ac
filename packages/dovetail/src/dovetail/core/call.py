"""`Call`: one request in flight.

A call knows no event loop. Its `Link` reaches the client, its `Runner` runs the handler, its
`Era` implements what differs between eras.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct

from dovetail.core.call_state import NEW, CallState
from dovetail.core.era import Era
from dovetail.core.link import Link, SessionStateStore
from dovetail.core.options import Options
from dovetail.core.principal import Permission, Principal
from dovetail.errors import InvalidParamsError, RpcError, UsageError
from dovetail.spec.keys import PROGRESS_TOKEN
from dovetail.spec.models import ClientInfo, Params, ResourceContents, Tool
from dovetail.wire import codec
from dovetail.wire.messages import Notification

if TYPE_CHECKING:
    from dovetail.core.middleware import Request

__all__ = [
    "Ask",
    "Call",
    "DetachedRun",
    "Handler",
    "Host",
    "MiddlewareLimit",
    "Origin",
    "Peer",
    "Record",
    "Runner",
    "Sent",
    "Services",
    "StaticScope",
    "Style",
    "current_call",
    "find_run",
    "nested_run",
]

T = TypeVar("T")


class Style(Enum):
    """Where a function runs."""

    ASYNC = "on the event loop, awaited"
    THREAD = "in a worker thread, because it may block"
    INLINE = "on the event loop, directly: the author says that it does not block"


@dataclass(frozen=True, slots=True)
class Handler:
    """A function and how to run it. `None` as a timeout means that of the server."""

    function: Callable[..., Any]
    style: Style
    label: str
    timeout: float | None = None
    idle_timeout: float | None = None
    # The label with the file and line of the function, for logs: "tool 'search' (weather.py:12)".
    where: str = ""


class Ask(NamedTuple):
    """Something a handler needs from the client: elicitation, sampling or roots."""

    key: str
    method: str
    params: bytes | None

    @property
    def digest(self) -> bytes:
        """A digest of the question: an answer is valid for exactly this one."""
        return blake2b(
            b"%b %b" % (self.method.encode(), self.params or b""), digest_size=16
        ).digest()


class Answer(Struct, array_like=True):
    """The client's answer, and the digest of the question that it was given to."""

    question: bytes
    value: Raw


class MiddlewareLimit(Protocol):
    """The time limit of the middleware of one call."""

    async def run(self, middleware: Coroutine[Any, Any, T], awaited: Any) -> T:
        """Await the rest of the middleware, which waits for `awaited`; may raise LimitError."""

    def pause(self) -> None:
        """Stop counting the time, because a handler runs."""

    def resume(self) -> None:
        """Count the time again."""


class Runner(Protocol):
    """Runs an author's function under the server's limits."""

    def start(
        self,
        call: Call,
        handler: Handler,
        arguments: dict[str, Any],
        shape: Callable[[Call, Any], T],
    ) -> T | Coroutine[Any, Any, T]:
        """Run the function and pass its value to `shape`; may return a coroutine.

        Raises the function's exceptions, or LimitError. Must be called in the task in which the
        function runs.
        """

    async def in_thread(self, call: Call, function: Callable[[], T]) -> T:
        """Run a function in a worker thread, for a handler that runs already."""

    def limit_middleware(self, call: Call, handlers_running: int) -> MiddlewareLimit:
        """Return the time limit for the middleware of a call that waits for something.

        `handlers_running`: the handlers that the middleware waits for, which it does not count.
        """


class DetachedRun(Protocol):
    """What a call runs in that outlives its request."""

    @property
    def id(self) -> str:
        """The id by which clients find it."""

    def ask(self, ask: Ask) -> Coroutine[Any, Any, Raw]:
        """Wait until the client has answered."""

    def tell(self, method: str, params: bytes) -> None:
        """Send a notification, if the era has them; safe from any thread."""

    def progressed(self, done: float, total: float | None, message: str | None) -> None:
        """Report progress; safe from any thread."""

    async def before_step(self) -> None:
        """Wait until a step may be done: until no other process can do it as well."""

    async def recorded(self) -> None:
        """Wait until the record is stored."""


class Host(Protocol):
    """The part of the server that handlers can use."""

    @property
    def source(self) -> Any:
        """The server."""

    @property
    def dependency_overrides(self) -> Mapping[Callable[..., Any], Callable[..., Any]]:
        """Providers that replace others, for tests."""

    def find_tool(self, name: str) -> Tool | None:
        """The listing of a tool, None if it is not known here."""

    def resource_updated(self, uri: str) -> None:
        """Notify the subscribers of this resource."""

    async def read_resource(self, call: Call, uri: str) -> list[ResourceContents]:
        """The contents that resources/read returns."""


class Origin(Protocol):
    """Where a request comes from."""

    @property
    def scope(self) -> Any:
        """Data about the request from the transport or the embedding application."""


class StaticScope(NamedTuple):
    """A request origin whose scope is known in advance."""

    scope: Any


class Peer(NamedTuple):
    """What is known about the client of this request."""

    info: ClientInfo | None
    capabilities: dict[str, Any]
    # The rank of the lowest log level that the client wants; None: no log messages.
    log_rank: int | None


class Record:
    """The answers and `once` values of a handler, across the runs of one request.

    `answers` are the results of asks by key, `results` are the raw values of `once` by key.
    In the legacy era a request runs once and the record only detects duplicate keys.
    """

    __slots__ = (
        *("answers", "asked", "busy", "is_first_use", "ordinals", "results", "retry_id", "stage"),
        "when_idle",
    )

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        # Set for a retried request, which brings answers: its id, and whether they are used for
        # the first time, once that has been asked.
        self.retry_id: bytes | None = None
        self.is_first_use: bool | Awaitable[bool] | None = None
        self.results: dict[str, Raw] = {}
        # The keys of all questions, with the stage that asked them last. (Dictionaries instead of
        # sets: an empty set is three times as large, and thousands of tasks may wait.)
        self.asked: dict[str, int] = {}
        self.stage: int = 0
        self.ordinals: dict[str, int] = {}
        # Running `once` functions. The run is not interrupted until they have finished; `when_idle`
        # is called then.
        self.busy: dict[str, None] = {}
        self.when_idle: Callable[[], None] | None = None

    def claim(self, key: str | None, kind: str) -> str:
        """The key of the next ask: the given one, or a counter per kind."""
        if key is None:
            self.ordinals[kind] = self.ordinals.get(kind, 0) + 1
            key = f"{kind}-{self.ordinals[kind]}"
        if self.asked.get(key) == self.stage:
            raise UsageError(
                f"the key {key!r} is used for two questions of one call; give each its own key"
            )
        self.asked[key] = self.stage
        return key

    def answer_to(self, ask: Ask) -> Raw | None:
        """The recorded answer; None if there is none, or if the question was another one."""
        answer = self.answers.get(ask.key)
        return answer.value if answer is not None and answer.question == ask.digest else None

    def keep_answer(self, ask: Ask, value: Raw) -> None:
        """Record the answer to a question."""
        self.answers[ask.key] = Answer(ask.digest, value)

    def restart(self) -> None:
        """Start another function or run, which may ask the same questions again."""
        self.stage += 1
        self.ordinals.clear()

    @contextmanager
    def effect(self, key: str) -> Iterator[None]:
        """Context of an effect that must be recorded before the handler may be interrupted."""
        if key in self.busy:
            raise UsageError(
                f"once({key!r}) is already running in this call; use a different key for each step"
            )
        self.busy[key] = None
        try:
            yield
        finally:
            self.busy.pop(key, None)
            if not self.busy and self.when_idle is not None:
                self.when_idle()


class Sent:
    """A message that has been sent; await it to wait for a slow client.

    So `ctx.progress(...)` and `ctx.log.info(...)` work in a plain `def`, and in an `async def`
    may be awaited for back-pressure.
    """

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        self._call = call

    def __await__(self) -> Generator[Any, None, None]:
        return self._call.drain().__await__()


class LifespanState(Protocol):
    """The server's lifespan."""

    @property
    def state(self) -> Any:
        """The value that the author's lifespan yielded."""


class Services(Protocol):
    """The parts of a server that all its calls share."""

    @property
    def runner(self) -> Runner:
        """Runs handlers."""

    @property
    def host(self) -> Host:
        """The server."""

    @property
    def lifespan(self) -> LifespanState:
        """The server's lifespan."""

    @property
    def tasks(self) -> Any:
        """The tasks of the server."""

    @property
    def options(self) -> Options:
        """The options of the server."""

    @property
    def session_states(self) -> SessionStateStore:
        """The values that handlers keep for callers."""

    @property
    def permission(self) -> Permission | None:
        """The guard's permission for all callers; None without a guard."""


class Call:
    """A request in flight."""

    # Most calls never set most of these, so the defaults are on the class: assigning them all
    # would cost more than decoding the request.
    services: Services
    # How to reach the client.
    link: Link
    # Where the request comes from: what the transport passes as `ctx.scope`.
    origin: Origin = StaticScope(None)
    principal: Principal | None = None
    # What the call runs in if it outlives its request: the client fetches the result later.
    detached: DetachedRun | None = None
    # The state of the call.
    phase: CallState = NEW
    # The author's function that serves the call, once it has started.
    handler: Handler | None = None
    # Number of open questions to the client; the handler's time limits do not count them.
    holds: int = 0
    # The code of the error that the call ended with, and the error itself.
    failure: int | None = None
    refusal: RpcError | None = None
    # The request as the middleware of a guard sees it, if there is a guard with middleware.
    request: Request[Any] | None = None
    # Set while the handler waits for something: ends it; the exception becomes the outcome.
    interruption: Callable[[Exception], None] | None = None
    # Called on progress and log messages, to move an idle deadline.
    on_activity: Callable[[], None] | None = None
    # Called when `holds` changes.
    on_hold: Callable[[], None] | None = None
    # The running call whose handler made this one, by `server.handle` of another server.
    outer: Call | None = None
    # Reports progress; one for all contexts of the call, since values may only increase.
    reporter: Any = None
    _meta: dict[str, Any] | None = None
    _record: Record | None = None
    # The params on the wire, if the call was forwarded to another tool.
    sent: Params | None = None
    _received: Params | None = None
    _state: dict[str, Any] | None = None

    def __init__(
        self,
        id: bytes,
        method: str,
        params: Params,
        era: Era,
        peer: Peer,
    ) -> None:
        self.id = id
        self.method = method
        self.params: Params = params
        self.era = era
        self.peer = peer

    @property
    def record(self) -> Record:
        """The answers and `once` values so far."""
        if self._record is None:
            self._record = Record()
        return self._record

    @property
    def is_retried(self) -> bool:
        """Whether the request brings answers to the questions of an earlier run."""
        return self._record is not None and self._record.retry_id is not None

    @property
    def received(self) -> Params:
        """The params that the client sent; middleware may have replaced `params`."""
        return self.params if self._received is None else self._received

    def replace_params(self, params: Params) -> None:
        """Use other params than the client sent."""
        if self._received is None:
            self._received = self.params
        self.params = params

    @property
    def state(self) -> dict[str, Any]:
        """Values that middleware and handler share for the time of the request."""
        if self._state is None:
            self._state = {}
        return self._state

    @property
    def meta(self) -> dict[str, Any]:
        """The `_meta` of the request."""
        if self._meta is None:
            self._meta = {} if self.params.meta is UNSET else _read_meta(self.params.meta)
        return self._meta

    @property
    def progress_token(self) -> str | int | None:
        """The token for progress notifications, if the client sent one."""
        token = self.meta.get(PROGRESS_TOKEN)
        if token is None:
            return None
        # progress.token-type: a string or an integer; anything else is ignored.
        return token if isinstance(token, str | int) and not isinstance(token, bool) else None

    def describe(self) -> str:
        """Return the handler with its file and line, or the method, for logs."""
        return self.method if self.handler is None else self.handler.where

    def become_current(self) -> None:
        """Make this the call that runs in this context, before its handler is started."""
        outer = current_call.get()
        if outer is not None and outer is not self:
            # The call that runs again in this context when this one has ended.
            self.outer = outer.find_running()
        current_call.set(self)

    def find_running(self) -> Call | None:
        """Return this call, or the nearest outer one whose handler runs.

        A thread cannot be stopped, so it may still run after a cancellation.
        """
        call: Call | None = self
        while call is not None and not (call.phase.is_running or call.phase.is_cancelled):
            call = call.outer
        return call

    async def waiting(self, answer: Awaitable[T]) -> T:
        """Await an answer of the client; the time does not count against the handler's limits."""
        self.hold(1)
        try:
            return await answer
        finally:
            self.hold(-1)

    def hold(self, change: int) -> None:
        """Change the number of open questions to the client."""
        self.holds += change
        if self.on_hold is not None:
            self.on_hold()

    def notify(self, method: str, params: bytes) -> None:
        """Send a notification that belongs to this request, unless the request is over."""
        if self.phase.is_open:
            if self.detached is None:
                self.link.send(Notification(method, Raw(params)))
            else:
                self.detached.tell(method, params)

    async def drain(self) -> None:
        """Wait for a slow client; returns at once in a detached run, which has no connection."""
        if self.detached is None:
            await self.link.drain()


# The last call that a handler was started for in this context. It is not removed when a handler
# ends that never waited, because setting a variable twice would take too long. Set only for servers
# with Options.current_context.
current_call: ContextVar[Call | None] = ContextVar("current_call", default=None)
# The handler of a resource that the handler of this call reads.
nested_run: ContextVar[tuple[Call, Handler] | None] = ContextVar("nested_run", default=None)


def find_run() -> tuple[Call, Handler] | None:
    """Return the call and the handler that run in this context, None outside of a handler."""
    last = current_call.get()
    call = None if last is None else last.find_running()
    if call is None or call.handler is None:
        return None
    nested = nested_run.get()
    return nested if nested is not None and nested[0] is call else (call, call.handler)


def _read_meta(raw: Raw) -> dict[str, Any]:
    try:
        return codec.decode_as(dict[str, Any], raw)
    except msgspec.ValidationError as error:
        raise InvalidParamsError(f"Invalid params: _meta: {error}") from None
