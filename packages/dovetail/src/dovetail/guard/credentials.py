"""Credentials of a request, and the challenge for rejected ones.

Only `Authorization: Bearer <token>` (RFC 6750) is supported. Tokens in the query string or in the
body are ignored (auth.token.not-in-query).
"""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

from dovetail.core.principal import Principal
from dovetail.runtime.auth_backend import AuthRejection

__all__ = ["Authenticator", "Credentials", "Found", "Rejected", "challenge", "read_bearer"]

_AUTHORIZATION = b"authorization"
_BEARER = b"Bearer "
# Bytes of a token; tokens with many claims have about 4 KiB.
MAX_TOKEN = 16 * 1024
# The message for every invalid token; it does not say what is wrong.
INVALID_TOKEN = "The access token is expired, revoked, malformed or not for this server"


class Credentials(NamedTuple):
    """The bearer token of a request, if there is one, and its headers by lower-case name."""

    token: bytes | None
    headers: Mapping[bytes, bytes]


class Rejected(NamedTuple):
    """Invalid credentials; the reason is for the operator and is not sent to the caller."""

    reason: str


# None: these credentials are for another authenticator. An AuthRejection has its own status.
Found: TypeAlias = Principal | Rejected | AuthRejection | None


class Authenticator(Protocol):
    """Identifies callers by their credentials."""

    @property
    def credential_headers(self) -> Collection[bytes]:
        """The headers that it reads, in lower case."""

    def authenticate(self, credentials: Credentials) -> Found | Coroutine[Any, Any, Found]:
        """The principal, or a coroutine that returns it if another server must be asked."""


def read_bearer(headers: Mapping[bytes, bytes]) -> Credentials | AuthRejection | Rejected:
    """The credentials of a request, or a rejection if they are malformed."""
    given = headers.get(_AUTHORIZATION)
    if given is None:
        return Credentials(None, headers)
    if given[:7] != _BEARER and given.partition(b" ")[0].lower() != b"bearer":
        return Credentials(None, headers)
    token = given[7:].strip()
    if not token or b" " in token or b"," in token:
        # auth.status-codes (2025-11-25 basic/authorization): malformed is 400
        value = challenge(error="invalid_request")
        text = "The Authorization header must be: Bearer, a space, and one token"
        return AuthRejection(400, text, ((b"www-authenticate", value.encode()),))
    if len(token) > MAX_TOKEN:
        return Rejected("the token is too long")
    return Credentials(token, headers)


def challenge(
    *,
    metadata: str | None = None,
    scopes: Collection[str] = (),
    error: str | None = None,
    description: str | None = None,
) -> str:
    """The value of WWW-Authenticate (RFC 6750 section 3, RFC 9728 section 5.1)."""
    named = {
        "error": error,
        "error_description": description,
        "scope": " ".join(sorted(scopes)) or None,
        "resource_metadata": metadata,
    }
    words = ", ".join(f'{name}="{value}"' for name, value in named.items() if value is not None)
    return f"Bearer {words}".strip()
