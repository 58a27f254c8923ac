"""Where tokens are stored: the interface, in memory, and the default of this machine.

Keys are made of issuer, resource and client, so that a token is never found for another server.
"""

from __future__ import annotations

import asyncio
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

__all__ = ["MemoryStore", "TokenStore", "default_store", "make_key"]


def make_key(kind: str, *parts: str) -> str:
    """The key of a record: the kind, and what it belongs to."""
    # A space cannot occur in a URL or a client id, so keys are unambiguous.
    return " ".join((kind, *(part.replace(" ", "%20") for part in parts)))


class TokenStore(ABC):
    """Keeps records under keys; the records contain secrets."""

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
    """Keeps records until the process ends."""

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
    # Both are needed by few programs, and keyring takes 100 ms to import.
    from dovetail.client.auth.file_store import FileStore  # noqa: PLC0415

    if importlib.util.find_spec("keyring") is not None:
        from dovetail.client.auth.keyring_store import KeyringStore  # noqa: PLC0415

        store = KeyringStore()
        if store.works:
            return store
    return FileStore()
