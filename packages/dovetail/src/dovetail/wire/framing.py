"""Framing: pieces of a byte stream in, whole lines or server-sent events out.

The buffers are incremental, because a peer and a network cut the stream wherever they like; what
comes out never depends on the cuts. Each has a limit, because a peer that never ends its line
must not fill the memory. Lines follow the stdio transport, events the WHATWG HTML standard
(9.2.6, interpreting an event stream). The module must not know JSON, MCP or where bytes come from.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from dovetail.errors import PeerError, UsageError

__all__ = [
    "LineBuffer",
    "Oversized",
    "SseBuffer",
    "SseEvent",
    "encode_sse",
    "encode_sse_comment",
]

_BOM: Final = b"\xef\xbb\xbf"
_DEFAULT_EVENT: Final = b"message"
# Thirty thousand years in milliseconds. Python itself refuses to read numbers of 4300 digits.
_MAX_RETRY_DIGITS: Final = 15


class Oversized(NamedTuple):
    """Stands in the place of a line that was longer than the limit and was thrown away."""

    limit: int
    length_seen: int


class LineBuffer:
    """Cuts a stream into lines. The limit counts every byte in front of the newline."""

    __slots__ = ("_held", "_length", "_limit")

    def __init__(self, limit: int) -> None:
        self._limit = _checked_limit(limit)
        # Grows in place, and is copied once when the line ends. A list of chunks would do so too,
        # but costs forty bytes for each chunk: a peer that sends single bytes decides how many.
        self._held = bytearray()
        self._length = 0

    def feed(self, data: bytes) -> list[bytes | Oversized]:
        """The lines that are complete now, without their line ends; blank ones are left out.

        A line beyond the limit comes out as one `Oversized`, when it ends.
        """
        lines = data.split(b"\n")
        tail = lines.pop()
        found: list[bytes | Oversized] = []
        if lines and self._length:
            self._hold(lines.pop(0))
            if (held := self.finish()) is not None:
                found.append(held)
        for line in lines:
            if len(line) > self._limit:
                found.append(Oversized(self._limit, len(line)))
            elif line and not line.isspace():
                found.append(line.removesuffix(b"\r"))
        if tail:
            self._hold(tail)
        return found

    def finish(self) -> bytes | Oversized | None:
        """The last line, when the stream ends without a newline; the buffer is empty again."""
        line, length = bytes(self._held), self._length
        self._held, self._length = bytearray(), 0
        if length > self._limit:
            return Oversized(self._limit, length)
        return line.removesuffix(b"\r") if line and not line.isspace() else None

    def _hold(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length <= self._limit:
            self._held += piece
        elif self._held:
            self._held = bytearray()


class SseEvent(NamedTuple):
    """One event, its bytes as they came: whether the data is UTF-8 is for its reader to say.

    `id` and `retry` are what this event itself said, None when it said nothing.
    """

    event: bytes
    data: bytes
    id: bytes | None = None
    retry: int | None = None


class SseBuffer:
    """Cuts a stream into server-sent events.

    `last_event_id` is what a client sends to resume, `retry` the milliseconds it waits before;
    both also change through events without data, which are not handed out.
    """

    __slots__ = (
        "_draft",
        "_held",
        "_is_after_cr",
        "_is_first_line",
        "_limit",
        "last_event_id",
        "retry",
    )

    def __init__(self, limit: int) -> None:
        self._limit = _checked_limit(limit)
        self._held = bytearray()
        self._draft = _Draft()
        self._is_after_cr = False
        self._is_first_line = True
        self.last_event_id = b""
        self.retry: int | None = None

    def feed(self, data: bytes) -> list[SseEvent]:
        """The events that are complete now.

        Raises:
            PeerError: an event is longer than the limit. The stream is of no further use, and
                whole events in the same piece of data are lost with it.
        """
        if not data:
            return []
        if self._is_after_cr and data.startswith(b"\n"):
            # The second half of a CRLF. Its first half has ended the line already: waiting for
            # the second would hold an event back until the next one comes.
            data = data[1:]
        self._is_after_cr = data.endswith(b"\r")
        lines = data.splitlines()
        tail = lines.pop() if lines and not data.endswith((b"\r", b"\n")) else b""
        if lines and self._held:
            self._held += lines[0]
            lines[0] = bytes(self._held)
            self._held = bytearray()
        events = [event for line in lines if (event := self._take_line(line)) is not None]
        self._held += tail
        self._check_size(len(self._held))
        return events

    def _take_line(self, line: bytes) -> SseEvent | None:
        self._check_size(len(line))
        if self._is_first_line:
            self._is_first_line = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._end_event()
        name, _, value = line.partition(b":")
        if name:
            # Comments are not kept, so an idle stream may send as many as it likes.
            self._draft.size += len(line)
            self._take_field(name, value.removeprefix(b" "))
        return None

    def _take_field(self, name: bytes, value: bytes) -> None:
        if name == b"data":
            self._draft.data.append(value)
        elif name == b"event":
            self._draft.event = value
        elif name == b"id" and b"\0" not in value:
            self._draft.id = value
        elif name == b"retry" and value.isdigit() and len(value) <= _MAX_RETRY_DIGITS:
            self._draft.retry = self.retry = int(value)

    def _end_event(self) -> SseEvent | None:
        draft, self._draft = self._draft, _Draft()
        if draft.id is not None:
            self.last_event_id = draft.id
        if not draft.data:
            return None
        data = b"\n".join(draft.data)
        return SseEvent(draft.event or _DEFAULT_EVENT, data, draft.id, draft.retry)

    def _check_size(self, line_length: int) -> None:
        if self._draft.size + line_length > self._limit:
            raise PeerError(f"The peer sent an event longer than the limit of {self._limit} bytes")


class _Draft:
    """The event whose lines are still coming in."""

    __slots__ = ("data", "event", "id", "retry", "size")

    def __init__(self) -> None:
        self.data: list[bytes] = []
        self.event = b""
        self.id: bytes | None = None
        self.retry: int | None = None
        self.size = 0


def encode_sse(
    data: bytes, *, event: bytes | None = None, id: bytes | None = None, retry: int | None = None
) -> bytes:
    """One event, ready to send. Line ends inside the data arrive as newlines."""
    head = b""
    if event is not None:
        head += b"event: " + _checked_line("event", event) + b"\n"
    if id is not None:
        if b"\0" in id:
            raise UsageError("The id of an event cannot hold a NUL: a reader would ignore it")
        head += b"id: " + _checked_line("id", id) + b"\n"
    if retry is not None:
        if retry < 0:
            raise UsageError(f"retry is a number of milliseconds, not {retry}")
        head += b"retry: %d\n" % retry
    if b"\n" in data or b"\r" in data:
        lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        data = lines.replace(b"\n", b"\ndata: ")
    return head + b"data: " + data + b"\n\n"


def encode_sse_comment(text: bytes = b"") -> bytes:
    """A comment, which readers skip: it keeps an idle stream open."""
    return b": " + _checked_line("comment", text) + b"\n\n"


def _checked_line(what: str, value: bytes) -> bytes:
    # A line end in it would start a field of the sender's choice.
    if b"\n" in value or b"\r" in value:
        raise UsageError(f"The {what} of an event is one line, not {value!r}")
    return value


def _checked_limit(limit: int) -> int:
    if limit < 1:
        raise UsageError(f"The limit of a buffer is a number of bytes, not {limit}")
    return limit
