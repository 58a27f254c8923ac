"""Callers known by access tokens: this server as a resource server of OAuth 2.1.

Tokens are judged and never passed on: a handler gets the claims, not the token
(auth.no-passthrough, auth.token.no-transit).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from dovetail.core.permission import read_scopes
from dovetail.core.principal import Principal
from dovetail.errors import RateLimitError, TransportError, UsageError
from dovetail.guard.credentials import Credentials, Found, Rejected
from dovetail.guard.fetching import check_url, fetch_json
from dovetail.guard.introspection import Introspection
from dovetail.guard.issuer import find_endpoint
from dovetail.guard.jwt_tokens import ALGORITHMS, JwtRules, TokenHead, read_claims, read_head
from dovetail.guard.key_sets import KeySet
from dovetail.guard.resource_metadata import document_of, is_metadata_path, metadata_url_of
from dovetail.guard.token_memory import TokenMemory
from dovetail.runtime.auth_backend import AuthRejection, PublicDocument

__all__ = ["OAuth"]

logger = logging.getLogger("dovetail")

ScopesOf = Callable[[Mapping[str, Any]], Iterable[str]]
# What nobody should be asked for by a server (auth.no-offline-access).
_CLIENTS_OWN = "offline_access"


class OAuth:
    """Takes access tokens of one issuer that are made out to this server."""

    credential_headers = (b"authorization",)

    def __init__(  # noqa: PLR0913 - what differs between issuers, all but two optional
        self,
        issuer: str,
        resource: str,
        *,
        scopes: Collection[str] = (),
        step_up: Collection[str] = (),
        audiences: Collection[str] = (),
        algorithms: Collection[str] = ALGORITHMS,
        leeway: float = 30.0,
        jwks_url: str | None = None,
        introspection: Introspection | None = None,
        scopes_of: ScopesOf | None = None,
        metadata_url: str | None = None,
        resource_name: str | None = None,
        remember: float = 60.0,
        key_lifetime: float = 600.0,
        key_patience: float = 86_400.0,
        key_cooldown: float = 10.0,
    ) -> None:
        """`resource` is the URL of this server, as clients know it.

        `scopes`: what clients should ask for at first. `step_up`: what they may ask for later;
        what needs only these is listed to everybody. `audiences`: names of this server beside its
        URL, for issuers that know no resource indicators. `remember`: seconds for which a token
        that was found good is taken as such. `key_lifetime`, `key_patience`: seconds after which
        keys are fetched again, and for which they serve where that fails. `key_cooldown`: seconds
        between two looks for a key that is not known.
        """
        self.issuer = check_url(issuer, "issuer")
        self.resource = check_url(resource, "resource")
        self.scopes = read_scopes(scopes, "scopes")
        self.step_up = read_scopes(step_up, "step_up")
        if _CLIENTS_OWN in self.scopes | self.step_up:
            raise UsageError(f"{_CLIENTS_OWN} is for clients to ask for, not for servers")
        unsafe = [name for name in algorithms if name not in ALGORITHMS]
        if unsafe or not algorithms:
            raise UsageError(f"algorithms may be {', '.join(ALGORITHMS)}, got {algorithms!r}")
        self.metadata_url = metadata_url or metadata_url_of(self.resource)
        self._rules = JwtRules(
            self.issuer,
            (*_spellings(self.resource), *audiences),
            tuple(algorithms),
            leeway,
        )
        self._jwks_url = None if jwks_url is None else check_url(jwks_url, "jwks_url")
        self._introspection = introspection
        self._scopes_of = scopes_of or standard_scopes
        self._keys = KeySet(
            self._fetch_keys,
            lifetime=key_lifetime,
            patience=key_patience,
            cooldown=key_cooldown,
        )
        self._memory = TokenMemory(remember)
        self._document = document_of(
            self.resource, [self.issuer], self.scopes | self.step_up, resource_name
        )

    @classmethod
    def keycloak(cls, realm: str, resource: str, **options: Any) -> OAuth:
        """For a realm of Keycloak: `https://host/realms/NAME`.

        Roles of the realm count as scopes, as `role:NAME`. Keycloak puts the audience of a token
        there by a mapper; give it the URL of this server, or name it in `audiences`.
        """
        return cls(realm, resource, **{"scopes_of": keycloak_scopes, **options})

    # -- for the guard ------------------------------------------------------------------------

    def page(self, path: str, mcp_path: str) -> PublicDocument | None:
        """The document about this resource."""
        # auth.prm.exists, auth.prm.discovery (2025-11-25 basic/authorization)
        if is_metadata_path(path, mcp_path, self.resource):
            return PublicDocument(200, self._document)
        return None

    def authenticate(self, credentials: Credentials) -> Found | Coroutine[Any, Any, Found]:
        """Whose token this is."""
        token = credentials.token
        if token is None:
            return None
        known = self._memory.find(token)
        if known is not None:
            return known
        try:
            text = token.decode("ascii")
        except UnicodeDecodeError:
            return Rejected("the token is no text")
        if text.count(".") != 2:
            if self._introspection is None:
                return Rejected("the token is no JWT, and there is nobody to ask about it")
            return self._ask(token, text, self._introspection)
        head = read_head(text, self._rules)
        if isinstance(head, Rejected):
            return head
        key = self._keys.find(head.kid, head.algorithm)
        if key is None:
            return self._fetch_and_check(token, text, head)
        return self._check(token, text, head, key)

    # -- tokens that can be read ----------------------------------------------------------------

    async def _fetch_and_check(self, token: bytes, text: str, head: TokenHead) -> Found:
        try:
            key = await self._keys.get(head.kid, head.algorithm)
        except TransportError as error:
            return _unavailable(str(error))
        if key is None:
            return Rejected("the key of the token is not known")
        return self._check(token, text, head, key)

    def _check(self, token: bytes, text: str, head: TokenHead, key: Any) -> Found:
        claims = read_claims(text, key, head, self._rules)
        if isinstance(claims, Rejected):
            return claims
        return self._admit(token, claims)

    def _admit(self, token: bytes, claims: dict[str, Any]) -> Found:
        subject = claims.get("sub")
        if not isinstance(subject, str) or not subject:
            subject = claims.get("client_id") or claims.get("azp")
            if not isinstance(subject, str) or not subject:
                return Rejected("the token names nobody")
            subject = f"client:{subject}"
        # Subjects are unique for one issuer only.
        principal = Principal(f"{self.issuer}#{subject}", self._scopes_of(claims), claims)
        expires = claims.get("exp")
        until = float(expires) if isinstance(expires, int | float) else time.time() + 60
        self._memory.keep(token, principal, until + self._rules.leeway)
        return principal

    # -- tokens that only the issuer can read -----------------------------------------------------

    async def _ask(self, token: bytes, text: str, introspection: Introspection) -> Found:
        try:
            claims = await introspection.ask(text, self.issuer)
        except (TransportError, RateLimitError) as error:
            return _unavailable(str(error))
        if claims is None:
            return Rejected("the issuer says that the token is not good")
        given = claims.get("aud")
        audiences = [given] if isinstance(given, str) else given
        if not isinstance(audiences, list) or not set(self._rules.audiences) & set(audiences):
            return Rejected("the token is for somebody else")
        if str(claims.get("iss", self.issuer)).rstrip("/") != self.issuer:
            return Rejected("the token is of another issuer")
        expires = claims.get("exp")
        if isinstance(expires, int | float) and time.time() > expires + self._rules.leeway:
            return Rejected("the token is expired")
        if "sub" not in claims and isinstance(claims.get("username"), str):
            claims["sub"] = claims["username"]
        return self._admit(token, claims)

    # -- the issuer ---------------------------------------------------------------------------

    async def _fetch_keys(self) -> dict[str, Any]:
        if self._jwks_url is None:
            self._jwks_url = await find_endpoint(self.issuer, "jwks_uri")
        keys = await fetch_json(self._jwks_url)
        # A key that is gone may have been stolen: what it has signed is looked at again.
        self._memory.clear()
        return keys


def standard_scopes(claims: Mapping[str, Any]) -> list[str]:
    """The scopes of a token: `scope` as OAuth has it, or `scp` as some issuers write it."""
    found: list[str] = []
    for name in ("scope", "scp"):
        value = claims.get(name)
        if isinstance(value, str):
            found += value.split()
        elif isinstance(value, list):
            found += [scope for scope in value if isinstance(scope, str)]
    return found


def keycloak_scopes(claims: Mapping[str, Any]) -> list[str]:
    """The scopes of a token, and the roles of its realm as `role:NAME`."""
    access = claims.get("realm_access")
    roles = access.get("roles") if isinstance(access, dict) else None
    named = [f"role:{role}" for role in roles or () if isinstance(role, str)]
    return [*standard_scopes(claims), *named]


def _spellings(resource: str) -> list[str]:
    """A URL with and without a slash at its end, its host also in lower case (auth.uri.case)."""
    parts = urlsplit(resource)
    plain = parts._replace(scheme=parts.scheme.lower(), netloc=parts.netloc.lower()).geturl()
    return list(dict.fromkeys((resource, plain, f"{resource}/", f"{plain}/")))


def _unavailable(reason: str) -> AuthRejection:
    logger.warning("a token cannot be judged: %s", reason)
    text = "The authorization server cannot be asked at the moment; try again later"
    return AuthRejection(503, text, ((b"retry-after", b"10"),))
