"""The recording: all frames of a check in order. On disk it is one JSON object per line.

Secrets are masked before a frame is stored, so evidence can be shared.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from dovetail.wire import codec
from dovetail_check.budget import Budget
from dovetail_check.frames import Frame, Kind

__all__ = ["MASK", "Recording"]

MASK = "***"
_SECRET_HEADERS = ("authorization", "proxy-authorization", "cookie", "set-cookie")


class Recording:
    """The frames of a running check, or of a saved one."""

    def __init__(self, frames: Iterable[Frame] = (), secrets: Collection[str] = ()) -> None:
        self.frames = list(frames)
        self._secrets = [secret for secret in secrets if secret]
        self._start = time.monotonic()
        self.budget = Budget()
        # The session of each connection that was closed because the server sent too much.
        self.floods: list[str] = []
        # Why the check ended before all probes were run; empty if it did not.
        self.stopped = ""

    def add(
        self, session: str, connection: str, kind: Kind, data: bytes | None = None, **more: Any
    ) -> Frame:
        """Record one frame; `data` becomes its text, or base64 if it is not UTF-8."""
        at = round(time.monotonic() - self._start, 4)
        frame = Frame(
            n=len(self.frames), at=at, session=session, connection=connection, kind=kind, **more
        )
        if data is not None:
            self._put(frame, data)
        if frame.headers:
            frame.headers = tuple((name, self._header(name, text)) for name, text in frame.headers)
        if frame.url is not None:
            frame.url = self.mask(frame.url)
        self.frames.append(frame)
        return frame

    def _put(self, frame: Frame, data: bytes) -> None:
        try:
            frame.text = self.mask(data.decode())
        except UnicodeDecodeError:
            for secret in self._secrets:
                data = data.replace(secret.encode(), MASK.encode())
            frame.base64 = base64.b64encode(data).decode()

    def _header(self, name: str, value: str) -> str:
        return MASK if name.lower() in _SECRET_HEADERS else self.mask(value)

    def mask(self, text: str) -> str:
        """Replace the secrets in a text."""
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return text

    def save(self, path: Path) -> None:
        """Write one JSON line per frame."""
        with path.open("wb") as file:
            file.writelines(codec.encode(frame) + b"\n" for frame in self.frames)

    @classmethod
    def read(cls, path: Path) -> Recording:
        """Read a file that `save` wrote."""
        return cls(codec.decode_as(Frame, line) for line in path.read_bytes().splitlines() if line)
