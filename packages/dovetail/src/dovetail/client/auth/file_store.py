"""Tokens in files that only the user can read."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from dovetail.client.auth.file_lock import hold_file
from dovetail.client.auth.storage import TokenStore
from dovetail.errors import UsageError

__all__ = ["FileStore", "find_data_folder"]

_FOLDER_MODE = 0o700
# Group and others.
_FOREIGN = 0o077


class _Entry(Struct):
    key: str
    record: Raw


class FileStore(TokenStore):
    """One file of mode 0600 per record, in a folder of mode 0700.

    The default folder is that of the platform for data of the user. Files are replaced
    atomically, so a reader sees the old or the new record.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder: Path = Path(folder) if folder is not None else find_data_folder() / "tokens"

    def load(self, key: str) -> bytes | None:
        """The record, or None; raises UsageError if others can read the file."""
        path = self._path(key)
        try:
            with path.open("rb") as file:
                if os.fstat(file.fileno()).st_mode & _FOREIGN:
                    raise UsageError(
                        f"{path} can be read by others; delete it, or run: chmod 600 {path}"
                    )
                data = file.read()
        except FileNotFoundError:
            return None
        entry = _decode(data)
        return bytes(entry.record) if entry is not None and entry.key == key else None

    def save(self, key: str, record: bytes) -> None:
        """Store a record."""
        self._make_folder()
        # mkstemp creates the file with mode 0600.
        descriptor, name = tempfile.mkstemp(dir=self.folder, prefix=".new-")
        try:
            with open(descriptor, "wb") as file:
                file.write(msgspec.json.encode(_Entry(key, Raw(record))))
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self._path(key))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise

    def delete(self, key: str) -> None:
        """Delete a record, if it exists."""
        self._path(key).unlink(missing_ok=True)

    def list_keys(self) -> Sequence[str]:
        """The keys of all records."""
        if not self.folder.is_dir():
            return ()
        entries = (_decode(path.read_bytes()) for path in sorted(self.folder.glob("*.json")))
        return tuple(entry.key for entry in entries if entry is not None)

    def lock(self, key: str) -> AbstractAsyncContextManager[None]:
        """A lock file beside the record."""
        self._make_folder()
        return hold_file(self._path(key).with_suffix(".lock"))

    def _make_folder(self) -> None:
        self.folder.mkdir(_FOLDER_MODE, parents=True, exist_ok=True)

    def _path(self, key: str) -> Path:
        # A hash, because keys contain URLs.
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def _decode(data: bytes) -> _Entry | None:
    try:
        return msgspec.json.decode(data, type=_Entry)
    except msgspec.DecodeError:
        return None


def find_data_folder() -> Path:
    """The folder of this user for data of this package."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "dovetail"
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "dovetail"
