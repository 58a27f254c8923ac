"""The files of the page; only files that exist at start are served, so no path can leave them."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path
from typing import NamedTuple

__all__ = ["INDEX", "Asset", "Content", "find_assets"]

INDEX = "index.html"
_STATIC = Path(__file__).parent / "static"
# Other files are not served.
_TYPES = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".png": b"image/png",
    ".ico": b"image/x-icon",
    "": b"text/plain; charset=utf-8",
}


class Content(NamedTuple):
    """The content of a file, also compressed, and its ETag."""

    body: bytes
    compressed: bytes
    etag: bytes


class Asset:
    """One file, which is read again after it has changed."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.content_type: bytes = _TYPES[file.suffix]
        self._changed_at = -1
        self._content = Content(b"", b"", b"")

    def read(self) -> Content:
        """The content; raises OSError."""
        changed_at = self._file.stat().st_mtime_ns
        if changed_at != self._changed_at:
            body = self._file.read_bytes()
            etag = b'"%s"' % hashlib.sha256(body).hexdigest()[:20].encode()
            self._content = Content(body, gzip.compress(body, mtime=0), etag)
            self._changed_at = changed_at
        return self._content


def find_assets(folder: Path = _STATIC) -> dict[str, Asset]:
    """The files by their path below the folder, such as `js/main.js`."""
    return {
        file.relative_to(folder).as_posix(): Asset(file)
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.suffix in _TYPES
    }
