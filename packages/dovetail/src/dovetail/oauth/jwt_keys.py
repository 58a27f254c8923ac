"""The public keys of an authorization server: fetched on demand, cached and refreshed.

A key set is stale after `lifetime` seconds and is fetched again. If that fails, the stale set is
used for `patience` seconds; after that no token can be verified. An unknown key id may be a new
key, so it triggers a fetch, but at most one in `cooldown` seconds, because anyone can send tokens
with unknown key ids.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any

from dovetail.errors import TransportError, UsageError

__all__ = ["ALGORITHMS", "SECRET_ALGORITHMS", "KeySet", "StaticKey"]

logger: logging.Logger = logging.getLogger("dovetail")

# Not `none`, and no HMAC algorithms: a public key must never be used as a shared secret.
ALGORITHMS = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
)  # fmt: skip
# For a shared secret, which is used with these algorithms only.
SECRET_ALGORITHMS = ("HS256", "HS384", "HS512")
_MIN_SECRET_BYTES = 32
# Seconds to wait for a new key set if the stale one has the key.
_SHORT_WAIT = 1.0
# The key type for each family of algorithms of a key set, which has no shared secrets.
_KINDS = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}


class StaticKey:
    """One key that never changes: a public key in PEM, or a shared secret."""

    def __init__(self, *, public_key: str | None = None, secret: str | None = None) -> None:
        self._key: Any
        if public_key is not None:
            self._key, self._families = _load_public_key(public_key)
            return
        if secret is None or len(secret.encode()) < _MIN_SECRET_BYTES:
            # Without the secret: the message may be logged.
            raise UsageError(f"secret must have at least {_MIN_SECRET_BYTES} bytes")
        self._key, self._families = secret.encode(), ("HS",)

    def find(self, kid: str | None, algorithm: str) -> Any | None:
        """The key, if it is for this algorithm, whatever its id."""
        # A public key must never be used as a shared secret.
        return self._key if algorithm[:2] in self._families else None

    async def get(self, kid: str | None, algorithm: str) -> Any | None:
        """The same as `find`."""
        return self.find(kid, algorithm)


def _load_public_key(pem: str) -> tuple[Any, tuple[str, ...]]:
    """The key and the families of its algorithms; raises UsageError."""
    # It takes long to import, and few servers have a fixed key.
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa  # noqa: PLC0415

    try:
        key = serialization.load_pem_public_key(pem.encode())
    except (ValueError, TypeError):
        raise UsageError(
            "public_key must be a public key in PEM, -----BEGIN PUBLIC KEY-----"
        ) from None
    for kind, families in (
        (rsa.RSAPublicKey, ("RS", "PS")),
        (ec.EllipticCurvePublicKey, ("ES",)),
        ((ed25519.Ed25519PublicKey, ed448.Ed448PublicKey), ("Ed",)),
    ):
        if isinstance(key, kind):
            return key, families
    raise UsageError(f"public_key must be an RSA, EC or Ed25519 key, got {type(key).__name__}")


class KeySet:
    """The key set that `fetch` returns."""

    def __init__(
        self,
        fetch: Callable[[], Awaitable[dict[str, Any]]],
        *,
        lifetime: float = 600.0,
        patience: float = 86_400.0,
        cooldown: float = 10.0,
        timeout: float = 10.0,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._fetch = fetch
        self._lifetime = lifetime
        self._patience = patience
        self._cooldown = cooldown
        self._timeout = timeout
        self._clock = clock
        self._keys: list[dict[str, Any]] = []
        self._prepared: dict[tuple[str | None, str], Any] = {}
        self._fetched: float | None = None
        self._tried: float | None = None
        self._fetching: asyncio.Task[None] | None = None

    def find(self, kid: str | None, algorithm: str) -> Any | None:
        """A key from the cache if the key set is not stale, else None."""
        if self._fetched is None or self._clock() - self._fetched > self._lifetime:
            return None
        return self._pick(kid, algorithm)

    async def get(self, kid: str | None, algorithm: str) -> Any | None:
        """A key, fetched if needed; None if the issuer has no such key. Raises TransportError."""
        if self._should_fetch(kid, algorithm):
            is_known = self._pick(kid, algorithm) is not None
            await self._refresh(_SHORT_WAIT if is_known else None)
        key = self._pick(kid, algorithm)
        age = None if self._fetched is None else self._clock() - self._fetched
        if age is None or age > self._patience:
            raise TransportError("the keys of the authorization server cannot be fetched")
        if key is None and age > self._lifetime:
            # It may be a new key; that is unknown until the issuer answers.
            raise TransportError("the key of the token is unknown, and the issuer does not answer")
        return key

    def _should_fetch(self, kid: str | None, algorithm: str) -> bool:
        now = self._clock()
        is_fresh = self._fetched is not None and now - self._fetched <= self._lifetime
        if is_fresh and self._pick(kid, algorithm) is not None:
            return False
        return self._tried is None or now - self._tried >= self._cooldown or self._is_fetching

    @property
    def _is_fetching(self) -> bool:
        return self._fetching is not None and not self._fetching.done()

    async def _refresh(self, seconds: float | None) -> None:
        """Fetch the key set, and wait at most so long; concurrent callers share one fetch."""
        if not self._is_fetching:
            self._tried = self._clock()
            self._fetching = asyncio.get_running_loop().create_task(self._read())
        fetching = self._fetching
        assert fetching is not None
        # Cancelling one caller does not cancel the fetch for the others.
        await asyncio.wait([fetching], timeout=seconds)
        if fetching.done():
            fetching.result()

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(self._timeout):
                document = await self._fetch()
        except TimeoutError:
            logger.warning(
                "could not refresh the keys of the authorization server within %g s", self._timeout
            )
            return
        except TransportError as error:
            logger.warning("could not refresh the keys of the authorization server: %s", error)
            return
        keys = document.get("keys")
        if not isinstance(keys, list):
            logger.warning("the authorization server did not return a JWK set; keys not refreshed")
            return
        self._keys = [key for key in keys if isinstance(key, dict) and _is_for_signatures(key)]
        self._prepared.clear()
        self._fetched = self._clock()

    def _pick(self, kid: str | None, algorithm: str) -> Any | None:
        known = self._prepared.get((kid, algorithm))
        if known is not None:
            return known
        matching = [
            key
            for key in self._keys
            if key.get("kty") == _KINDS.get(algorithm[:2])
            and key.get("alg", algorithm) == algorithm
            and (kid is None or key.get("kid") == kid)
        ]
        # Without a key id, the key must be the only one of its type.
        if len(matching) != 1:
            return None
        key = _prepare(matching[0], algorithm)
        if key is not None:
            self._prepared[kid, algorithm] = key
        return key


def _is_for_signatures(key: dict[str, Any]) -> bool:
    return key.get("use", "sig") == "sig" and key.get("kty") in _KINDS.values()


def _prepare(key: dict[str, Any], algorithm: str) -> Any | None:
    from jwt import PyJWK, PyJWTError  # noqa: PLC0415 - optional dependency

    # If a private key was published by mistake, use only its public part.
    public = {name: value for name, value in key.items() if name not in ("d", "p", "q", "k")}
    try:
        return PyJWK(public, algorithm)
    except (PyJWTError, ValueError, TypeError) as error:
        logger.warning(
            "ignored an invalid key of the authorization server: %s", type(error).__name__
        )
        return None
