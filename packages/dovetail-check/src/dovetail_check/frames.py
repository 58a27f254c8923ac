"""A frame: one thing that was sent, received or happened, as it is kept for evidence."""

from __future__ import annotations

import base64
from typing import Literal, TypeAlias

from msgspec import Struct

__all__ = ["Frame", "Kind"]

Kind: TypeAlias = Literal[
    "started",  # a process runs, or a line to a URL is ready; `text` says how
    "sent",  # a line to stdin, or an HTTP request
    "received",  # a line of stdout, or an HTTP response; of a stream only the head
    "event",  # one event of a stream
    "stderr",  # a line of stderr
    "silence",  # nothing came for `of`, although it was waited for
    "failed",  # the connection broke; `text` says how
    "closed",  # the checker closed stdin, or hung up on the response `of`
    "ended",  # a response or stream is over; without `of`: the process, `status` is its exit code
]


class Frame(Struct, kw_only=True, omit_defaults=True):
    """One line of the evidence."""

    n: int
    # Seconds since the check began.
    at: float
    # Transport and revision, "http 2025-11-25"; the opening moves have a sitting of their own.
    session: str
    # Which connection of the sitting.
    line: str
    kind: Kind
    # What the probe called it.
    tag: str = ""
    # The number of the frame that this one belongs to: an answer to what it answers.
    of: int | None = None
    text: str | None = None
    # Where the bytes are no UTF-8.
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
        """The bytes."""
        if self.base64 is not None:
            return base64.b64decode(self.base64)
        return (self.text or "").encode()

    def header(self, name: str) -> str | None:
        """The value of a header; several lines of it joined as RFC 9110 section 5.3 says."""
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        return ", ".join(values) if values else None
