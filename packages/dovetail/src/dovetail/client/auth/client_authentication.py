"""How a client proves to the token endpoint who it is (RFC 6749, RFC 7523)."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from dovetail.client.auth.records import ClientRecord
from dovetail.errors import UsageError
from dovetail.oauth.failures import AuthorizationError

__all__ = ["ASSERTION_TYPE", "ClientKey", "authenticate", "choose_method"]

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_ASSERTION_SECONDS = 60
# The order of preference among those that the server accepts.
_WITH_SECRET = ("client_secret_basic", "client_secret_post")
# RFC 8414, section 2: what an authorization server accepts if its metadata does not say.
_DEFAULT_METHODS = ("client_secret_basic",)


@dataclass(frozen=True, slots=True, repr=False)
class ClientKey:
    """A private key in PEM, with which the client signs assertions (`private_key_jwt`)."""

    pem: str
    algorithm: str = "ES256"
    key_id: str | None = None

    def sign(self, client_id: str, audience: str, now: float) -> str:
        """An assertion for one token request."""
        # Only clients with a key need these libraries.
        import jwt  # noqa: PLC0415

        claims = {
            "iss": client_id,
            "sub": client_id,
            # RFC 7523bis: the issuer, so that no other server can use the assertion.
            "aud": audience,
            "jti": secrets.token_urlsafe(16),
            "iat": int(now),
            "exp": int(now) + _ASSERTION_SECONDS,
        }
        head = {} if self.key_id is None else {"kid": self.key_id}
        try:
            return jwt.encode(claims, self.pem, self.algorithm, head)
        except (ValueError, TypeError, jwt.PyJWTError):
            # Without the cause, which may quote the key.
            raise UsageError(f"The private key cannot sign with {self.algorithm}") from None


def choose_method(
    client: ClientRecord, key: ClientKey | None, accepted: Sequence[str] | None
) -> str:
    """The method for the token endpoint; raises AuthorizationError if none is possible."""
    if client.auth_method is not None:
        return client.auth_method
    if key is not None:
        return "private_key_jwt"
    if client.client_secret is None:
        return "none"
    offered = _DEFAULT_METHODS if accepted is None else accepted
    for method in _WITH_SECRET:
        if method in offered:
            return method
    if "none" in offered:
        return "none"
    raise AuthorizationError(
        f"The authorization server accepts {', '.join(offered) or 'no method'} for the "
        "authentication of clients, and this client has only a secret"
    )


def authenticate(
    method: str,
    client: ClientRecord,
    key: ClientKey | None,
    audience: str,
    now: float,
) -> tuple[dict[str, str], dict[str, str]]:
    """The form fields and headers that authenticate a token request."""
    if method == "client_secret_basic":
        # RFC 6749, section 2.3.1: both parts are form-encoded before they are joined.
        pair = f"{quote(client.client_id, safe='')}:{quote(client.client_secret or '', safe='')}"
        return {}, {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    form = {"client_id": client.client_id}
    if method == "client_secret_post":
        form["client_secret"] = client.client_secret or ""
    elif method == "private_key_jwt":
        if key is None:
            raise AuthorizationError(
                "The authorization server registered this client for private_key_jwt, and "
                "there is no private key; pass private_key="
            )
        form["client_assertion_type"] = ASSERTION_TYPE
        form["client_assertion"] = key.sign(client.client_id, audience, now)
    elif method != "none":
        raise AuthorizationError(
            f"The authorization server registered this client for {method}, which is not supported"
        )
    return form, {}
