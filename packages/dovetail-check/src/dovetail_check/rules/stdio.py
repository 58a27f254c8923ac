"""basic/transports, stdio: one UTF-8 message per line, nothing else, until stdin is closed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail.spec import keys
from dovetail_check.exchanges import Incoming, parse
from dovetail_check.frames import Frame
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.probes.stdio import CANCELLED_ID, NON_ASCII_ID
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, ambiguous, not_applicable, satisfied, violated

__all__: list[str] = []

unjudged["stdio.stderr-log"] = "a permission: nothing to violate"
unjudged["lifecycle.shutdown.server-close"] = "a permission: nothing to violate"
unjudged["stdio.cancel-stops"] = (
    "needs a slow tool to observe whether work continues after a cancellation"
)

# The maximum number of lines that are searched for one message.
_MAX_LINES = 2000


def _lines(session: ProbeSession) -> list[Frame]:
    return [frame for frame in session.frames if frame.kind == "received"]


@rule("stdio.stdout-pure")
def stdout_has_messages_only(session: ProbeSession) -> Iterator[Note]:
    """Every line on stdout is a message, from start to exit."""
    for frame in _lines(session):
        if not frame.data.strip():
            yield ambiguous(frame, "a blank line: not a message, but clients skip it")
        elif _is_message(parse(frame.data)):
            yield satisfied(frame)
        else:
            yield violated(frame, f"stdout has {_shown(frame.data)}; expected messages only")


def _is_message(value: Any) -> bool:
    parts = value if isinstance(value, list) and value else [value]
    return all(
        isinstance(part, dict) and "jsonrpc" in part and not part.keys().isdisjoint(_MEMBERS)
        for part in parts
    )


_MEMBERS = frozenset({"method", "result", "error"})


@rule("stdio.no-embedded-newline")
def a_message_is_one_line(session: ProbeSession) -> Iterator[Note]:
    """No message contains a newline."""
    by_connection: dict[str, list[Frame]] = {}
    for frame in _lines(session):
        by_connection.setdefault(frame.connection, []).append(frame)
    for frames in by_connection.values():
        yield from _find_spread(frames)


def _find_spread(frames: list[Frame]) -> Iterator[Note]:
    held: list[Frame] = []
    for frame in frames:
        if not held and _is_message(parse(frame.data)):
            yield satisfied(frame)
            continue
        if not held and not frame.data.lstrip().startswith((b"{", b"[")):
            continue
        held.append(frame)
        text = b"\n".join(one.data for one in held)
        is_over = frame.data.rstrip().endswith((b"}", b"]")) and _is_message(parse(text))
        if is_over and len(held) > 1:
            yield violated(held[0], f"a message has {len(held)} lines; expected one line")
        if is_over or len(held) > _MAX_LINES or _is_message(parse(frame.data)):
            held = []


@rule("stdio.utf8", reads=("non-ascii",))
def messages_are_utf8(session: ProbeSession) -> Iterator[Note]:
    """Everything is valid UTF-8, and characters outside ASCII come back unchanged."""
    for frame in session.frames:
        if frame.kind in ("received", "event") and frame.base64 is not None:
            yield violated(frame, f"{_shown(frame.data)} is not UTF-8")
    for incoming in session.incoming:
        id = incoming.message.get("id")
        if not incoming.is_response or not isinstance(id, str):
            continue
        if id == NON_ASCII_ID:
            yield satisfied(incoming)
        elif id in _MANGLED:
            yield violated(incoming, f"the id {NON_ASCII_ID!r} came back as {id!r}")


def _mangled(text: str) -> Iterator[str]:
    """The text after a round trip through a wrong encoding, for common encodings."""
    for encoding in ("latin-1", "cp1252", "cp437", "cp850"):
        yield text.encode().decode(encoding, "replace")
    for encoding in ("ascii", "latin-1", "cp1252"):
        yield text.encode(encoding, "replace").decode(encoding)
        yield text.encode(encoding, "ignore").decode(encoding)
        yield text.encode().decode(encoding, "ignore")
    yield text.encode().decode("ascii", "replace")
    yield text.encode("utf-16", "surrogatepass").decode("latin-1")


_MANGLED = frozenset(_mangled(NON_ASCII_ID))


@rule("stdio.no-server-requests")
def no_requests_on_stdout(session: ProbeSession) -> Iterator[Note]:
    """The server sends no requests."""
    for incoming in session.incoming:
        if incoming.is_request:
            yield violated(
                incoming, f"the server sent the request {incoming.message.get('method')!r}"
            )
        else:
            yield satisfied(incoming)


@rule("stdio.cancel-silence", reads=("cancel-listen",))
def cancelled_subscriptions_stay_silent(session: ProbeSession) -> Iterator[Note]:
    """No message for a subscription arrives after it is cancelled."""
    cancelled = session.tagged("cancel-listen/cancelled")
    fences = session.tagged("cancel-listen/fence")
    if not cancelled or not fences or fences[-1].result is None:
        return
    end = cancelled[0].sent.n
    # A notification may cross the cancellation, but it cannot come after the first fence.
    passed = max((frame.n for frame in fences[0].replies), default=end)
    mine = [incoming for incoming in session.incoming if _is_about(incoming, CANCELLED_ID)]
    if any(incoming.is_response and incoming.frame.n < end for incoming in mine):
        yield not_applicable("no subscription could be opened")
        return
    if not mine:
        return
    late = [h for h in mine if h.frame.n > (end if h.is_response else passed)]
    for incoming in late:
        yield violated(incoming, "a message for a request was sent after it was cancelled")
    if not late:
        yield satisfied(cancelled[0])


def _is_about(incoming: Incoming, id: str) -> bool:
    meta = incoming.params.get("_meta")
    named = meta.get(keys.SUBSCRIPTION_ID) if isinstance(meta, dict) else None
    return id in (incoming.message.get("id"), named)


@rule("lifecycle.shutdown.stdin-eof")
def the_process_exits_with_its_stdin(session: ProbeSession) -> Iterator[Note]:
    """The process exits by itself after stdin is closed."""
    for closed in session.frames:
        if closed.kind != "closed" or closed.of is not None:
            continue
        waited = [frame for frame in session.frames if frame.of == closed.n]
        ended = [frame for frame in session.frames if _is_end(frame, closed)]
        if waited:
            yield violated(
                closed, f"after stdin was closed: {waited[0].text or 'the process still runs'}"
            )
        elif ended:
            yield satisfied(
                ended[0], f"exited {ended[0].at - closed.at:.1f} s after stdin was closed"
            )


def _is_end(frame: Frame, closed: Frame) -> bool:
    return (
        frame.kind == "ended"
        and frame.of is None
        and frame.connection == closed.connection
        and frame.n > closed.n
    )


def _shown(data: bytes) -> str:
    shown = data[:80].decode("utf-8", "backslashreplace")
    return repr(shown) if len(data) <= 80 else f"{shown!r}..."
