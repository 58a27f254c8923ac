"""One request in flight: what was asked, by whom, and how to reach them meanwhile.

A call knows no event loop. Its `Outbox` takes messages from any thread, its
`Runner` runs the author's function, its `Era` does what differs between eras.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import msgspec
from msgspec import UNSET, Raw

from dovetail.core.era import Era
from dovetail.core.permission import Permission
from dovetail.core.principal import Principal
from dovetail.core.tasks import KeptTasks, RunningTask
from dovetail.errors import InvalidParamsError, RpcError, UsageError
from dovetail.spec.keys import PROGRESS_TOKEN
from dovetail.spec.models import ClientInfo, Params, ResourceContents
from dovetail.wire import codec

if TYPE_CHECKING:
    from dovetail.core.handler import Handler

__all__ = [
    "ALL_CHANNELS",
    "Ask",
    "Call",
    "ClientChannels",
    "Detachable",
    "Given",
    "Host",
    "Origin",
    "Outbox",
    "Peer",
    "Record",
    "Runner",
    "Sent",
    "Services",
]


T = TypeVar("T")


class Ask(NamedTuple):
    """Something a handler needs from the client: elicitation, sampling or roots."""

    key: str
    method: str
    params: bytes | None


class Outbox(Protocol):
    """Where messages to the client go, in order; safe from any thread."""

    def send(self, message: bytes) -> None:
        """Queue one encoded message."""

    async def drain(self) -> None:
        """Wait until a slow reader has caught up enough."""


@runtime_checkable
class Detachable(Protocol):
    """An outbox whose connection may be closed while the call goes on."""

    def disconnect(self, retry_ms: int) -> None:
        """Close the connection; the client comes back after `retry_ms`."""


class Runner(Protocol):
    """Runs an author's function under the server's limits."""

    def start(
        self,
        call: Call,
        handler: Handler,
        arguments: dict[str, Any],
        shape: Callable[[Call, Any], T],
    ) -> T | Coroutine[Any, Any, T]:
        """What `shape` makes of the function's value: at once, or to be awaited.

        Raises what the function raises, or LimitError. Must be called in the task that the
        function is to run in.
        """


class Host(Protocol):
    """The server, as far as a running handler may reach it."""

    def resource_updated(self, uri: str) -> None:
        """Tell whoever watches this resource."""

    async def read_resource(self, call: Call, uri: str) -> list[ResourceContents]:
        """What resources/read would answer."""


class ClientChannels(NamedTuple):
    """How far the client can be reached beside the answer; what carries a call knows it."""

    # It hears of changes when they happen: tools, prompts, resources.
    changes: bool = True
    # It hears what a handler says before the answer.
    messages: bool = True


ALL_CHANNELS = ClientChannels()


class Origin(Protocol):
    """Where a request comes from."""

    @property
    def scope(self) -> Any:
        """What a transport or an embedder knows of it beside the message."""


class Given(NamedTuple):
    """A scope that was given with the request, as it is."""

    scope: Any


class Peer(NamedTuple):
    """The client as far as this request knows it."""

    info: ClientInfo | None
    capabilities: dict[str, Any]
    # The rank of the mildest log message the client wants; None: it wants none.
    log_rank: int | None


class Record:
    """What a handler has been told and has done so far, across the runs of one request.

    Answers are the raw results of asks by key, results are the raw values of `once` by
    key. In the legacy era a request runs once and the record only guards the keys.
    """

    __slots__ = ("answers", "asked", "busy", "on_rest", "ordinals", "results", "stage")

    def __init__(self) -> None:
        self.answers: dict[str, Raw] = {}
        self.results: dict[str, Raw] = {}
        # The keys of all questions, with the stage that has asked them last. (No sets here: an
        # empty one is three times as large as a dictionary, and tasks wait by the thousand.)
        self.asked: dict[str, int] = {}
        self.stage = 0
        self.ordinals: dict[str, int] = {}
        # The `once` functions that run right now: their effects must be recorded before
        # the handler may be interrupted. Whoever wants to do that waits for `on_rest`.
        self.busy: dict[str, None] = {}
        self.on_rest: Callable[[], None] | None = None

    def claim(self, key: str | None, kind: str) -> str:
        """The key of the next ask: the author's, or one counted per kind."""
        if key is None:
            self.ordinals[kind] = self.ordinals.get(kind, 0) + 1
            key = f"{kind}-{self.ordinals[kind]}"
        if self.asked.get(key) == self.stage:
            raise UsageError(
                f"the key {key!r} is used for two questions of one call; give each its own key"
            )
        self.asked[key] = self.stage
        return key

    def begin_again(self) -> None:
        """Another function, or another run, may ask what has been asked: it is answered at once."""
        self.stage += 1
        self.ordinals.clear()

    @contextmanager
    def effect(self, key: str) -> Iterator[None]:
        """Around something that must be recorded before the handler may be interrupted."""
        if key in self.busy:
            raise UsageError(f"once({key!r}) is at work already; give each effect a key of its own")
        self.busy[key] = None
        try:
            yield
        finally:
            self.busy.pop(key, None)
            if not self.busy and self.on_rest is not None:
                self.on_rest()


class Sent:
    """Something that has been sent already; awaiting it waits for a slow reader.

    So `ctx.progress(...)` and `ctx.log.info(...)` work in a plain `def`, and in an
    `async def` may be awaited to keep pace with the client.
    """

    __slots__ = ("_outbox",)

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    def __await__(self) -> Generator[Any, None, None]:
        return self._outbox.drain().__await__()


class Services(Protocol):
    """What all calls of one server have in common."""

    @property
    def runner(self) -> Runner:
        """Runs authors' functions."""

    @property
    def host(self) -> Host:
        """The server."""

    @property
    def lifespan(self) -> Any:
        """Has what the server's lifespan yielded in `state`."""

    @property
    def tasks(self) -> KeptTasks:
        """The tasks of the server."""

    @property
    def permission(self) -> Permission | None:
        """What a guard says of all callers; None where there is none."""


class Call:
    """A request in flight."""

    # Most calls never touch most of these, so they stay on the class until somebody sets
    # them: to assign them all would cost more than to decode the request.
    outbox: Outbox
    services: Services
    # Where the request comes from; has what the transport calls its scope.
    origin: Origin = Given(None)
    principal: Principal | None = None
    # The legacy session the request belongs to, if any; opaque to everyone but its era.
    session: Any = None
    # What carries the request: keeps sessions and streams; opaque likewise.
    link: Any = None
    # The task that the call runs in, if it is to be answered later.
    task: RunningTask | None = None
    # Nobody waits for the answer any more; a handler may look at it.
    cancelled = False
    # The call has been answered: nothing more may be sent for it.
    over = False
    # The author's function is at work.
    running = False
    # How many questions to the client are open: its time is not the handler's.
    holds = 0
    # The code of the error that the call ended with, and the error where it has more to say.
    failure: int | None = None
    refusal: RpcError | None = None
    # Whoever stands around the call, if anybody does.
    watch: Any = None
    # Set while the function waits for something: stops it for good; the outcome is the answer.
    interruption: Callable[[Any], None] | None = None
    # Called on any sign of life, so that an idle deadline can move.
    on_activity: Callable[[], None] | None = None
    # Called when `holds` changes.
    on_hold: Callable[[], None] | None = None
    _meta: dict[str, Any] | None = None
    _record: Record | None = None

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
        self.params = params
        self.era = era
        self.peer = peer

    @property
    def record(self) -> Record:
        """What the handler has been told and has done so far."""
        if self._record is None:
            self._record = Record()
        return self._record

    @property
    def meta(self) -> dict[str, Any]:
        """The `_meta` of the request."""
        if self._meta is None:
            self._meta = {} if self.params.meta is UNSET else _read_meta(self.params.meta)
        return self._meta

    @property
    def progress_token(self) -> str | int | None:
        """The token under which the client wants to hear of progress."""
        token = self.meta.get(PROGRESS_TOKEN)
        # progress.token-type: a string or an integer; anything else is as good as none.
        return token if isinstance(token, str | int) and not isinstance(token, bool) else None

    async def waiting(self, answer: Awaitable[T]) -> T:
        """Await something that the client owes; its time does not count as the handler's."""
        self.hold(1)
        try:
            return await answer
        finally:
            self.hold(-1)

    def hold(self, change: int) -> None:
        """One question to the client more, or one less."""
        self.holds += change
        if self.on_hold is not None:
            self.on_hold()

    def notify(self, method: str, params: bytes) -> None:
        """Send a notification that belongs to this request, unless the request is over."""
        if not self.over and not self.cancelled:
            if self.task is None:
                self.outbox.send(codec.encode_notification(method, params))
            else:
                self.task.tell(method, params)


def _read_meta(raw: Raw) -> dict[str, Any]:
    try:
        return codec.decode_as(dict[str, Any], raw)
    except msgspec.ValidationError as error:
        raise InvalidParamsError(f"Invalid params: _meta: {error}") from None
