"""Credentials of a request, and the challenge for rejected ones.

Tokens are read from `Authorization: Bearer <token>` (RFC 6750) or `Authorization: DPoP <token>`
(RFC 9449). Tokens in the query string or in the body are ignored (auth.token.not-in-query).
"""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

from dovetail.core.principal import Principal
from dovetail.oauth.challenges import make_challenge
from dovetail.oauth.dpop import BoundToken
from dovetail.runtime.auth_backend import AuthRejection, AuthRequest

__all__ = [
    "Authenticator",
    "Credentials",
    "Found",
    "Rejected",
    "read_credentials",
]

_AUTHORIZATION = b"authorization"
_BEARER = b"Bearer "
_SCHEMES = (b"bearer", b"dpop")
# Bytes of a token; tokens with many claims have about 4 KiB.
MAX_TOKEN = 16 * 1024
# The message for every invalid token; it does not say what is wrong.
INVALID_TOKEN = "The access token is expired, revoked, malformed or not for this server"
INVALID_KEY = "The key is unknown, expired or revoked"


class Credentials(NamedTuple):
    """The bearer token of a request, if there is one, and its headers by lower-case name.

    A request with a bound token has no bearer token: the authenticator must check the proof.
    """

    token: bytes | None
    headers: Mapping[bytes, bytes]
    bound: BoundToken | None = None


class Rejected(NamedTuple):
    """Invalid credentials; the reason is for the operator and is not sent to the caller.

    The audit log has the reason, the log of the server the detail if there is one.
    """

    reason: str
    detail: str = ""


# None: these credentials are for another authenticator. An AuthRejection has its own status.
Found: TypeAlias = Principal | Rejected | AuthRejection | None


class Authenticator(Protocol):
    """Identifies callers by their credentials."""

    @property
    def credential_headers(self) -> Collection[bytes]:
        """The headers that it reads, in lower case."""

    def authenticate(self, credentials: Credentials) -> Found | Coroutine[Any, Any, Found]:
        """The principal, or a coroutine that returns it if another server must be asked."""


def read_credentials(request: AuthRequest) -> Credentials | AuthRejection | Rejected:
    """The credentials of a request, or a rejection if they are malformed."""
    headers = request.headers
    given = headers.get(_AUTHORIZATION)
    if given is None:
        return Credentials(None, headers)
    scheme = _BEARER[:6].lower() if given[:7] == _BEARER else given.partition(b" ")[0].lower()
    if scheme not in _SCHEMES:
        return Credentials(None, headers)
    token = given[len(scheme) + 1 :].strip()
    if not token or b" " in token or b"," in token:
        # auth.status-codes (2025-11-25 basic/authorization): malformed is 400
        value = make_challenge(error="invalid_request")
        text = "The Authorization header must be: Bearer, a space, and one token"
        return AuthRejection(400, text, ((b"www-authenticate", value.encode()),))
    if len(token) > MAX_TOKEN:
        return Rejected("the token is too long")
    if scheme == b"bearer":
        return Credentials(token, headers)
    path = (request.scope.get("raw_path") or request.scope["path"].encode()).decode("latin-1")
    bound = BoundToken(token, headers.get(b"dpop"), request.scope["method"], path.partition("?")[0])
    return Credentials(None, headers, bound)
