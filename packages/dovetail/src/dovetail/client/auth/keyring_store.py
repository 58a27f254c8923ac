"""Tokens in the keyring of the system, by way of the package `keyring`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

import keyring
import keyring.errors
import msgspec

from dovetail.client.auth.storage import TokenStore, find_data_folder, hold_file
from dovetail.errors import UsageError

__all__ = ["KeyringStore"]

_SERVICE = "dovetail"
# A keyring cannot be listed, so the keys are a record of their own.
_INDEX = "index"


class KeyringStore(TokenStore):
    """One password of the service `dovetail` per record."""

    @property
    def works(self) -> bool:
        """Whether there is a keyring; a server without a desktop has none."""
        return keyring.get_keyring().priority > 0

    def load(self, key: str) -> bytes | None:
        """The record, or None."""
        try:
            record = keyring.get_password(_SERVICE, key)
        except keyring.errors.KeyringError as error:
            raise UsageError(f"The keyring cannot be read: {error}") from None
        return None if record is None else record.encode()

    def save(self, key: str, record: bytes) -> None:
        """Store a record."""
        try:
            keyring.set_password(_SERVICE, key, record.decode())
            self._write_index({*self.list_keys(), key})
        except keyring.errors.KeyringError as error:
            raise UsageError(f"The keyring cannot be written: {error}") from None

    def delete(self, key: str) -> None:
        """Delete a record, if it exists."""
        try:
            keyring.delete_password(_SERVICE, key)
        except keyring.errors.PasswordDeleteError:
            return
        self._write_index(set(self.list_keys()) - {key})

    def list_keys(self) -> Sequence[str]:
        """The keys of all records."""
        found = keyring.get_password(_SERVICE, _INDEX)
        return () if found is None else tuple(msgspec.json.decode(found, type=list[str]))

    def _write_index(self, keys: set[str]) -> None:
        keyring.set_password(_SERVICE, _INDEX, msgspec.json.encode(sorted(keys)).decode())

    def lock(self, key: str) -> AbstractAsyncContextManager[None]:
        """A lock file in the data folder; it contains nothing."""
        folder = find_data_folder() / "locks"
        folder.mkdir(0o700, parents=True, exist_ok=True)
        return hold_file(folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.lock")
