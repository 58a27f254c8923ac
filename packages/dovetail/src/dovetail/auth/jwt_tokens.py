"""Validation of JWT access tokens (RFC 7519, RFC 9068)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from dovetail.auth.credentials import Rejected

__all__ = ["JwtRules", "TokenHead", "read_claims", "read_head"]

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
        # The class name is enough; the text may contain parts of the token.
        return Rejected(type(error).__name__)
    if any(name in claims for name in _OTHER_KINDS) or claims.get("typ") in _OTHER_TYPES:
        return Rejected("the token is not an access token")
    return claims
