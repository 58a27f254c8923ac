"""`POST api/evidence`: recorded frames as a folder that `dovetail check --replay` reads.

The folder has the format of `dovetail check --evidence`, which belongs to another package.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from dovetail.spec.revisions import find_revision
from dovetail.wire import codec
from dovetail_console.requests import RefusedError
from dovetail_console.traffic import classify, mask_headers, mask_text, mask_url
from dovetail_console.workers import Answer, Job

__all__ = ["ConsoleFrame", "serve_evidence", "write_evidence"]

_FOLDER = "evidence"
_EVENTS = "text/event-stream"
# The names that the checker gives to the requests whose responses its rules read.
_TAGS = {
    "initialize": "opening",
    "notifications/initialized": "opening",
    "server/discover": "opening",
    "tools/list": "walk/tools",
    "prompts/list": "walk/prompts",
    "resources/list": "walk/resources",
    "resources/templates/list": "walk/resourceTemplates",
    "tools/call": "tool-calls",
}


class HttpPart(Struct):
    """The HTTP part of a frame."""

    method: str | None = None
    url: str | None = None
    status: int | None = None
    headers: list[tuple[str, str]] = []

    def header(self, name: str) -> str:
        """The value of a header; empty if there is none."""
        return next((value for key, value in self.headers if key.lower() == name), "")


class ConsoleFrame(Struct):
    """A frame as the page sends it; members that evidence does not need are ignored."""

    at: float
    stream: str
    direction: str
    text: str = ""
    http: HttpPart | None = None


class _Given(Struct):
    frames: list[ConsoleFrame]
    revision: str


def serve_evidence(job: Job) -> Answer:
    """Return a ZIP file with the folder."""
    read = job.read(_Given, "frames and a revision")
    if find_revision(read.revision) is None:
        raise RefusedError(400, f"There is no revision {read.revision!r}")
    archive = write_evidence(read.frames, read.revision)
    return Answer(archive, "application/zip", "evidence.zip")


def write_evidence(frames: Sequence[ConsoleFrame], revision: str) -> bytes:
    """The ZIP file; `revision` is that of frames which do not say theirs."""
    writer = _Writer(revision, min((frame.at for frame in frames), default=0.0))
    for frame in sorted(frames, key=lambda frame: frame.at):
        writer.add(frame)
    writer.finish()
    about = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(max((frame.at for frame in frames), default=0.0) - writer.began, 1),
        "targets": sorted(writer.targets) or ["console"],
        "offered": sorted(writer.revisions) or [revision],
        "calls": "readonly",
    }
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        lines = b"".join(codec.encode(line) + b"\n" for line in writer.lines)
        archive.writestr(f"{_FOLDER}/frames.ndjson", lines)
        archive.writestr(f"{_FOLDER}/about.json", codec.encode(about) + b"\n")
    return data.getvalue()


class _Stream:
    """One HTTP exchange, or one connection without HTTP."""

    def __init__(self, session: str) -> None:
        self.session = session
        # The number and the tag of the request that later frames belong to.
        self.sent: int | None = None
        self.tag = ""
        # JSON-RPC id -> number and tag of the request, on a connection.
        self.requests: dict[str, tuple[int, str]] = {}
        self.has_events = False
        self.is_answered = False


class _Writer:
    """Turns frames of the console into those of the checker."""

    def __init__(self, revision: str, began: float) -> None:
        self._revision = revision
        self.began = began
        self._streams: dict[str, _Stream] = {}
        self.lines: list[dict[str, Any]] = []
        self.targets: set[str] = set()
        self.revisions: set[str] = set()

    def add(self, frame: ConsoleFrame) -> None:
        """Add a frame."""
        text = mask_text(frame.text)
        stream = self._streams.get(frame.stream)
        if stream is None:
            stream = self._streams[frame.stream] = _Stream(self._session_of(frame))
        if frame.direction == "out":
            self._add_sent(frame, stream, text)
        elif frame.http is not None or stream.has_events:
            self._add_response(frame, stream, text)
        else:
            self._add_message(frame, stream, text)

    def finish(self) -> None:
        """End the streams whose request has its response."""
        for stream in self._streams.values():
            if stream.has_events and stream.is_answered:
                self._put(stream, "ended", self.lines[-1]["at"], of=stream.sent, tag=stream.tag)

    def _session_of(self, frame: ConsoleFrame) -> str:
        given = "" if frame.http is None else frame.http.header("mcp-protocol-version")
        date = given if find_revision(given) is not None else self._revision
        self.revisions.add(date)
        return f"{'stdio' if frame.http is None else 'http'} {date}"

    def _add_sent(self, frame: ConsoleFrame, stream: _Stream, text: str) -> None:
        _, method, id = classify(text)
        tag = _TAGS.get(method or "", "console")
        if method is None and frame.http is not None and frame.http.method == "GET":
            tag = "http-get"
        more: dict[str, Any] = {}
        if frame.http is not None:
            url = mask_url(frame.http.url or "")
            self.targets.add(url)
            more = {
                "method": frame.http.method or "POST",
                "url": url,
                "headers": _headers(frame.http),
            }
        number = self._put(stream, "sent", frame.at, tag=tag, text=text, **more)
        stream.sent, stream.tag = number, tag
        if id is not None:
            stream.requests[str(id)] = number, tag

    def _add_response(self, frame: ConsoleFrame, stream: _Stream, text: str) -> None:
        kind, _, _ = classify(text)
        stream.is_answered |= kind in ("response", "error")
        of: dict[str, Any] = {"of": stream.sent, "tag": stream.tag}
        if frame.http is not None:
            stream.has_events = frame.http.header("content-type").startswith(_EVENTS)
            more = {"status": frame.http.status, "headers": _headers(frame.http)}
            body = {} if stream.has_events or not text else {"text": text}
            self._put(stream, "received", frame.at, **of, **more, **body)
            if not stream.has_events:
                self._put(stream, "ended", frame.at, **of)
        if stream.has_events and text:
            self._put(stream, "event", frame.at, **of, text=text, event="message")

    def _add_message(self, frame: ConsoleFrame, stream: _Stream, text: str) -> None:
        kind, _, id = classify(text)
        more: dict[str, Any] = {}
        if kind in ("response", "error") and str(id) in stream.requests:
            more["of"], more["tag"] = stream.requests[str(id)]
        self._put(stream, "received", frame.at, text=text, **more)

    def _put(self, stream: _Stream, kind: str, at: float, **more: Any) -> int:
        number = len(self.lines)
        self.lines.append(
            {
                "n": number,
                "at": round(max(0.0, at - self.began), 4),
                "session": stream.session,
                "connection": "main",
                "kind": kind,
                **{name: value for name, value in more.items() if value is not None},
            }
        )
        return number


def _headers(http: HttpPart) -> Iterable[list[str]]:
    return mask_headers([(name.encode(), value.encode("utf-8")) for name, value in http.headers])
