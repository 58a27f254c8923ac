"""Incremental parsers for lines and server-sent events.

The input may be split at any byte; the output does not depend on it. Each buffer has a limit, so
that a line without an end cannot fill the memory. Lines follow the stdio transport, events the
WHATWG HTML standard (9.2.6, interpreting an event stream). The module knows neither JSON nor MCP.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from dovetail.errors import PeerError, UsageError

__all__ = [
    "LineBuffer",
    "Oversized",
    "SseBuffer",
    "SseEvent",
    "encode_line",
    "encode_sse",
    "encode_sse_comment",
]

_BOM: Final = b"\xef\xbb\xbf"
_DEFAULT_EVENT: Final = b"message"
# Characters that end a line for some readers, and that JSON allows only inside strings, so they can
# be escaped: next line (`str.splitlines`), line and paragraph separator (also Node's readline).
_UNICODE_LINE_ENDS: Final = (
    (b"\xc2\x85", rb"\u0085"),
    (b"\xe2\x80\xa8", rb"\u2028"),
    (b"\xe2\x80\xa9", rb"\u2029"),
)
# 30,000 years in milliseconds. Python itself rejects numbers with 4300 digits.
_MAX_RETRY_DIGITS: Final = 15


class Oversized(NamedTuple):
    """Replaces a line that exceeded the limit and was dropped."""

    limit: int
    length_seen: int


class LineBuffer:
    """Splits a stream into lines. The limit counts the bytes before the newline."""

    __slots__ = ("_held", "_length", "_limit")

    def __init__(self, limit: int) -> None:
        self._limit = _checked_limit(limit)
        # Grows in place, and is copied once when the line ends. A list of chunks would cost forty
        # bytes per chunk, and a peer may send single bytes.
        self._held = bytearray()
        self._length = 0

    def feed(self, data: bytes) -> list[bytes | Oversized]:
        """The complete lines, without line ends and without blank lines.

        A line that exceeds the limit is returned as `Oversized` when it ends.
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
        """The last line, if the stream ended without a newline; empties the buffer."""
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


def encode_line(message: bytes) -> bytes:
    """Encode a JSON message as one line, with its newline.

    Everything that writes messages as lines uses this function. Params and results are passed on as
    the bytes that a peer sent, which may be formatted over several lines.
    """
    # stdio.no-embedded-newline (2025-11-25 basic/transports): a newline in a message would end it,
    # and what follows would be a message that this side never checked. Valid JSON has line breaks
    # only between tokens, where a space means the same.
    if b"\n" in message or b"\r" in message:
        message = message.replace(b"\r", b" ").replace(b"\n", b" ")
    if not message.isascii():
        for character, escape in _UNICODE_LINE_ENDS:
            message = message.replace(character, escape)
    return message + b"\n"


class SseEvent(NamedTuple):
    """One event, as bytes: the data is not checked to be UTF-8.

    `id` and `retry` are the fields of this event, None if it has none.
    """

    event: bytes
    data: bytes
    id: bytes | None = None
    retry: int | None = None


class SseBuffer:
    """Splits a stream into server-sent events.

    `last_event_id` is the id that a client sends to resume, `retry` the delay in milliseconds.
    Events without data also set them, but are not returned.
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
        self.last_event_id: bytes = b""
        self.retry: int | None = None

    def feed(self, data: bytes) -> list[SseEvent]:
        """The complete events.

        Raises PeerError if an event exceeds the limit. The stream cannot be used any more, and
        other events in `data` are lost.
        """
        if not data:
            return []
        if self._is_after_cr and data.startswith(b"\n"):
            # The second half of a CRLF. The first half has already ended the line; waiting for
            # the second would delay the event.
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
            # Comments are not stored and do not count towards the limit.
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
    """An event that is not complete yet."""

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
    """Encode an event. Line ends in the data arrive as newlines."""
    head = b""
    if event is not None:
        head += b"event: " + _checked_line("event", event) + b"\n"
    if id is not None:
        if b"\0" in id:
            raise UsageError("The id of an event cannot contain NUL: a reader would ignore it")
        head += b"id: " + _checked_line("id", id) + b"\n"
    if retry is not None:
        if retry < 0:
            raise UsageError(f"retry must be a number of milliseconds, got {retry}")
        head += b"retry: %d\n" % retry
    if b"\n" in data or b"\r" in data:
        lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        data = lines.replace(b"\n", b"\ndata: ")
    return head + b"data: " + data + b"\n\n"


def encode_sse_comment(text: bytes = b"") -> bytes:
    """Encode a comment, which keeps an idle stream open."""
    return b": " + _checked_line("comment", text) + b"\n\n"


def _checked_line(what: str, value: bytes) -> bytes:
    # A line end would start another field.
    if b"\n" in value or b"\r" in value:
        raise UsageError(f"The {what} of an event must be one line, got {value!r}")
    return value


def _checked_limit(limit: int) -> int:
    if limit < 1:
        raise UsageError(f"The limit of a buffer must be at least 1 byte, got {limit}")
    return limit
