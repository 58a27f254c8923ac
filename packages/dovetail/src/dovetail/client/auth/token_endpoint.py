"""Token requests and revocations, and the client authentication in them (RFC 6749, RFC 7523)."""

from __future__ import annotations

import base64
import binascii
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec
from msgspec import Struct

from dovetail.client.auth.records import ClientRecord, Tokens
from dovetail.errors import AuthorizationError, TokenRefusedError, UsageError
from dovetail.oauth.dpop import DpopKey
from dovetail.oauth.fetch import AuthFetch, Fetched

__all__ = [
    "ClientKey",
    "TokenEndpoint",
    "read_user",
]

_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
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


def _choose_method(
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


def _authenticate(
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
        form["client_assertion_type"] = _ASSERTION_TYPE
        form["client_assertion"] = key.sign(client.client_id, audience, now)
    elif method != "none":
        raise AuthorizationError(
            f"The authorization server registered this client for {method}, which is not supported"
        )
    return form, {}


_SHOWN = 200
# Fields of a token request that are no secrets; messages may repeat them.
_PUBLIC = frozenset({
    "audience", "client_assertion_type", "client_id", "grant_type", "redirect_uri",
    "requested_token_type", "resource", "scope", "subject_token_type",
})  # fmt: skip
_TYPES = {"bearer": "Bearer", "dpop": "DPoP"}
_USE_NONCE = "use_dpop_nonce"
# What to do about an error code (RFC 6749, section 5.2), for the end of a message.
_ADVICE = {
    "invalid_grant": "log in again",
    "invalid_client": "check the client id and its secret or key",
    "unauthorized_client": "ask the operator to allow this client this kind of login",
    "unsupported_grant_type": "use another way to log in",
    "invalid_scope": "ask for other scopes",
    "access_denied": "ask the operator for access",
    "invalid_target": "the server's address is unknown there; ask the operator to register it",
}
# Claims that say who the user is.
_USER_CLAIMS = ("sub", "name", "preferred_username", "email")


class _TokenResponse(Struct):
    access_token: str
    token_type: str
    expires_in: float | str | None = None
    refresh_token: str | None = None
    scope: str | None = None
    id_token: str | None = None


class _ErrorResponse(Struct):
    error: str
    error_description: str | None = None


class _Answer(NamedTuple):
    """A response, and the secrets of its request."""

    fetched: Fetched
    secrets: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class TokenEndpoint:
    """The token endpoint of one authorization server, as one client uses it."""

    fetch: AuthFetch
    url: str
    issuer: str
    client: ClientRecord
    key: ClientKey | None = None
    auth_methods: Sequence[str] | None = None
    dpop: DpopKey | None = None

    async def request(
        self,
        form: Mapping[str, str],
        requested: Sequence[str] = (),
        *,
        previous: Tokens | None = None,
    ) -> tuple[Tokens, dict[str, Any]]:
        """The tokens for a grant, and claims about the user; raises AuthorizationError.

        `requested` are the scopes that apply if the response names none. The refresh token of
        `previous` stays valid if the response has no new one.
        """
        answer = await self._post(form)
        if self._wants_nonce(answer.fetched):
            # RFC 9449, section 8: once more, with the nonce.
            answer = await self._post(form)
        response = self._read(answer)
        kind = _TYPES.get(response.token_type.lower())
        if kind is None or (kind == "DPoP" and self.dpop is None):
            raise AuthorizationError(
                f"{self.url} sent a token of type {response.token_type[:_SHOWN]!r}, which this "
                "client cannot use; report this to its operator"
            )
        if self.dpop is not None and kind != "DPoP":
            raise AuthorizationError(
                f"{self.url} ignored the key of this client and sent a token that anybody could "
                "use; turn dpop off if you accept that"
            )
        scopes = tuple(requested) if response.scope is None else tuple(response.scope.split())
        tokens = Tokens(
            access_token=_check_token(response.access_token, self.url),
            token_type=kind,
            refresh_token=response.refresh_token or (previous.refresh_token if previous else None),
            scopes=scopes,
            expires_at=_find_expiry(response.expires_in),
        )
        return tokens, read_user(response.id_token)

    async def exchange(self, form: Mapping[str, str], wanted: str) -> str:
        """A token of another kind, by token exchange (RFC 8693)."""
        answer = await self._post(form)
        document = answer.fetched.json()
        if answer.fetched.status != 200 or document is None:
            raise self._explain(answer, document)
        token = document.get("access_token")
        if document.get("issued_token_type") != wanted or not isinstance(token, str):
            raise AuthorizationError(
                f"{self.url} did not issue a token of type {wanted}; report this to its operator"
            )
        return token

    async def revoke(self, url: str, tokens: Tokens) -> bool:
        """Revoke a login at its revocation endpoint (RFC 7009); False if that failed."""
        endpoint = self.fetch.policy.check(url, "The revocation endpoint")
        given = (("refresh_token", tokens.refresh_token), ("access_token", tokens.access_token))
        outcomes = []
        for hint, token in given:
            if token is not None:
                form = {"token": token, "token_type_hint": hint}
                own, headers = self._authenticate()
                try:
                    fetched = await self.fetch.post_form(endpoint, {**form, **own}, headers)
                except AuthorizationError:
                    return False
                outcomes.append(fetched.status == 200)
        # The refresh token matters, if there is one: many servers cannot revoke access tokens
        # that are JWTs, which expire by themselves.
        return outcomes[0]

    def _authenticate(self) -> tuple[dict[str, str], dict[str, str]]:
        endpoint = self.fetch.policy.check(self.url, "The token endpoint")
        method = _choose_method(self.client, self.key, self.auth_methods)
        now = self.fetch.now(endpoint)
        return _authenticate(method, self.client, self.key, self.issuer, now)

    async def _post(self, form: Mapping[str, str]) -> _Answer:
        endpoint = self.fetch.policy.check(self.url, "The token endpoint")
        own, headers = self._authenticate()
        if self.dpop is not None:
            now = self.fetch.now(endpoint)
            headers["DPoP"] = self.dpop.prove("POST", self.url, endpoint.origin, now)
        sent = {**form, **own}
        secrets = [value for name, value in sent.items() if name not in _PUBLIC]
        fetched = await self.fetch.post_form(endpoint, sent, headers)
        return _Answer(fetched, (*secrets, *headers.values(), self.client.client_secret or ""))

    def _wants_nonce(self, fetched: Fetched) -> bool:
        nonce = fetched.headers.get("dpop-nonce")
        if self.dpop is None or nonce is None:
            return False
        endpoint = self.fetch.policy.check(self.url, "The token endpoint")
        self.dpop.nonces[endpoint.origin] = nonce
        document = fetched.json() or {}
        return fetched.status == 400 and document.get("error") == _USE_NONCE

    def _read(self, answer: _Answer) -> _TokenResponse:
        document = answer.fetched.json()
        if answer.fetched.status != 200:
            raise self._explain(answer, document)
        try:
            if document is not None:
                return msgspec.convert(document, _TokenResponse)
        except msgspec.ValidationError:
            # Without the cause, which may quote the token.
            pass
        raise AuthorizationError(
            f"{self.url} answered a token request with something that is not a token response; "
            "report this to its operator"
        )

    def _explain(self, answer: _Answer, document: dict[str, Any] | None) -> AuthorizationError:
        try:
            found = msgspec.convert(document, _ErrorResponse)
        except msgspec.ValidationError:
            return AuthorizationError(
                f"{self.url} answered a token request with {answer.fetched.reason}; try again later"
            )
        code = _show(found.error, answer.secrets)
        text = f"The authorization server {self.issuer} refused the token request: {code}"
        if found.error_description:
            text += f" ({_show(found.error_description, answer.secrets)})"
        advice = _ADVICE.get(code, "try again, or report this to its operator")
        return TokenRefusedError(f"{text}; {advice}", code)


def _show(text: str, secrets: Sequence[str]) -> str:
    """What a server says, without what was sent to it: some repeat the code that they refuse."""
    for value in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(value, "***")
    return " ".join("".join(c for c in text if c.isprintable()).split())[:_SHOWN]


def _check_token(token: str, where: str) -> str:
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise AuthorizationError(f"{where} sent an access token that cannot be put into a header")
    return token


def _find_expiry(expires_in: float | str | None) -> float | None:
    try:
        seconds = None if expires_in is None else float(expires_in)
    except ValueError:
        seconds = None
    return None if seconds is None else time.time() + seconds


def read_user(id_token: str | None) -> dict[str, Any]:
    """The claims of an ID token that say who the user is.

    The signature is not checked: the token came from the token endpoint itself (OpenID Connect
    Core, section 3.1.3.7), and the claims are only shown.
    """
    try:
        payload = (id_token or "").split(".")[1]
        padded = payload + "=" * (-len(payload) % 4)
        claims = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=dict[str, Any])
    except (IndexError, ValueError, binascii.Error, msgspec.DecodeError):
        return {}
    return {name: claims[name] for name in _USER_CLAIMS if isinstance(claims.get(name), str)}
