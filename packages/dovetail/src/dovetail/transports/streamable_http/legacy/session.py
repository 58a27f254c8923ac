"""One legacy session on HTTP: its message handler and the streams it keeps.

What it keeps is bounded: there are no more open streams than calls, and of finished streams only
so many are kept, with only so many bytes.
"""

from __future__ import annotations

from collections import OrderedDict

from dovetail.core.changes import ChangeEvent
from dovetail.core.link import Link
from dovetail.core.principal import Principal, owner_of
from dovetail.eras.select import LegacySession, announce
from dovetail.errors import InternalError
from dovetail.runtime.change_feed import ChangeFeed
from dovetail.runtime.engine import Engine
from dovetail.runtime.link import NullLink
from dovetail.runtime.message_handler import ClientHandler
from dovetail.spec.models import InitializeParams
from dovetail.spec.revisions import Revision
from dovetail.stores.events import MemoryEventLog
from dovetail.transports.asgi.reply import Reply
from dovetail.transports.streamable_http.legacy.streams import Stream
from dovetail.wire import codec
from dovetail.wire.messages import Notification

__all__ = ["HttpSession"]

# Streams of one session that are kept for being picked up again, bytes kept of each, and of
# all that are over: a client that comes back does so for its latest calls.
_MOST_STREAMS = 32
_MOST_KEPT = 1024 * 1024
_MOST_KEPT_OVER = 4 * 1024 * 1024


class HttpSession(NullLink):
    """A legacy session on HTTP; the link of its calls once they have been answered."""

    __slots__ = ("_feed", "_next_stream", "general", "handler", "id", "owner", "streams")

    def __init__(self, engine: Engine, principal: Principal | None) -> None:
        self.handler = ClientHandler(engine)
        # The owner, not the permissions, which may change.
        self.owner = owner_of(principal)
        self.id = ""
        # Streams that the client may resume, oldest first.
        self.streams: OrderedDict[str, Stream] = OrderedDict()
        self._next_stream = 0
        # Where messages go that belong to no request: the stream of the last GET.
        self.general: Stream | None = None
        self._feed: ChangeFeed | None = None

    @property
    def session(self) -> LegacySession | None:
        """What `initialize` negotiated."""
        return self.handler.session

    def start_session(self, revision: Revision, params: InitializeParams) -> None:
        """Keep what `initialize` negotiated."""
        self.handler.start_session(revision, params)

    @property
    def is_busy(self) -> bool:
        """Whether something of this session is going on."""
        return bool(self.handler.in_flight) or any(
            stream.is_open for stream in self.streams.values()
        )

    # -- streams ----------------------------------------------------------------------------

    def new_stream(self, reply: Reply) -> Stream:
        """A stream of this session, kept for a while after its connection is gone."""
        self._next_stream += 1
        name = f"{self._next_stream}"
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
        if self._feed is None:
            self._feed = ChangeFeed(self.handler.engine.bus, self._wants, self._announce)
        return self.general

    def pick_up(self, last_event_id: bytes, reply: Reply) -> Stream | None:
        """The stream of this event, going on with another connection."""
        # http.resume.same-stream: an id names its stream
        name = last_event_id.decode("latin-1").rpartition("_")[0]
        stream = self.streams.get(name)
        return stream if stream is not None and stream.move_to(reply, last_event_id) else None

    # -- changes ----------------------------------------------------------------------------

    def _wants(self, change: ChangeEvent) -> bool:
        session = self.session
        return session is not None and (change.task is None or change.task.id in session.tasks)

    def _announce(self, change: ChangeEvent) -> None:
        if self.session is not None:
            message = announce(change, self.session)
            if message is not None:
                self.send_unrelated(message)

    def send_unrelated(self, message: Notification) -> None:
        """Send a notification that belongs to no request, if the client has a stream for it."""
        if self.general is not None:
            self.general.send(codec.encode_message(message))

    def after_response(self) -> Link:
        """The session stays."""
        return self

    def end(self) -> None:
        """End the session: its calls, streams and questions."""
        if self._feed is not None:
            self._feed.close()
        self.handler.end(InternalError("The session has ended, and the call with it; begin again"))
        for stream in self.streams.values():
            stream.detach()
