"""Authentication by a fixed list of tokens: `Guard(BearerTokens({"token-of-ada": "ada"}))`."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Mapping

from dovetail.auth.credentials import Credentials, Found
from dovetail.core.principal import Principal, to_principal
from dovetail.errors import UsageError

__all__ = ["BearerTokens"]

_MIN_CHARACTERS = 12


class BearerTokens:
    """Authenticates callers that send `Authorization: Bearer <token>` with one of these tokens.

    The mapping has the id or the `Principal` of each token. Take the tokens from the environment or
    a secret store; `ApiKeys` stores hashes in a file and can revoke them while the server runs.
    """

    credential_headers: Collection[bytes] = (b"authorization",)

    def __init__(self, tokens: Mapping[str, Principal | str]) -> None:
        if not tokens or not hasattr(tokens, "items"):
            raise UsageError(
                "BearerTokens needs a mapping from tokens to principals, such as "
                '{"token-of-ada": "ada"}'
            )
        # Digests have one length, and a traceback that shows them reveals no token.
        self._known = [(_digest(token), _principal(tokens[token])) for token in tokens]

    def __repr__(self) -> str:
        return f"BearerTokens({len(self._known)} tokens)"

    def authenticate(self, credentials: Credentials) -> Found:
        """The principal of the token in a request; None if another authenticator may know it."""
        if credentials.token is None:
            return None
        given = hashlib.sha256(credentials.token).digest()
        found = None
        # Compared with all of them, so that the response time does not tell which one matched.
        for digest, principal in self._known:
            if hmac.compare_digest(given, digest):
                found = principal
        return found


def _digest(token: object) -> bytes:
    if not isinstance(token, str) or not token.isascii() or not token.isprintable():
        raise UsageError("A bearer token must be a string of printable ASCII characters")
    if " " in token or "," in token:
        raise UsageError("A bearer token must not contain a space or a comma")
    if len(token) < _MIN_CHARACTERS:
        # Without the token: the message may be logged.
        raise UsageError(
            f"A bearer token must have at least {_MIN_CHARACTERS} characters, got one of "
            f"{len(token)}; make one with: python -c 'import secrets; "
            "print(secrets.token_urlsafe())'"
        )
    return hashlib.sha256(token.encode()).digest()


def _principal(given: Principal | str) -> Principal:
    principal = to_principal(given)
    if not isinstance(principal, Principal):
        raise UsageError(f"A token needs the id of its principal or a Principal, got {given!r}")
    return principal
