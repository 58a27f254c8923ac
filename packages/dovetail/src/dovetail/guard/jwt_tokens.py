"""Access tokens that can be read: JWTs (RFC 7519, RFC 9068), signed by the issuer."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from dovetail.guard.credentials import Rejected

__all__ = ["ALGORITHMS", "JwtRules", "TokenHead", "read_claims", "read_head"]

# No `none`, and none with a shared secret: a public key must never be mistaken for one.
ALGORITHMS = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
)  # fmt: skip
# Members that only tokens of other kinds have: an ID token, a logout token.
_OTHER_KINDS = ("at_hash", "c_hash", "nonce", "events")
_OTHER_TYPES = ("ID", "Refresh", "Offline", "Logout")


class JwtRules(NamedTuple):
    """What makes a token good."""

    issuer: str
    audiences: Collection[str]
    algorithms: Collection[str]
    # Seconds that clocks may differ.
    leeway: float


class TokenHead(NamedTuple):
    """What a token says before anything of it is believed."""

    kid: str | None
    algorithm: str


def read_head(token: str, rules: JwtRules) -> TokenHead | Rejected:
    """Which key it takes to check a token."""
    import jwt  # noqa: PLC0415 - only who takes tokens loads it

    try:
        head = jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        return Rejected("the token is no JWT")
    algorithm, kid = str(head.get("alg")), head.get("kid")
    if algorithm not in rules.algorithms:
        return Rejected(f"the algorithm {algorithm[:20]!r} is not allowed")
    if "crit" in head or head.get("b64") is False:
        return Rejected("the token has an extension that is not known")
    if head.get("typ") is not None and str(head["typ"]).lower().removeprefix(
        "application/"
    ) not in (
        "jwt",
        "at+jwt",
    ):
        return Rejected("the token is of another type")
    return TokenHead(kid if isinstance(kid, str) else None, algorithm)


def read_claims(
    token: str, key: Any, head: TokenHead, rules: JwtRules
) -> dict[str, Any] | Rejected:
    """What a token says, once its signature, times, issuer and audience are found right."""
    import jwt  # noqa: PLC0415 - only who takes tokens loads it

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
        # Its class says enough; its text may hold parts of the token.
        return Rejected(type(error).__name__)
    if any(name in claims for name in _OTHER_KINDS) or claims.get("typ") in _OTHER_TYPES:
        return Rejected("the token is no access token")
    return claims
