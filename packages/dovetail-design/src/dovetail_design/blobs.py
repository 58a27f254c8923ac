"""Content-addressed storage of file contents.

A file is written under a temporary name, flushed and renamed, so a name never refers to a
partial file, even if the process is killed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
from pathlib import Path

from dovetail import ToolError, UsageError

__all__ = ["BlobFolder"]

_DIGEST = re.compile(r"[0-9a-f]{64}")


class BlobFolder:
    """A folder of contents, each under the hash of its bytes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise UsageError(f"Cannot store files in {str(path)!r}: {error.strerror}") from None

    def keep(self, data: bytes) -> str:
        """Store a content and return its hash; existing contents are not written again."""
        digest = hashlib.sha256(data).hexdigest()
        place = self._place(digest)
        if place.exists():
            return digest
        beside = place.with_name(f".{secrets.token_hex(8)}")
        try:
            place.parent.mkdir(exist_ok=True, mode=0o700)
            _write(beside, data)
            beside.replace(place)
        except OSError as error:
            with contextlib.suppress(OSError):
                beside.unlink()
            raise ToolError(
                f"Cannot store the file: {error.strerror}. Nothing was changed"
            ) from None
        return digest

    def has(self, digest: str) -> bool:
        """Return whether a content is stored."""
        return self._place(digest).exists()

    def load(self, digest: str) -> bytes:
        """Return a content by its hash; raises FileNotFoundError."""
        return self._place(digest).read_bytes()

    def locate(self, digest: str) -> Path:
        """Return the path of a content, whether or not it is stored; raises FileNotFoundError."""
        return self._place(digest).absolute()

    def forget(self, digest: str) -> None:
        """Delete a content that is no longer used."""
        with contextlib.suppress(OSError):
            self._place(digest).unlink()

    def _place(self, digest: str) -> Path:
        if not _DIGEST.fullmatch(digest):
            raise FileNotFoundError(digest)
        return self.path / digest[:2] / digest


def _write(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
