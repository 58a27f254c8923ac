"""Access tokens that are bound to a key of the client (DPoP, RFC 9449).

The client makes a proof for each request with `DpopKey`, the server checks it with `ProofChecker`.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from base64 import urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from dovetail.core.replay import MemoryUsedIds, UsedIds
from dovetail.oauth.jwt_keys import ALGORITHMS

__all__ = ["BoundToken", "DpopKey", "ProofChecker", "find_bound_key"]

# Seconds for which a proof is accepted, besides the allowed clock difference.
_LIFETIME = 60.0
_MAX_PROOF = 8 * 1024
_TYPE = "dpop+jwt"
# The algorithm of our own keys.
_OWN = "ES256"
_REQUIRED = ("jti", "htm", "htu", "iat", "ath")
_PRIVATE = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
# Key type -> the members that its thumbprint is made of (RFC 7638, RFC 8037).
_MEMBERS = {"EC": ("crv", "kty", "x", "y"), "RSA": ("e", "kty", "n"), "OKP": ("crv", "kty", "x")}
_PORTS = {"http": ":80", "https": ":443"}


def find_bound_key(claims: Mapping[str, Any]) -> str | None:
    """The thumbprint of the key that a token is bound to (section 6)."""
    confirmation = claims.get("cnf")
    if not isinstance(confirmation, dict) or "jkt" not in confirmation:
        return None
    return str(confirmation["jkt"])


class BoundToken(NamedTuple):
    """A token that is bound to a key of the client, and the proof of the request."""

    token: bytes
    proof: bytes | None
    method: str
    # Of the URL of the request, as it was sent.
    path: str


class DpopKey:
    """A key pair of a client, and the nonces that servers asked for."""

    def __init__(self, pem: str | None = None) -> None:
        # Few clients use it, and both are slow to import.
        import jwt  # noqa: PLC0415
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

        if pem is None:
            self._key = ec.generate_private_key(ec.SECP256R1())
        else:
            loaded = serialization.load_pem_private_key(pem.encode(), None)
            assert isinstance(loaded, ec.EllipticCurvePrivateKey)
            self._key = loaded
        public = jwt.algorithms.ECAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        self._public = {name: public[name] for name in _MEMBERS["EC"]}
        # Origin -> the last nonce it sent.
        self.nonces: dict[str, str] = {}

    def to_pem(self) -> str:
        """The private key, to be stored with the tokens that are bound to it."""
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - slow to import

        return self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode()

    def prove(
        self, method: str, url: str, origin: str, now: float, access_token: str | None = None
    ) -> str:
        """A proof for one request; it cannot be used for another."""
        import jwt  # noqa: PLC0415 - slow to import

        claims: dict[str, Any] = {
            "jti": secrets.token_urlsafe(16),
            "htm": method,
            "htu": url.partition("?")[0],
            "iat": int(now),
        }
        if access_token is not None:
            claims["ath"] = _hash(access_token.encode())
        if origin in self.nonces:
            claims["nonce"] = self.nonces[origin]
        return jwt.encode(claims, self._key, _OWN, {"typ": _TYPE, "jwk": self._public})


class ProofChecker:
    """Checks that the sender of a bound token has its key (section 4.3)."""

    def __init__(self, resource: str, leeway: float, used: UsedIds | None = None) -> None:
        """`used` remembers proofs; without it each process remembers those that it has seen."""
        self._resource = _plain_url(resource)
        parts = urlsplit(resource)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._leeway = leeway
        self._lifetime = _LIFETIME + 2 * leeway
        self._used = used
        # Thumbprint -> its used proofs and the time of the last one, oldest first. A client that
        # sends many proofs makes the server forget its own proofs only.
        self._seen: OrderedDict[str, tuple[MemoryUsedIds, float]] = OrderedDict()

    def set_default_store(self, store: UsedIds) -> None:
        """Use this store of proofs, if none was given."""
        self._used = self._used or store

    async def check(self, bound: BoundToken, thumbprint: str) -> str | None:
        """What is wrong with the proof of a token that is bound to this key; None if nothing."""
        found = _read(bound.proof)
        if isinstance(found, str):
            return found
        key, claims = found
        if key != thumbprint:
            return "it is signed with another key"
        problem = self._find_problem(bound, claims)
        if problem is not None:
            return problem
        id = hashlib.sha256(f"{thumbprint} {claims['jti']}".encode()).digest()
        is_new = (self._used or self._find_seen(thumbprint)).use(id, self._lifetime)
        if not isinstance(is_new, bool):
            is_new = await is_new
        return None if is_new else "it was used before"

    def _find_problem(self, bound: BoundToken, claims: dict[str, Any]) -> str | None:
        if claims["htm"] != bound.method:
            return "it is for another method"
        # A proxy may have changed the path, so the configured URL is accepted as well.
        if _plain_url(claims["htu"]) not in (_plain_url(self._origin + bound.path), self._resource):
            return "it is for another URL"
        age = time.time() - claims["iat"]
        if not -self._leeway <= age <= _LIFETIME + self._leeway:
            return "it is too old or from the future; compare the clocks"
        if claims["ath"] != _hash(bound.token):
            return "it is for another token"
        return None

    def _find_seen(self, thumbprint: str) -> MemoryUsedIds:
        now = time.monotonic()
        seen = self._seen.pop(thumbprint, None)
        used = MemoryUsedIds() if seen is None else seen[0]
        self._seen[thumbprint] = used, now
        while next(iter(self._seen.values()))[1] < now - self._lifetime:
            self._seen.popitem(last=False)
        return used


def _read(proof: bytes | None) -> tuple[str, dict[str, Any]] | str:
    """The thumbprint of the key that signed a proof, and its claims; or what is wrong."""
    import jwt  # noqa: PLC0415 - slow to import

    if proof is None:
        return "it is missing"
    if len(proof) > _MAX_PROOF:
        return "it is too long"
    try:
        head = jwt.get_unverified_header(proof)
        key = head.get("jwk")
        if str(head.get("typ")).lower() != _TYPE or "crit" in head or not isinstance(key, dict):
            return "its header is not that of a proof"
        algorithm = head.get("alg")
        if algorithm not in ALGORITHMS:
            return "its algorithm is not allowed"
        if _PRIVATE & key.keys():
            return "it contains a private key"
        signed_by = jwt.PyJWK(key, algorithm)
        options: Any = {"require": _REQUIRED, "verify_iat": False, "verify_aud": False}
        claims: dict[str, Any] = jwt.decode(proof, signed_by, [algorithm], options=options)
        thumbprint = _find_thumbprint(key)
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return "it is malformed or not signed with its key"
    texts = (claims["jti"], claims["htm"], claims["htu"], claims["ath"])
    if not all(isinstance(text, str) for text in texts) or not isinstance(
        claims["iat"], int | float
    ):
        return "its claims have wrong types"
    return thumbprint, claims


def _find_thumbprint(key: dict[str, Any]) -> str:
    members = {name: key[name] for name in _MEMBERS[key["kty"]]}
    text = json.dumps(members, separators=(",", ":"), sort_keys=True)
    return _hash(text.encode())


def _hash(data: bytes) -> str:
    return urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _plain_url(url: str) -> str:
    """A URL without query and fragment, in one spelling."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    scheme = parts.scheme.lower()
    host = parts.netloc.lower().removesuffix(_PORTS.get(scheme, ""))
    return f"{scheme}://{host}{parts.path.rstrip('/')}"
