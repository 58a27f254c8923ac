"""Tokens, client registrations and logins as they are stored.

The records have no useful repr: a log line or a traceback must not show a token.
"""

from __future__ import annotations

import time
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from dovetail.client.auth.storage import TokenStore, make_key

__all__ = [
    "ClientRecord",
    "LoginRecord",
    "StoredLogin",
    "Tokens",
    "decode_record",
    "encode_record",
    "list_servers",
]

T = TypeVar("T")


class _Secret(Struct, omit_defaults=True):
    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class Tokens(_Secret, kw_only=True):
    """The result of a token request."""

    access_token: str
    # `Bearer` or `DPoP`.
    token_type: str = "Bearer"
    refresh_token: str | None = None
    scopes: tuple[str, ...] = ()
    # Unix time; None if the server did not say.
    expires_at: float | None = None

    def expires_within(self, seconds: float) -> bool:
        """Whether the access token expires soon, or has expired."""
        return self.expires_at is not None and time.time() + seconds >= self.expires_at


class ClientRecord(_Secret, kw_only=True):
    """How this client is known to one authorization server."""

    client_id: str
    client_secret: str | None = None
    # The method for the token endpoint; None lets the metadata decide.
    auth_method: str | None = None
    # A registered client may use this redirect URI only; None if any loopback port will do.
    redirect_uri: str | None = None
    # Unix time; None if the secret does not expire.
    secret_expires_at: float | None = None
    is_registered: bool = False

    @property
    def is_usable(self) -> bool:
        """Whether the secret has not expired."""
        return self.secret_expires_at is None or time.time() < self.secret_expires_at


class LoginRecord(_Secret, kw_only=True):
    """A login: tokens, and what is needed to renew or revoke them without discovery."""

    issuer: str
    resource: str
    client: ClientRecord
    tokens: Tokens
    # The scopes of the last request, which a wider request includes.
    requested: tuple[str, ...] = ()
    token_endpoint: str
    revocation_endpoint: str | None = None
    auth_methods: tuple[str, ...] | None = None
    # The private key that the tokens are bound to (DPoP), in PEM.
    dpop_key: str | None = None
    # The IP address that the MCP server had; it may not name more private ones later.
    server_address: str | None = None
    # Claims of the ID token about the user, if there was one.
    user: dict[str, Any] = {}


def encode_record(record: Struct) -> bytes:
    """A record as it is stored."""
    return msgspec.json.encode(record)


def decode_record(type_: type[T], data: bytes | None) -> T | None:
    """A stored record; None if there is none, or if an older version wrote it."""
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=type_)
    except msgspec.DecodeError:
        return None


# The kind of the key of a `_Pointer`.
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
