"""Finds crashes: a process that exited, or a URL that became unreachable, during a probe.

A server that sends without end is reported like one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dovetail_check.escaping import shorten
from dovetail_check.frames import Frame
from dovetail_check.report import Crash
from dovetail_check.unobserved import HARMLESS, is_refused, origin_of_frame

__all__ = ["find_crashes"]

# Lines of stderr in the report, and their characters.
_STDERR_LINES = 3
_STDERR_LINE = 300


def find_crashes(frames: Iterable[Frame]) -> tuple[Crash, ...]:
    """Return the crashes in a recording."""
    by_connection: dict[tuple[str, str], list[Frame]] = {}
    for frame in frames:
        by_connection.setdefault((frame.session, frame.connection), []).append(frame)
    found = [crash for mine in by_connection.values() for crash in _crashes_on(mine)]
    return tuple(sorted(found, key=lambda crash: (crash.session, crash.probe, crash.connection)))


def _crashes_on(frames: list[Frame]) -> Iterator[Crash]:
    """The crashes on one connection; a restarted process uses the same connection."""
    asked: Frame | None = None
    is_expected = False
    stderr: list[str] = []
    last: Frame | None = None
    origin = ""
    for frame in frames:
        if frame.kind == "started":
            asked, is_expected, stderr, last = None, False, [], None
            origin = origin_of_frame(frame.text)
        elif frame.kind == "sent" and (asked is None or frame.tag not in HARMLESS):
            asked = frame
        elif frame.kind == "stderr":
            stderr.append(frame.text or "")
        elif frame.kind in ("received", "event") and frame.of is None:
            last = frame
        elif frame.kind == "flooded":
            is_expected = True
            yield _make_crash(frame, asked, stderr, last)
        elif frame.kind in ("closed", "stopped") and frame.of is None:
            is_expected = True
        elif not is_expected and _is_end(frame, asked, origin):
            # Report it once: all following requests fail as well.
            is_expected = True
            yield _make_crash(frame, asked, stderr)


def _is_end(frame: Frame, asked: Frame | None, origin: str) -> bool:
    if frame.kind == "ended":
        return frame.of is None
    if frame.kind != "failed":
        return False
    if frame.of is None:
        # Not a reply: the server could not be restarted.
        return True
    return is_refused(frame) and asked is not None and origin_of_frame(asked.url) == origin


def _make_crash(
    end: Frame, asked: Frame | None, stderr: list[str], last: Frame | None = None
) -> Crash:
    text = f"the process exited with status {end.status}" if end.kind == "ended" else end.text
    shown = [frame for frame in (asked, last, end) if frame is not None]
    return Crash(
        session=end.session,
        connection=end.connection,
        probe=(asked.tag if asked is not None else end.tag) or "start",
        text=text or "the server became unreachable",
        stderr_tail="\n".join(shorten(line, _STDERR_LINE) for line in stderr[-_STDERR_LINES:]),
        frames=tuple(frame.n for frame in shown),
        counts=not end.session.endswith(" survey"),
        is_flood=end.kind == "flooded",
    )
