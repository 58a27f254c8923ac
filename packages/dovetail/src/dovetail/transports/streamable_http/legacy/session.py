"""One legacy session on HTTP: its message handler and the streams it keeps.

Memory is bounded: there are at most as many open streams as calls, and finished streams are
limited in number and bytes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Sequence

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
from dovetail.transports.asgi.reply import Reply
from dovetail.transports.streamable_http.legacy.streams import MemoryEventLog, MemoryStream, Stream
from dovetail.wire import codec
from dovetail.wire.messages import Notification

__all__ = ["MAX_STREAM_BYTES", "HttpSession"]

# Streams of one session that are kept for resuming, bytes kept of each stream, and bytes of all
# finished streams together. The oldest finished streams are dropped first.
_MAX_STREAMS = 32
MAX_STREAM_BYTES = 1024 * 1024
_MAX_FINISHED_BYTES = 4 * 1024 * 1024


class HttpSession(NullLink):
    """A legacy session on HTTP; the link of its calls once they have been answered."""

    __slots__ = ("_feed", "_next_stream", "general", "handler", "id", "owner", "streams")

    def __init__(self, engine: Engine, principal: Principal | None) -> None:
        self.handler: ClientHandler = ClientHandler(engine)
        # The owner, not the permissions, which may change.
        self.owner: str | None = owner_of(principal)
        self.id: str = ""
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
        """Whether the session has running calls or open streams."""
        return bool(self.handler.in_flight) or any(
            stream.is_open for stream in self.streams.values()
        )

    # -- streams ----------------------------------------------------------------------------

    def new_stream(self, reply: Reply, requests: Sequence[bytes] = ()) -> Stream:
        """A new stream, kept for a while after its connection is closed.

        `requests`: the ids of the requests that it answers.
        """
        self._next_stream += 1
        self._drop_finished()
        name = f"{self._next_stream}"
        stream = self.streams[name] = MemoryStream(MemoryEventLog(name, MAX_STREAM_BYTES), reply)
        return stream

    def _drop_finished(self) -> None:
        # Only finished streams are dropped. The others are bounded by the number of calls plus
        # the GET stream.
        finished = [(name, stream) for name, stream in self.streams.items() if stream.finished]
        kept = sum(min(stream.sent_bytes, MAX_STREAM_BYTES) for _, stream in finished)
        for name, stream in finished:
            if len(self.streams) < _MAX_STREAMS and kept <= _MAX_FINISHED_BYTES:
                return
            kept -= min(stream.sent_bytes, MAX_STREAM_BYTES)
            del self.streams[name]
            stream.detach()

    def open_general(self, reply: Reply) -> Stream:
        """Open the stream of a GET, which carries messages that belong to no request."""
        # http.multi.one-stream: never two streams with the same message
        if self.general is not None:
            self.general.finish()
        self.general = self.new_stream(reply)
        if self.session is not None and self.session.revision.priming_events:
            self.general.prime()
        if self._feed is None:
            self._feed = ChangeFeed(
                self.handler.engine.bus, self._wants, self._announce, self._uris
            )
        return self.general

    def resume(self, last_event_id: bytes, reply: Reply) -> Stream | None:
        """Continue the stream of this event on another connection; None if it is unknown."""
        # http.resume.same-stream: an event id contains the name of its stream
        name = last_event_id.decode("latin-1").rpartition("_")[0]
        stream = self.streams.get(name)
        if isinstance(stream, MemoryStream) and stream.move_to(reply, last_event_id):
            return stream
        return None

    # -- changes ----------------------------------------------------------------------------

    def _wants(self, change: ChangeEvent) -> bool:
        session = self.session
        return session is not None and (change.item is None or change.item.id in session.tasks)

    def _uris(self) -> Collection[str]:
        return () if self.session is None else self.session.uris

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
        """The session itself, which outlives the request."""
        return self

    def end_stream(self) -> None:
        """End the stream of the last GET."""
        if self.general is not None:
            self.general.detach()

    def end(self) -> None:
        """End the session with its calls, streams and pending requests."""
        if self._feed is not None:
            self._feed.close()
        self.handler.end(InternalError("The session has ended; send initialize and call again"))
        for stream in self.streams.values():
            stream.detach()
