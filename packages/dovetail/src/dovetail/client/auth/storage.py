"""Where tokens are stored: the interface, in memory, in files, and the default of this machine.

Keys are made of issuer, resource and client, so that a token is never found for another server.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import importlib.util
import os
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from dovetail.errors import AuthorizationError, UsageError
from dovetail.net.backoff import backoff

__all__ = [
    "FileStore",
    "MemoryStore",
    "TokenStore",
    "default_store",
    "find_data_folder",
    "hold_file",
    "make_key",
]

# A refresh ends by its own timeout; a lock held for several of them is stuck.
_WAIT_SECONDS = 120.0
_FIRST_PAUSE = 0.005
_LONGEST_PAUSE = 0.1


@contextlib.asynccontextmanager
async def hold_file(path: Path) -> AsyncIterator[None]:
    """Hold the lock on a file; raises AuthorizationError if nobody releases it.

    The system releases the lock of a process that dies. Waiting is a poll, because a blocking
    call in a thread could not be cancelled.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            async with asyncio.timeout(_WAIT_SECONDS):
                pauses = backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
                while not _try_lock(descriptor):
                    await asyncio.sleep(next(pauses))
        except TimeoutError:
            raise AuthorizationError(
                f"Another process has been renewing the same token for {_WAIT_SECONDS:g} s; "
                f"end it, or delete {path}"
            ) from None
        yield
    finally:
        # Closing the descriptor releases the lock. The file stays: deleting it would let two
        # processes hold locks on two files of the same name.
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def make_key(kind: str, *parts: str) -> str:
    """The key of a record: the kind, and what it belongs to."""
    # A space cannot occur in a URL or a client id, so keys are unambiguous.
    return " ".join((kind, *(part.replace(" ", "%20") for part in parts)))


class TokenStore(ABC):
    """Stores records under keys; the records contain secrets."""

    @abstractmethod
    def load(self, key: str) -> bytes | None:
        """The record, or None."""

    @abstractmethod
    def save(self, key: str, record: bytes) -> None:
        """Store a record."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Delete a record, if it exists."""

    @abstractmethod
    def list_keys(self) -> Sequence[str]:
        """The keys of all records."""

    @abstractmethod
    def lock(self, key: str) -> AbstractAsyncContextManager[None]:
        """A lock that one task of all processes holds at a time.

        It guards the refresh of a token: many authorization servers revoke a login whose
        refresh token is used twice.
        """


class MemoryStore(TokenStore):
    """Stores records until the process ends."""

    def __init__(self) -> None:
        self._records: dict[str, bytes] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    def load(self, key: str) -> bytes | None:
        """The record, or None."""
        return self._records.get(key)

    def save(self, key: str, record: bytes) -> None:
        """Store a record."""
        self._records[key] = record

    def delete(self, key: str) -> None:
        """Delete a record, if it exists."""
        self._records.pop(key, None)

    def list_keys(self) -> Sequence[str]:
        """The keys of all records."""
        return tuple(self._records)

    def lock(self, key: str) -> AbstractAsyncContextManager[None]:
        """A lock for the tasks of this process."""
        return self._locks.setdefault(key, asyncio.Lock())


def default_store() -> TokenStore:
    """The system's keyring if the package `keyring` is installed and works, else files."""
    if importlib.util.find_spec("keyring") is not None:
        # keyring takes 100 ms to import.
        from dovetail.client.auth.keyring_store import KeyringStore  # noqa: PLC0415

        store = KeyringStore()
        if store.works:
            return store
    return FileStore()


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
