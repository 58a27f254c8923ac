"""What a login leaves behind: tokens and client registrations, as they are stored.

The records have no useful repr: a log line or a traceback must not show a token.
"""

from __future__ import annotations

import time
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

__all__ = ["ClientRecord", "LoginRecord", "Tokens", "decode_record", "encode_record"]

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
