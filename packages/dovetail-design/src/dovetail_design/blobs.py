"""Contents of files, each kept once under the hash of its bytes.

A content is written beside its place, flushed and then moved there, so a name never stands for
half a file, whoever dies meanwhile.
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
    """A folder of contents."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise UsageError(f"Files cannot be kept in {str(path)!r}: {error.strerror}") from None

    def keep(self, data: bytes) -> str:
        """Keep a content; its hash. What is there already is not written again."""
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
                f"A file cannot be kept: {error.strerror}. Nothing was changed"
            ) from None
        return digest

    def has(self, digest: str) -> bool:
        """Whether a content is kept."""
        return self._place(digest).exists()

    def load(self, digest: str) -> bytes:
        """A content by its hash; raises FileNotFoundError where it is not kept."""
        return self._place(digest).read_bytes()

    def forget(self, digest: str) -> None:
        """Drop a content that nobody refers to any more."""
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
