"""DPoP: tokens that are bound to a key of this client (RFC 9449, SEP-1932; experimental)."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

__all__ = ["ALGORITHM", "DpopKey"]

ALGORITHM = "ES256"
_TYPE = "dpop+jwt"


class DpopKey:
    """A key pair and the nonces that servers asked for."""

    def __init__(self, pem: str | None = None) -> None:
        if pem is None:
            self._key = ec.generate_private_key(ec.SECP256R1())
        else:
            loaded = serialization.load_pem_private_key(pem.encode(), None)
            assert isinstance(loaded, ec.EllipticCurvePrivateKey)
            self._key = loaded
        public: dict[str, Any] = json.loads(
            jwt.algorithms.ECAlgorithm.to_jwk(self._key.public_key())
        )
        self._public = {name: public[name] for name in ("kty", "crv", "x", "y")}
        # Origin -> the last nonce it sent.
        self.nonces: dict[str, str] = {}

    def to_pem(self) -> str:
        """The private key, to be stored with the tokens that are bound to it."""
        return self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode()

    def prove(
        self, method: str, url: str, origin: str, now: float, access_token: str | None = None
    ) -> str:
        """A proof for one request; it cannot be used for another."""
        claims: dict[str, Any] = {
            "jti": secrets.token_urlsafe(16),
            "htm": method,
            "htu": url.partition("?")[0],
            "iat": int(now),
        }
        if access_token is not None:
            digest = hashlib.sha256(access_token.encode()).digest()
            claims["ath"] = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if origin in self.nonces:
            claims["nonce"] = self.nonces[origin]
        return jwt.encode(claims, self._key, ALGORITHM, {"typ": _TYPE, "jwk": self._public})
