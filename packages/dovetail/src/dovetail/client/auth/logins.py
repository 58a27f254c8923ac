"""The stored login of one server: find, save and delete it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from msgspec import Struct

from dovetail.client.auth.records import LoginRecord, decode_record, encode_record
from dovetail.client.auth.storage import TokenStore, make_key

__all__ = ["StoredLogin", "list_servers"]

_SERVER = "server"


class _Pointer(Struct):
    """Which login belongs to a server; found before the issuer is known."""

    issuer: str
    resource: str
    client_id: str


class StoredLogin:
    """The stored login for one server and client id.

    An empty client id finds the login of the client that the user has logged in with last. With
    `is_shared`, clients without an id find this one too.
    """

    def __init__(self, store: TokenStore, server: str, client: str, *, is_shared: bool) -> None:
        self._store = store
        self._pointer = make_key(_SERVER, server, client)
        self._nameless = make_key(_SERVER, server, "")
        self._is_shared = is_shared

    def issuer(self) -> str | None:
        """The authorization server of the last login."""
        pointer = self._load_pointer(self._pointer)
        return None if pointer is None else pointer.issuer

    def load(self) -> LoginRecord | None:
        """The login, if there is one."""
        pointer = self._load_pointer(self._pointer)
        if pointer is None:
            return None
        key = make_key("login", pointer.issuer, pointer.resource, pointer.client_id)
        return decode_record(LoginRecord, self._store.load(key))

    def save(self, login: LoginRecord) -> None:
        """Store a login."""
        self._store.save(_key(login), encode_record(login))
        pointer = _Pointer(login.issuer, login.resource, login.client.client_id)
        self._store.save(self._pointer, encode_record(pointer))
        if self._is_shared:
            self._store.save(self._nameless, encode_record(pointer))

    def delete(self, login: LoginRecord) -> None:
        """Delete a login."""
        self._store.delete(_key(login))
        self._store.delete(self._pointer)
        nameless = self._load_pointer(self._nameless)
        if nameless is not None and nameless.client_id == login.client.client_id:
            self._store.delete(self._nameless)

    def _load_pointer(self, key: str) -> _Pointer | None:
        return decode_record(_Pointer, self._store.load(key))

    def lock(self, login: LoginRecord) -> AbstractAsyncContextManager[None]:
        """The lock that guards the renewal of a login."""
        return self._store.lock(_key(login))


def _key(login: LoginRecord) -> str:
    return make_key("login", login.issuer, login.resource, login.client.client_id)


def list_servers(store: TokenStore) -> list[str]:
    """The servers that have a stored login."""
    found = (key.split(" ") for key in store.list_keys())
    return sorted({parts[1] for parts in found if parts[0] == _SERVER})
