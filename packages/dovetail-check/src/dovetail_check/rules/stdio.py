"""basic/transports, stdio: one message per line, nothing else, in UTF-8, until stdin ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail.spec import keys
from dovetail_check.exchanges import Heard, parse
from dovetail_check.frames import Frame
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.probes.stdio import CANCELLED_ID, NON_ASCII_ID
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, absent, broken, kept, unsettled

__all__: list[str] = []

unjudged["stdio.stderr-log"] = "a permission: nothing to break"
unjudged["lifecycle.shutdown.server-close"] = "a permission: nothing to break"
unjudged["stdio.cancel-stops"] = (
    "whether work goes on after a cancellation cannot be seen without a slow tool made for it"
)

# Lines that one message may be spread over.
_MOST_LINES = 2000


def _lines(seen: ProbeSession) -> list[Frame]:
    return [frame for frame in seen.frames if frame.kind == "received"]


@rule("stdio.stdout-pure")
def stdout_has_messages_only(seen: ProbeSession) -> Iterator[Note]:
    """Every line of stdout, from the start of the process to its end, is a message."""
    for frame in _lines(seen):
        if not frame.data.strip():
            yield unsettled(frame, "a blank line: no message, but nothing that is read as one")
        elif _is_message(parse(frame.data)):
            yield kept(frame)
        else:
            yield broken(frame, f"stdout has {_shown(frame.data)}; only messages may stand there")


def _is_message(value: Any) -> bool:
    parts = value if isinstance(value, list) and value else [value]
    return all(
        isinstance(part, dict) and "jsonrpc" in part and not part.keys().isdisjoint(_MEMBERS)
        for part in parts
    )


_MEMBERS = frozenset({"method", "result", "error"})


@rule("stdio.no-embedded-newline")
def a_message_is_one_line(seen: ProbeSession) -> Iterator[Note]:
    """No message is spread over several lines."""
    by_line: dict[str, list[Frame]] = {}
    for frame in _lines(seen):
        by_line.setdefault(frame.line, []).append(frame)
    for frames in by_line.values():
        yield from _find_spread(frames)


def _find_spread(frames: list[Frame]) -> Iterator[Note]:
    held: list[Frame] = []
    for frame in frames:
        if not held and _is_message(parse(frame.data)):
            yield kept(frame)
            continue
        if not held and not frame.data.lstrip().startswith((b"{", b"[")):
            continue
        held.append(frame)
        text = b"\n".join(one.data for one in held)
        is_over = frame.data.rstrip().endswith((b"}", b"]")) and _is_message(parse(text))
        if is_over and len(held) > 1:
            yield broken(held[0], f"a message is spread over {len(held)} lines; one was due")
        if is_over or len(held) > _MOST_LINES or _is_message(parse(frame.data)):
            held = []


@rule("stdio.utf8", reads=("non-ascii",))
def messages_are_utf8(seen: ProbeSession) -> Iterator[Note]:
    """Everything can be decoded, and letters come back as they were sent."""
    for frame in seen.frames:
        if frame.kind in ("received", "event") and frame.base64 is not None:
            yield broken(frame, f"{_shown(frame.data)} is no UTF-8")
    for heard in seen.heard:
        id = heard.message.get("id")
        if not heard.is_response or not isinstance(id, str):
            continue
        if id == NON_ASCII_ID:
            yield kept(heard)
        elif id in _MANGLED:
            yield broken(heard, f"the id {NON_ASCII_ID!r} came back as {id!r}")


def _mangled(text: str) -> Iterator[str]:
    """What becomes of letters where bytes are read in another encoding."""
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
def nothing_is_asked_on_stdout(seen: ProbeSession) -> Iterator[Note]:
    """No line is a request."""
    for heard in seen.heard:
        if heard.is_request:
            yield broken(heard, f"the server sent the request {heard.message.get('method')!r}")
        else:
            yield kept(heard)


@rule("stdio.cancel-silence", reads=("cancel-listen",))
def what_is_cancelled_is_over(seen: ProbeSession) -> Iterator[Note]:
    """Nothing comes for a subscription after it was cancelled."""
    told = seen.tagged("cancel-listen/cancelled")
    fences = seen.tagged("cancel-listen/fence")
    if not told or not fences or fences[-1].result is None:
        return
    end = told[0].sent.n
    # A notification may have been on its way; behind the first fence it was not.
    passed = max((frame.n for frame in fences[0].replies), default=end)
    mine = [heard for heard in seen.heard if _is_about(heard, CANCELLED_ID)]
    if any(heard.is_response and heard.frame.n < end for heard in mine):
        yield absent("no subscription could be opened")
        return
    if not mine:
        return
    late = [h for h in mine if h.frame.n > (end if h.is_response else passed)]
    for heard in late:
        yield broken(heard, "something was sent for a request after it was cancelled")
    if not late:
        yield kept(told[0])


def _is_about(heard: Heard, id: str) -> bool:
    meta = heard.params.get("_meta")
    named = meta.get(keys.SUBSCRIPTION_ID) if isinstance(meta, dict) else None
    return id in (heard.message.get("id"), named)


@rule("lifecycle.shutdown.stdin-eof")
def the_process_ends_with_its_stdin(seen: ProbeSession) -> Iterator[Note]:
    """Once stdin is closed, the process ends before anybody has to end it."""
    for closed in seen.frames:
        if closed.kind != "closed" or closed.of is not None:
            continue
        waited = [frame for frame in seen.frames if frame.of == closed.n]
        ended = [frame for frame in seen.frames if _is_end(frame, closed)]
        if waited:
            yield broken(closed, f"stdin was closed, and {waited[0].text or 'it still runs'}")
        elif ended:
            yield kept(ended[0], f"it ended {ended[0].at - closed.at:.1f} s after its stdin")


def _is_end(frame: Frame, closed: Frame) -> bool:
    return (
        frame.kind == "ended"
        and frame.of is None
        and frame.line == closed.line
        and frame.n > closed.n
    )


def _shown(data: bytes) -> str:
    shown = data[:80].decode("utf-8", "backslashreplace")
    return repr(shown) if len(data) <= 80 else f"{shown!r}..."
