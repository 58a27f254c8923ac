"""Authentication by access token: this server as an OAuth 2.1 resource server.

Tokens are validated and never passed on: a handler gets the claims, not the token
(auth.no-passthrough, auth.token.no-transit). `Introspection` is for opaque tokens (RFC 7662).
"""

from __future__ import annotations

import base64
import hashlib
import logging
import time
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from typing import Any, Literal, NamedTuple
from urllib.parse import quote, urlsplit

from dovetail.auth.credentials import Credentials, Found, Rejected
from dovetail.core.principal import Principal, read_scopes
from dovetail.core.replay import UsedIds
from dovetail.errors import RateLimitError, StoreError, TransportError, UsageError
from dovetail.oauth.challenges import make_challenge
from dovetail.oauth.discovery import (
    ResourceMetadata,
    find_endpoint,
    is_metadata_path,
    metadata_url_of,
)
from dovetail.oauth.dpop import BoundToken, ProofChecker, find_bound_key
from dovetail.oauth.fetch import check_url, fetch_json
from dovetail.oauth.jwt_keys import ALGORITHMS, SECRET_ALGORITHMS, KeySet, StaticKey
from dovetail.runtime.auth_backend import AuthRejection
from dovetail.runtime.engine import PublicDocument
from dovetail.runtime.rates import Bucket, Rate
from dovetail.wire import codec

__all__ = ["Introspection", "JwtRules", "OAuth", "TokenHead", "read_claims", "read_head"]


class Introspection:
    """Asks the issuer about opaque tokens.

    `url` is discovered if it is not given. `rate` limits the requests to the issuer, because anyone
    can send unknown tokens.
    """

    def __init__(
        self,
        client_id: str,
        client_secret: str,
        *,
        url: str | None = None,
        rate: Rate | None = None,
    ) -> None:
        if not client_id or not client_secret:
            raise UsageError(
                "Introspection needs the id and the secret of a client registered with the issuer"
            )
        self.url = None if url is None else check_url(url, "introspection url")
        pair = f"{quote(client_id, safe='')}:{quote(client_secret, safe='')}"
        self._headers = {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        self._bucket = Bucket(rate or Rate(50))

    def __repr__(self) -> str:
        return f"Introspection(url={self.url!r})"

    async def ask(self, token: str, issuer: str) -> dict[str, Any] | None:
        """The claims of a token, or None if it is not active.

        Raises TransportError, and RateLimitError if the rate is exceeded.
        """
        wait = self._bucket.wait()
        if wait:
            raise RateLimitError("Too many unknown tokens", wait)
        self._bucket.take()
        if self.url is None:
            self.url = await find_endpoint(issuer, "introspection_endpoint")
        form = {"token": token, "token_type_hint": "access_token"}
        answer = await fetch_json(self.url, form, self._headers)
        return answer if answer.get("active") is True else None


# Claims that only other kinds of tokens have: ID tokens and logout tokens.
_OTHER_KINDS = ("at_hash", "c_hash", "nonce", "events")
_OTHER_TYPES = ("ID", "Refresh", "Offline", "Logout")


class JwtRules(NamedTuple):
    """The requirements for a valid token."""

    issuer: str
    audiences: Collection[str]
    algorithms: Collection[str]
    # Allowed clock difference in seconds.
    leeway: float


class TokenHead(NamedTuple):
    """The unverified header of a token."""

    kid: str | None
    algorithm: str


def read_head(token: str, rules: JwtRules) -> TokenHead | Rejected:
    """Read the key id and the algorithm from the header of a token."""
    import jwt  # noqa: PLC0415 - optional dependency

    try:
        head = jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        return Rejected("the token is not a JWT")
    algorithm, kid = str(head.get("alg")), head.get("kid")
    if algorithm not in rules.algorithms:
        return Rejected(f"the algorithm {algorithm[:20]!r} is not allowed")
    if "crit" in head or head.get("b64") is False:
        return Rejected("the token has an unknown critical extension")
    if head.get("typ") is not None and str(head["typ"]).lower().removeprefix(
        "application/"
    ) not in (
        "jwt",
        "at+jwt",
    ):
        return Rejected("the token has another type")
    return TokenHead(kid if isinstance(kid, str) else None, algorithm)


def read_claims(
    token: str, key: Any, head: TokenHead, rules: JwtRules
) -> dict[str, Any] | Rejected:
    """The claims of a token, after checking signature, times, issuer and audience."""
    import jwt  # noqa: PLC0415 - optional dependency

    try:
        # auth.token.audience, auth.token.own-only, sbp.token-not-issued-for-server
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[head.algorithm],
            audience=list(rules.audiences),
            issuer=[rules.issuer, f"{rules.issuer}/"],
            leeway=rules.leeway,
            options={"require": ["exp", "iss", "aud"]},
        )
    except jwt.PyJWTError as error:
        # The text of the error may contain parts of the token.
        return Rejected(type(error).__name__, _explain_refusal(token, error, rules))
    if any(name in claims for name in _OTHER_KINDS) or claims.get("typ") in _OTHER_TYPES:
        return Rejected("the token is not an access token")
    return claims


# Characters of a claim in the log.
_SHOWN = 200


def _explain_refusal(token: str, error: Exception, rules: JwtRules) -> str:
    """What was wrong and what was expected, for the operator; only of tokens of the issuer."""
    import jwt  # noqa: PLC0415 - optional dependency

    if isinstance(error, jwt.InvalidSignatureError):
        return "its signature is not by a key of the issuer"
    if isinstance(error, jwt.MissingRequiredClaimError):
        return f"it has no {error.claim}"
    explained = (
        jwt.InvalidAudienceError,
        jwt.InvalidIssuerError,
        jwt.ExpiredSignatureError,
        jwt.ImmatureSignatureError,
    )
    if not isinstance(error, explained):
        return type(error).__name__
    # The library has checked the signature before these.
    claims = jwt.decode(token, options={"verify_signature": False})
    if isinstance(error, jwt.InvalidAudienceError):
        return _explain_audience(claims.get("aud"), rules)
    if isinstance(error, jwt.InvalidIssuerError):
        return f"iss is {_show(claims.get('iss'))}, expected {rules.issuer!r}"
    now = f"now is {time.time():.0f}"
    if isinstance(error, jwt.ExpiredSignatureError):
        return f"it expired at {_show(claims.get('exp'))}, {now}"
    since = claims.get("nbf", claims.get("iat"))
    return f"it is valid from {_show(since)}, {now}; compare the clocks"


def _explain_audience(given: Any, rules: JwtRules) -> str:
    expected, *others = (name for name in rules.audiences if not name.endswith("/"))
    also = f" or {', '.join(map(repr, others))}" if others else ""
    return f"aud is {_show(given)}, expected {expected!r}{also}"


def _show(claim: Any) -> str:
    text = repr(claim)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


logger: logging.Logger = logging.getLogger("dovetail")

ScopesOf = Callable[[Mapping[str, Any]], Iterable[str]]
# A scope that servers must not request (auth.no-offline-access).
_OFFLINE_ACCESS = "offline_access"
_DPOP = "DPoP"
_MAX_TOKENS = 10_000


class TokenCache:
    """Principals by the digest of their token, for `lifetime` seconds or until it expires."""

    def __init__(self, lifetime: float) -> None:
        self._lifetime = lifetime
        self._known: dict[bytes, tuple[Principal, float]] = {}

    def find(self, token: bytes) -> Principal | None:
        """The principal of a token, if it is cached."""
        known = self._known.get(hashlib.sha256(token).digest())
        if known is None or time.time() >= known[1]:
            return None
        return known[0]

    def add(self, token: bytes, principal: Principal, expires: float) -> None:
        """Cache a token that is valid until `expires`."""
        if len(self._known) >= _MAX_TOKENS:
            self._known.clear()
        until = min(expires, time.time() + self._lifetime)
        self._known[hashlib.sha256(token).digest()] = principal, until

    def clear(self) -> None:
        """Drop all tokens, so that they are validated again."""
        self._known.clear()


class OAuth:
    """Accepts access tokens of one issuer whose audience is this server."""

    def __init__(  # noqa: PLR0913 - issuers differ; all but two are optional
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
        public_key: str | None = None,
        secret: str | None = None,
        introspection: Introspection | None = None,
        scopes_of: ScopesOf | None = None,
        metadata_url: str | None = None,
        resource_name: str | None = None,
        dpop: bool | Literal["required"] = False,
        remember: float = 60.0,
        key_lifetime: float = 600.0,
        key_patience: float = 86_400.0,
        key_cooldown: float = 10.0,
    ) -> None:
        """`resource` is the public URL of this server.

        `scopes`: scopes that clients should request first. `step_up`: scopes that they may request
        later; tools that need only these are listed to every caller. `audiences`: accepted
        audiences besides the URL, for issuers without resource indicators. `dpop`: accept tokens
        that are bound to a key of the client (RFC 9449), or `"required"`: accept no others.
        `public_key` (PEM) or `secret` (for HS256): the only key of tokens, for tests and for
        issuers without a key set; nothing is fetched then.
        `remember`: seconds for which a validated token is cached. `key_lifetime`: seconds after
        which keys are fetched again. `key_patience`: seconds for which old keys are used if that
        fails. `key_cooldown`: minimum seconds between two fetches for an unknown key.
        """
        self.issuer: str = check_url(issuer, "issuer")
        self.resource: str = check_url(resource, "resource")
        self.scopes: frozenset[str] = read_scopes(scopes, "scopes")
        self.step_up: frozenset[str] = read_scopes(step_up, "step_up")
        if _OFFLINE_ACCESS in self.scopes | self.step_up:
            raise UsageError(
                f"{_OFFLINE_ACCESS} must not be requested by a server; clients request it"
            )
        if sum(each is not None for each in (jwks_url, public_key, secret)) > 1:
            raise UsageError("jwks_url, public_key and secret exclude each other; give one")
        allowed = ALGORITHMS if secret is None else SECRET_ALGORITHMS
        if secret is not None and algorithms == ALGORITHMS:
            algorithms = SECRET_ALGORITHMS
        unsafe = [name for name in algorithms if name not in allowed]
        if unsafe or not algorithms:
            raise UsageError(f"algorithms must be some of {', '.join(allowed)}, got {algorithms!r}")
        self.metadata_url: str = metadata_url or metadata_url_of(self.resource)
        self._rules = JwtRules(
            self.issuer,
            (*_spellings(self.resource), *audiences),
            tuple(algorithms),
            leeway,
        )
        self._jwks_url = None if jwks_url is None else check_url(jwks_url, "jwks_url")
        self._introspection = introspection
        self._scopes_of = scopes_of or standard_scopes
        self._keys: KeySet | StaticKey
        if public_key is not None or secret is not None:
            self._keys = StaticKey(public_key=public_key, secret=secret)
        else:
            self._keys = KeySet(
                self._fetch_keys,
                lifetime=key_lifetime,
                patience=key_patience,
                cooldown=key_cooldown,
            )
        self._cache = TokenCache(remember)
        self._requires_proof = dpop == "required"
        self._proofs = ProofChecker(self.resource, leeway) if dpop else None
        self.credential_headers: Collection[bytes] = (
            (b"authorization", b"dpop") if dpop else (b"authorization",)
        )
        # Scheme -> its algorithms, for challenges.
        self.schemes: Mapping[str, str | None] = {
            **({} if self._requires_proof else {"Bearer": None}),
            **({_DPOP: " ".join(ALGORITHMS)} if dpop else {}),
        }
        self._document = codec.encode(
            ResourceMetadata(
                resource=self.resource,
                authorization_servers=[self.issuer],
                bearer_methods_supported=["header"],
                scopes_supported=sorted(self.scopes | self.step_up),
                resource_name=resource_name,
                dpop_signing_alg_values_supported=ALGORITHMS if dpop else (),
                dpop_bound_access_tokens_required=self._requires_proof if dpop else None,
            )
        )

    @classmethod
    def keycloak(cls, realm: str, resource: str, **options: Any) -> OAuth:
        """For a Keycloak realm: `https://host/realms/NAME`.

        Realm roles become scopes of the form `role:NAME`. Keycloak sets the audience of a token
        with a mapper: configure it with the URL of this server, or list its value in `audiences`.
        """
        return cls(realm, resource, **{"scopes_of": keycloak_scopes, **options})

    def set_default_store(self, store: UsedIds) -> None:
        """Remember the proofs of bound tokens here, if no other server has set a store."""
        if self._proofs is not None:
            self._proofs.set_default_store(store)

    # -- for the guard ------------------------------------------------------------------------

    def page(self, path: str, mcp_path: str) -> PublicDocument | None:
        """The protected resource metadata, if the path matches."""
        # auth.prm.exists, auth.prm.discovery (2025-11-25 basic/authorization)
        if is_metadata_path(path, mcp_path, self.resource):
            return PublicDocument(200, self._document)
        return None

    def authenticate(self, credentials: Credentials) -> Found | Coroutine[Any, Any, Found]:
        """The principal of the token in a request."""
        if credentials.bound is not None and self._proofs is not None:
            return self._authenticate_bound(credentials.bound, self._proofs)
        if credentials.token is None:
            return None
        found = self._find(credentials.token)
        if isinstance(found, Coroutine):
            return self._refuse_bound_later(found)
        return self._refuse_bound(found)

    def _find(self, token: bytes) -> Found | Coroutine[Any, Any, Found]:
        """The principal of a token, without a check of its sender."""
        known = self._cache.find(token)
        if known is not None:
            return known
        try:
            text = token.decode("ascii")
        except UnicodeDecodeError:
            return Rejected("the token is not ASCII text")
        if text.count(".") != 2:
            if self._introspection is None:
                return Rejected("the token is not a JWT, and introspection is not configured")
            return self._introspect(token, text, self._introspection)
        head = read_head(text, self._rules)
        if isinstance(head, Rejected):
            return head
        key = self._keys.find(head.kid, head.algorithm)
        if key is None:
            return self._fetch_and_check(token, text, head)
        return self._check(token, text, head, key)

    # -- bound tokens -----------------------------------------------------------------------------

    def _refuse_bound(self, found: Found) -> Found:
        """A bearer token must not be bound: its sender may have stolen it."""
        if not isinstance(found, Principal):
            return found
        if find_bound_key(found.claims) is not None:
            return Rejected("the token is bound to a key and was sent without a proof")
        return Rejected("the token is not bound to a key") if self._requires_proof else found

    async def _refuse_bound_later(self, finding: Coroutine[Any, Any, Found]) -> Found:
        return self._refuse_bound(await finding)

    async def _authenticate_bound(self, bound: BoundToken, proofs: ProofChecker) -> Found:
        found = self._find(bound.token)
        if isinstance(found, Coroutine):
            found = await found
        if not isinstance(found, Principal):
            return found
        thumbprint = find_bound_key(found.claims)
        if thumbprint is None:
            return Rejected("the token is not bound to a key and was sent with a proof")
        try:
            problem = await proofs.check(bound, thumbprint)
        except StoreError as error:
            logger.warning("a proof cannot be checked: %s", error.reason)
            text = "The shared store of this server cannot be used; try again later"
            return AuthRejection(503, text, ((b"retry-after", b"1"),))
        return found if problem is None else self._refuse_proof(problem)

    def _refuse_proof(self, problem: str) -> AuthRejection:
        text = f"The DPoP proof is not valid: {problem}"
        value = make_challenge(
            error="invalid_dpop_proof",
            description=text,
            metadata=self.metadata_url,
            schemes={_DPOP: self.schemes[_DPOP]},
        )
        return AuthRejection(401, text, ((b"www-authenticate", value.encode()),))

    # -- JWTs -----------------------------------------------------------------------------------

    async def _fetch_and_check(self, token: bytes, text: str, head: TokenHead) -> Found:
        try:
            key = await self._keys.get(head.kid, head.algorithm)
        except TransportError as error:
            return _unavailable(str(error))
        if key is None:
            return Rejected("the key of the token is unknown")
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
                return Rejected("the token has no subject")
            subject = f"client:{subject}"
        # Subjects are unique per issuer.
        principal = Principal(f"{self.issuer}#{subject}", self._scopes_of(claims), claims)
        expires = claims.get("exp")
        until = float(expires) if isinstance(expires, int | float) else time.time() + 60
        self._cache.add(token, principal, until + self._rules.leeway)
        return principal

    # -- opaque tokens ----------------------------------------------------------------------------

    async def _introspect(self, token: bytes, text: str, introspection: Introspection) -> Found:
        try:
            claims = await introspection.ask(text, self.issuer)
        except (TransportError, RateLimitError) as error:
            return _unavailable(str(error))
        if claims is None:
            return Rejected("the issuer says that the token is not active")
        given = claims.get("aud")
        audiences = [given] if isinstance(given, str) else given
        if not isinstance(audiences, list) or not set(self._rules.audiences) & set(audiences):
            return Rejected("the token has another audience", _explain_audience(given, self._rules))
        if str(claims.get("iss", self.issuer)).rstrip("/") != self.issuer:
            expected = f"iss is {_show(claims['iss'])}, expected {self.issuer!r}"
            return Rejected("the token has another issuer", expected)
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
        # A removed key may have been stolen, so cached tokens are validated again.
        self._cache.clear()
        return keys


def standard_scopes(claims: Mapping[str, Any]) -> list[str]:
    """The scopes of a token, from `scope` or, as some issuers name it, `scp`."""
    found: list[str] = []
    for name in ("scope", "scp"):
        value = claims.get(name)
        if isinstance(value, str):
            found += value.split()
        elif isinstance(value, list):
            found += [scope for scope in value if isinstance(scope, str)]
    return found


def keycloak_scopes(claims: Mapping[str, Any]) -> list[str]:
    """The scopes of a token, and its realm roles as `role:NAME`."""
    access = claims.get("realm_access")
    roles = access.get("roles") if isinstance(access, dict) else None
    named = [f"role:{role}" for role in roles or () if isinstance(role, str)]
    return [*standard_scopes(claims), *named]


def _spellings(resource: str) -> list[str]:
    """A URL with and without a trailing slash, also with a lower-case host (auth.uri.case)."""
    parts = urlsplit(resource)
    plain = parts._replace(scheme=parts.scheme.lower(), netloc=parts.netloc.lower()).geturl()
    return list(dict.fromkeys((resource, plain, f"{resource}/", f"{plain}/")))


def _unavailable(reason: str) -> AuthRejection:
    logger.warning("a token cannot be validated: %s", reason)
    text = "The authorization server is not available; try again later"
    return AuthRejection(503, text, ((b"retry-after", b"10"),))
