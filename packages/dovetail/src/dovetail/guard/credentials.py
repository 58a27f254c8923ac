"""What a request carries to show who sends it, and how a refusal is worded.

RFC 6750: `Authorization: Bearer <token>` and nothing else. A token in the query string or in the
body is not looked at (auth.token.not-in-query).
"""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

from dovetail.core.principal import Principal
from dovetail.runtime.auth_backend import AuthRejection

__all__ = ["Authenticator", "Credentials", "Found", "Rejected", "challenge", "read_bearer"]

_AUTHORIZATION = b"authorization"
_BEARER = b"Bearer "
# Bytes of a token; those with many claims have about 4 KiB.
LONGEST_TOKEN = 16 * 1024
# Said of every token that is not good, whatever is wrong with it.
NOT_GOOD = "The access token is expired, revoked, malformed or not for this server"


class Credentials(NamedTuple):
    """The bearer token of a request, if there is one, and its headers by lower-case name."""

    token: bytes | None
    headers: Mapping[bytes, bytes]


class Rejected(NamedTuple):
    """Credentials that are no good; the reason is for the operator, never for the caller."""

    reason: str


# None: these credentials are somebody else's to judge. A AuthRejection has a status of its own.
Found: TypeAlias = Principal | Rejected | AuthRejection | None


class Authenticator(Protocol):
    """Knows callers by their credentials."""

    @property
    def credential_headers(self) -> Collection[bytes]:
        """The headers it looks at, in lower case."""

    def authenticate(self, credentials: Credentials) -> Found | Coroutine[Any, Any, Found]:
        """Who it is: at once, or to be awaited where somebody has to be asked."""


def read_bearer(headers: Mapping[bytes, bytes]) -> Credentials | AuthRejection | Rejected:
    """The credentials of a request, as far as they can be read."""
    given = headers.get(_AUTHORIZATION)
    if given is None:
        return Credentials(None, headers)
    if given[:7] != _BEARER and given.partition(b" ")[0].lower() != b"bearer":
        return Credentials(None, headers)
    token = given[7:].strip()
    if not token or b" " in token or b"," in token:
        # auth.status-codes (2025-11-25 basic/authorization): malformed is 400
        value = challenge(error="invalid_request")
        text = "Authorization must be: Bearer, a blank, and one token"
        return AuthRejection(400, text, ((b"www-authenticate", value.encode()),))
    if len(token) > LONGEST_TOKEN:
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
