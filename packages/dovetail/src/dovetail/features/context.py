"""`Context`: the request and its client, as a running handler sees them.

Nothing here depends on the era. A handler that asks the user works with clients that accept
requests from the server and with clients that have to send the request again with the answer.
"""

from __future__ import annotations

import copy
import functools
import inspect
import math
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeVar, overload

import msgspec

from dovetail.core.call import Ask, Call, Sent, Style, find_run
from dovetail.core.middleware import CallFacts
from dovetail.core.schema import store_defaults, type_schema
from dovetail.errors import ToolError, UsageError
from dovetail.features.content import Message
from dovetail.features.elicitation import Elicited, elicit
from dovetail.features.log_messages import LogSender
from dovetail.features.sampling import ModelPreferences, Sampled, SamplingMessage, sample
from dovetail.spec.models import ProgressParams, ResourceContents, Root, Tool
from dovetail.spec.revisions import Family
from dovetail.wire import codec

if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultTypeVar

    # A bare `Context` means `Context[Any]`. Type checkers know typing_extensions without its
    # being installed; Python itself has defaults of type variables from 3.13 on.
    LifespanT = DefaultTypeVar("LifespanT", covariant=True, default=Any)
else:
    LifespanT = TypeVar("LifespanT", covariant=True)

__all__ = [
    "Caller",
    "Context",
    "PlainContext",
    "ProgressReporter",
    "SessionState",
    "current_context",
    "list_roots",
]


class SessionState:
    """The values of an authenticated caller, or of the session of an anonymous legacy client."""

    __slots__ = ("_lifetime", "_max_bytes", "_owner", "_store")

    def __init__(self, call: Call) -> None:
        options = call.services.options
        self._store = call.services.session_states
        self._max_bytes = options.max_session_state_bytes
        self._lifetime: float | None = options.session_state_lifetime
        if call.principal is not None:
            self._owner = f"principal:{call.principal.id}"
            return
        session = call.link.session
        is_legacy = call.era.revision.family is Family.LEGACY
        owner = session.own_state(self._store) if session is not None and is_legacy else None
        if owner is None:
            reason = (
                "this server keeps no sessions"
                if is_legacy
                else f"requests of protocol revision {call.era.revision.date} have no session"
            )
            raise ToolError(
                f"Session state needs an authenticated caller here: {reason}, so the requests of "
                "anonymous callers cannot be told apart."
            )
        self._owner = owner
        # It ends with the session.
        self._lifetime = None

    async def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, decoded from JSON; `default` if there is none."""
        raw = await self._store.get(self._owner, key)
        return default if raw is None else codec.decode_json(raw)

    async def set(self, key: str, value: Any) -> None:
        """Store a value as JSON; raises LimitError if the caller has too many bytes."""
        store_defaults(value)
        try:
            raw = codec.encode(value)
        except TypeError as error:
            raise UsageError(f"the session state {key!r} must be JSON: {error}") from None
        await self._store.set(
            self._owner, key, raw, lifetime=self._lifetime, max_bytes=self._max_bytes
        )

    async def delete(self, key: str) -> None:
        """Remove a value, if it exists."""
        await self._store.delete(self._owner, key)


class _Roots(msgspec.Struct):
    roots: list[Root]


async def list_roots(call: Call, key: str | None) -> list[Root]:
    """Ask the client for its roots."""
    # roots.capability (2025-11-25 client/roots): only if declared
    if not isinstance(call.peer.capabilities.get("roots"), dict):
        raise call.era.undeclared(call, {"roots": {}})
    key = call.record.claim(key, "roots")
    answer = await call.era.ask(call, Ask(key, "roots/list", None))
    try:
        return codec.decode_as(_Roots, answer).roots
    except msgspec.ValidationError as error:
        raise call.era.bad_answer(f"The answer to {key!r} is no list of roots: {error}") from None


_BURST = 50.0
_PER_SECOND = 50.0


class ProgressReporter:
    """Sends the progress of one call."""

    __slots__ = ("_allowance", "_call", "_clock", "_last", "_seen")

    def __init__(self, call: Call, clock: Callable[[], float] = time.monotonic) -> None:
        self._call = call
        self._clock = clock
        self._last: float | None = None
        self._allowance = _BURST
        self._seen = clock()

    def report(self, done: float, total: float | None, message: str | None) -> None:
        """Notify the client, if it sent a progress token."""
        call = self._call
        if call.on_activity is not None:
            call.on_activity()
        if call.detached is not None:
            call.detached.progressed(done, total, message)
        token = call.progress_token
        # JSON has no NaN or Infinity; the client would get null.
        if token is None or not math.isfinite(done):
            return
        if total is not None and not math.isfinite(total):
            total = None
        # progress.increasing (2025-11-25 basic/utilities/progress): each value above the last
        if self._last is not None and done <= self._last:
            return
        if not self._take() and done != total:
            return
        self._last = done
        known = call.era.revision.progress_message
        params = ProgressParams(
            progress_token=token,
            progress=done,
            total=total,
            message=message if known else None,
        )
        call.notify("notifications/progress", codec.encode(params))

    def _take(self) -> bool:
        # progress.rate-limit (2025-11-25 basic/utilities/progress): a token bucket
        now = self._clock()
        self._allowance = min(_BURST, self._allowance + (now - self._seen) * _PER_SECOND)
        self._seen = now
        if self._allowance < 1:
            return False
        self._allowance -= 1
        return True


T = TypeVar("T")


class Caller:
    """The client as it describes itself; none of this is verified."""

    __slots__ = ("capabilities", "name", "title", "version")

    def __init__(self, call: Call) -> None:
        info = call.peer.info
        self.name: str | None = info.name if info is not None else None
        self.title: str | None = info.title if info is not None else None
        self.version: str | None = info.version if info is not None else None
        # A copy: decoded capabilities are cached and shared by requests that declare the same.
        self.capabilities: dict[str, Any] = copy.deepcopy(call.peer.capabilities)


class Context(CallFacts, Generic[LifespanT]):
    """The running request, for handlers with a parameter `ctx: Context`.

    `Context[Database]` gives `ctx.lifespan` the type `Database`.
    """

    __slots__ = ("log",)

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        self.log: LogSender = LogSender(call)

    # -- the client and the server ------------------------------------------------------

    @property
    def client(self) -> Caller:
        """Name, version and capabilities of the client."""
        return Caller(self._call)

    @property
    def lifespan(self) -> LifespanT:
        """The value that the server's lifespan yielded."""
        state: LifespanT = self._call.services.lifespan.state
        return state

    @property
    def state(self) -> dict[str, Any]:
        """Values for the time of this request, shared with the middleware."""
        return self._call.state

    @property
    def session_state(self) -> SessionState:
        """Values stored for the caller between requests: `await ctx.session_state.get("key")`.

        They belong to the authenticated caller, or to the session of an anonymous legacy client.
        Raises ToolError if there is neither.
        """
        return SessionState(self._call)

    @property
    def cancelled(self) -> bool:
        """Whether the request was cancelled; check it in `def` handlers that run long."""
        return self._call.phase.is_cancelled

    # -- notifications ------------------------------------------------------------------

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> Sent:
        """Report progress to the client. Sent at once; await it to wait for a slow client."""
        call = self._call
        if call.reporter is None:
            call.reporter = ProgressReporter(call)
        call.reporter.report(done, total, message)
        return Sent(call)

    def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> Sent:
        """Report progress to the client: the same as `progress`."""
        return self.progress(progress, total, message)

    def debug(self, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """Send a log message of level debug: the same as `ctx.log.debug`."""
        return self.log.debug(message, logger=logger, **data)

    def info(self, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """Send a log message of level info: the same as `ctx.log.info`."""
        return self.log.info(message, logger=logger, **data)

    def warning(self, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """Send a log message of level warning: the same as `ctx.log.warning`."""
        return self.log.warning(message, logger=logger, **data)

    def error(self, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """Send a log message of level error: the same as `ctx.log.error`."""
        return self.log.error(message, logger=logger, **data)

    def disconnect(self, retry_ms: int = 1000) -> None:
        """Close the connection; the client reconnects after `retry_ms` and gets the rest.

        For long work over HTTP. Does nothing where the client cannot resume a connection.
        """
        self._call.link.disconnect(retry_ms)

    def resource_updated(self, uri: str) -> None:
        """Notify every client subscribed to this resource that it has changed."""
        self._call.services.host.resource_updated(uri)

    async def read_resource(self, uri: str) -> list[ResourceContents]:
        """Read a resource of this server."""
        return await self._call.services.host.read_resource(self._call, uri)

    # -- requests to the client ---------------------------------------------------------

    @overload
    def elicit(
        self, message: str, form: type[T], *, key: str | None = None
    ) -> Coroutine[Any, Any, Elicited[T]]: ...
    @overload
    def elicit(
        self, message: str, form: dict[str, Any], *, key: str | None = None
    ) -> Coroutine[Any, Any, Elicited[dict[str, Any]]]: ...
    @overload
    def elicit(
        self, message: str, *, url: str, key: str | None = None
    ) -> Coroutine[Any, Any, Elicited[None]]: ...
    def elicit(
        self, message: str, form: Any = None, *, url: str | None = None, key: str | None = None
    ) -> Coroutine[Any, Any, Elicited[Any]]:
        """Ask the user to fill in a form, made from a class with fields, or to visit a URL.

        `key` identifies the question when the handler runs again for the same request. Give one
        if the order of questions depends on anything but the answers to earlier ones.
        """
        return elicit(self._call, message, form, url, key)

    async def sample(  # noqa: PLR0913 - the protocol's own parameters, all by name
        self,
        messages: str | Message | Sequence[str | Message | SamplingMessage],
        *,
        max_tokens: int = 1024,
        system_prompt: str | None = None,
        temperature: float | None = None,
        stop_sequences: list[str] | None = None,
        model_preferences: ModelPreferences | None = None,
        include_context: Literal["none", "thisServer", "allServers"] | None = None,
        metadata: dict[str, Any] | None = None,
        tools: list[Tool] | None = None,
        tool_choice: Literal["auto", "required", "none"] | None = None,
        key: str | None = None,
    ) -> Sampled:
        """Ask the client's model to continue a conversation."""
        options = {
            "max_tokens": max_tokens,
            "system_prompt": system_prompt,
            "temperature": temperature,
            "stop_sequences": stop_sequences,
            "model_preferences": model_preferences,
            "include_context": include_context,
            "metadata": metadata,
            "tools": tools,
            "tool_choice": tool_choice,
        }
        return await sample(self._call, messages, key, options)

    async def roots(self, *, key: str | None = None) -> list[Root]:
        """Ask the client for its roots: the folders it considers relevant."""
        return await list_roots(self._call, key)

    @overload
    async def once(
        self, key: str, function: Callable[[], Awaitable[T]], type: type[T] | None = None
    ) -> T: ...
    @overload
    async def once(self, key: str, function: Callable[[], T], type: type[T] | None = None) -> T: ...
    async def once(
        self, key: str, function: Callable[[], Any], type: type[Any] | None = None
    ) -> Any:
        """Run `function` at most once for this request, however often the handler runs.

        For effects that must not happen twice. The value is stored as JSON between runs, so you
        always get the value decoded from JSON; pass `type` to decode it to that type.
        """
        record = self._call.record
        raw = record.results.get(key)
        if raw is None:
            with record.effect(key):
                if self._call.detached is not None:
                    await self._call.detached.before_step()
                value = function()
                if inspect.isawaitable(value):
                    value = await value
                raw = record.results[key] = msgspec.Raw(_recordable(key, value))
                if self._call.detached is not None:
                    await self._call.detached.recorded()
        if type is None:
            return codec.decode_json(raw)
        return type_schema(type).decode(bytes(raw))


class PlainContext(Context[Any]):
    """The context of a `def` handler, which cannot await: calling a coroutine method raises.

    Without this the coroutine would be dropped and the call would succeed without asking.
    """

    __slots__ = ()
    # The handler in error messages. On a class of its own for each handler, so that contexts
    # cost the same as those of async handlers.
    where = "the handler"

    @classmethod
    @functools.lru_cache(maxsize=1024)
    def of(cls, where: str) -> type[PlainContext]:
        """Return the class for one handler."""
        return type(cls.__name__, (cls,), {"__slots__": (), "where": where})

    def elicit(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise UsageError."""
        self._refuse("elicit")

    def sample(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise UsageError."""
        self._refuse("sample")

    def roots(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise UsageError."""
        self._refuse("roots")

    def once(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise UsageError."""
        self._refuse("once")

    def read_resource(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise UsageError."""
        self._refuse("read_resource")

    @property
    def session_state(self) -> NoReturn:
        """Raise UsageError."""
        self._refuse("session_state.get")

    def _refuse(self, method: str) -> NoReturn:
        raise UsageError(
            f"{self.where} is a plain def and calls ctx.{method}(), which has to be awaited; make "
            f"it async def and await ctx.{method}(...)"
        )


def current_context() -> Context[Any]:
    """Return the `Context` of the running handler; raises UsageError outside of one.

    For helpers that do not get the context as an argument; the server needs
    `Options(current_context=True)`. Works in every function that a handler
    calls or awaits, in its asyncio tasks and in `asyncio.to_thread`, not in threads that it starts
    itself: they do not inherit context variables.
    """
    run = find_run()
    if run is None:
        raise UsageError(
            "current_context() was called outside of a handler, or of a server without "
            "Options(current_context=True). Call it while a tool, prompt, resource or completer "
            "runs; in a thread of your own, get the context first and pass it to the thread"
        )
    call, handler = run
    return Context(call) if handler.style is Style.ASYNC else PlainContext.of(handler.where)(call)


def _recordable(key: str, value: Any) -> bytes:
    store_defaults(value)
    try:
        return codec.encode(value)
    except TypeError as error:
        raise UsageError(
            f"the value of once({key!r}) is stored between runs, so it must be JSON: {error}"
        ) from None
