"""One legacy session on HTTP: what it has in flight, and the streams it keeps.

What it keeps is bounded, whatever its client does: there are no more streams that go on than
calls, and of those that are over only so many are kept, with only so many bytes.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from dovetail.core.call import ALL_CHANNELS, Call
from dovetail.core.principal import Principal, owner_of
from dovetail.eras.select import Session, announce
from dovetail.features.subscriptions import ChangeEvent
from dovetail.runtime.engine import Engine
from dovetail.spec.models import InitializeParams
from dovetail.spec.revisions import Revision
from dovetail.stores.events import MemoryEventLog
from dovetail.transports.streamable_http.legacy.streams import Stream
from dovetail.transports.streamable_http.reply import Reply

__all__ = ["HttpSession", "InFlight"]

# Streams of one session that are kept for being picked up again, bytes kept of each, and of
# all that are over: a client that comes back does so for its latest calls.
_MOST_STREAMS = 32
_MOST_KEPT = 1024 * 1024
_MOST_KEPT_OVER = 4 * 1024 * 1024


class InFlight:
    """A call that is not answered yet, and the task that runs it once there is one."""

    __slots__ = ("call", "is_lost", "task")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.task: asyncio.Task[Any] | None = None
        # The session ended under it: whoever waits for the answer has not taken it back.
        self.is_lost = False

    def withdraw(self) -> None:
        """Nobody wants the answer any more."""
        self.call.cancelled = self.call.over = True
        if self.task is not None:
            self.task.cancel()


class HttpSession:
    """A legacy session on HTTP, and the streams it has."""

    channels = ALL_CHANNELS

    __slots__ = (
        "calls", "engine", "general", "id", "next_stream", "owner", "session", "streams",
        "unsubscribe",
    )  # fmt: skip

    def __init__(self, engine: Engine, principal: Principal | None) -> None:
        self.engine = engine
        # Whose it is: not what they may, which can grow.
        self.owner = owner_of(principal)
        self.id = ""
        self.session: Session | None = None
        # Calls in flight, for notifications/cancelled, which comes as a request of its own.
        self.calls: dict[bytes, InFlight] = {}
        # Streams that may be picked up again, oldest first.
        self.streams: OrderedDict[str, Stream] = OrderedDict()
        self.next_stream = 0
        # Where messages go that belong to no request: the stream of the latest GET.
        self.general: Stream | None = None
        self.unsubscribe: Callable[[], None] | None = None

    def start_session(self, revision: Revision, params: InitializeParams) -> None:
        """What initialize settled; called by the era."""
        self.session = self.engine.eras.new_session(revision, params)

    @property
    def is_busy(self) -> bool:
        """Whether something of this session is going on."""
        return bool(self.calls) or any(stream.is_open for stream in self.streams.values())

    # -- streams ----------------------------------------------------------------------------

    def new_stream(self, reply: Reply) -> Stream:
        """A stream of this session, kept for a while after its connection is gone."""
        self.next_stream += 1
        name = f"{self.next_stream}"
        self._make_room()
        stream = self.streams[name] = Stream(MemoryEventLog(name, _MOST_KEPT), reply)
        return stream

    def _make_room(self) -> None:
        # One that still has something to say is never forgotten; those are as many as there
        # are calls, and one more.
        over = [(name, stream) for name, stream in self.streams.items() if stream.finished]
        kept = sum(min(stream.said, _MOST_KEPT) for _, stream in over)
        for name, stream in over:
            if len(self.streams) < _MOST_STREAMS and kept <= _MOST_KEPT_OVER:
                return
            kept -= min(stream.said, _MOST_KEPT)
            del self.streams[name]
            stream.detach()

    def open_general(self, reply: Reply) -> Stream:
        """The stream of a GET: from now on it carries what belongs to no request."""
        # http.multi.one-stream: never two streams with the same message
        if self.general is not None:
            self.general.finished = True
        self.general = self.new_stream(reply)
        if self.session is not None and self.session.revision.priming_events:
            self.general.prime()
        if self.unsubscribe is None:
            self.unsubscribe = self._subscribe(asyncio.get_running_loop())
        return self.general

    def pick_up(self, last_event_id: bytes, reply: Reply) -> Stream | None:
        """The stream of this event, going on with another connection."""
        # http.resume.same-stream: an id names its stream
        name = last_event_id.decode("latin-1").rpartition("_")[0]
        stream = self.streams.get(name)
        return stream if stream is not None and stream.move_to(reply, last_event_id) else None

    # -- changes ----------------------------------------------------------------------------

    def _subscribe(self, loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
        """Hear of changes, which may come from any thread; streams belong to the loop."""

        def heard(change: ChangeEvent) -> None:
            if loop.is_closed():
                # It ended without ending its sessions; whoever publishes is not to blame.
                unsubscribe()
            elif change.task is None or self._has_made(change.task.id):
                loop.call_soon_threadsafe(self.hear, change)

        unsubscribe = self.engine.bus.subscribe(heard)
        return unsubscribe

    def _has_made(self, task: str) -> bool:
        return self.session is not None and task in self.session.tasks

    def hear(self, change: ChangeEvent) -> None:
        """Tell the client of a change, if it listens."""
        if self.session is not None and self.general is not None:
            message = announce(change, self.session)
            if message is not None:
                self.general.send(message)

    def tell(self, message: bytes) -> None:
        """Send a message that belongs to no request, to whoever listens."""
        if self.general is not None:
            self.general.send(message)

    def end(self) -> None:
        """End whatever goes on."""
        if self.unsubscribe is not None:
            self.unsubscribe()
        for in_flight in self.calls.values():
            in_flight.is_lost = True
            in_flight.withdraw()
        for stream in self.streams.values():
            stream.detach()
        if self.session is not None and self.session.back_channel is not None:
            self.session.back_channel.close()
