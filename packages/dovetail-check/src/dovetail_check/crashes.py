"""Deaths: a process that ended, or a URL that went away, while it was being asked something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from dovetail_check.frames import Frame
from dovetail_check.report import Crash

__all__ = ["find_crashes"]

# Lines of stderr that are shown.
_LAST_WORDS = 3
# Tags of what follows a probe only to see whether it was heard; the probe itself is to blame.
_HARMLESS = ("fence", "answer")


def find_crashes(frames: Iterable[Frame]) -> tuple[Crash, ...]:
    """Every end that the checker did not ask for."""
    by_line: dict[tuple[str, str], list[Frame]] = {}
    for frame in frames:
        by_line.setdefault((frame.session, frame.line), []).append(frame)
    found = [crash for mine in by_line.values() for crash in _deaths_on(mine)]
    return tuple(sorted(found, key=lambda crash: (crash.session, crash.probe, crash.line)))


def _deaths_on(frames: list[Frame]) -> Iterator[Crash]:
    """The deaths on one line; a process that was started again is on the same line."""
    asked: Frame | None = None
    is_let_go = False
    words: list[str] = []
    origin = ""
    for frame in frames:
        if frame.kind == "started":
            asked, is_let_go, words = None, False, []
            origin = _origin(frame.text)
        elif frame.kind == "sent" and (asked is None or frame.tag not in _HARMLESS):
            asked = frame
        elif frame.kind == "stderr":
            words.append(frame.text or "")
        elif frame.kind == "closed" and frame.of is None:
            is_let_go = True
        elif not is_let_go and _is_end(frame, asked, origin):
            # Once is enough: nothing that follows gets an answer either.
            is_let_go = True
            yield _death(frame, asked, words)


def _is_end(frame: Frame, asked: Frame | None, origin: str) -> bool:
    if frame.kind == "ended":
        return frame.of is None
    if frame.kind != "failed":
        return False
    if frame.of is None:
        # It is no answer: the server did not come back when it was to be started again.
        return True
    is_refused = (frame.text or "").startswith("no connection")
    return is_refused and asked is not None and _origin(asked.url) == origin


def _origin(url: str | None) -> str:
    """Scheme and host of a URL; empty where it is none."""
    parts = urlsplit(url or "")
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""


def _death(end: Frame, asked: Frame | None, words: list[str]) -> Crash:
    text = f"the process ended with status {end.status}" if end.kind == "ended" else end.text
    shown = (asked, end) if asked is not None else (end,)
    return Crash(
        session=end.session,
        line=end.line,
        probe=(asked.tag if asked is not None else end.tag) or "start",
        text=text or "it went away",
        last_words="\n".join(words[-_LAST_WORDS:]),
        frames=tuple(frame.n for frame in shown),
        counts=not end.session.endswith(" survey"),
    )
