"""Frames: the recorded events of a check. Everything sent or received becomes one frame."""

from __future__ import annotations

import base64
from typing import Literal, TypeAlias

from msgspec import Struct

__all__ = ["Frame", "Kind"]

Kind: TypeAlias = Literal[
    "started",  # a process runs, or a URL accepts connections; `text` names it
    "sent",  # a line to stdin, or an HTTP request
    "received",  # a line of stdout, or an HTTP response; for a stream only its head
    "event",  # one event of an SSE stream
    "stderr",  # a line of stderr
    "silence",  # the timeout passed without a reply to `of`
    "failed",  # the connection failed; `text` says how
    "closed",  # the checker closed stdin, or the response `of`
    "flooded",  # the checker closed the connection: the server sent too much
    "stopped",  # the checker did not finish the probe in `tag`; without `tag`: it kills the process
    "ended",  # a response or stream ended; without `of`: the process, `status` is its exit code
]


class Frame(Struct, kw_only=True, omit_defaults=True):
    """One event, as written to `frames.ndjson`."""

    n: int
    # Seconds since the check began.
    at: float
    # Transport and revision, "http 2025-11-25"; version negotiation is "http survey".
    session: str
    # The name of the connection within the session.
    connection: str
    kind: Kind
    # The probe that sent it, and a variant: "ping/string-id".
    tag: str = ""
    # The number of the frame that this one replies to.
    of: int | None = None
    text: str | None = None
    # The bytes, if they are not valid UTF-8.
    base64: str | None = None
    method: str | None = None
    url: str | None = None
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    event: str | None = None
    event_id: str | None = None
    retry: int | None = None

    @property
    def data(self) -> bytes:
        """The bytes that were sent or received."""
        if self.base64 is not None:
            return base64.b64decode(self.base64)
        return (self.text or "").encode()

    def header(self, name: str) -> str | None:
        """The value of a header; repeated headers are joined (RFC 9110 section 5.3)."""
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        return ", ".join(values) if values else None
