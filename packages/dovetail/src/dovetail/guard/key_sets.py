"""The public keys of an authorization server: fetched when needed, kept, fetched again in time.

A key set is old after `lifetime` seconds: it is fetched again while the old one goes on serving. If
that fails, what is there serves for `patience` seconds; then nobody can be told from anybody. A key
id that is not known may be a new key, so it is worth a look, but not more than one in `cooldown`
seconds: strangers choose what stands in their tokens.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any

from dovetail.errors import TransportError

__all__ = ["KeySet"]

logger = logging.getLogger("dovetail")

# Algorithms by the kind of key they work with; a secret shared with the issuer is none of them.
_KINDS = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}


class KeySet:
    """The keys behind one address, which `fetch` reads."""

    def __init__(
        self,
        fetch: Callable[[], Awaitable[dict[str, Any]]],
        *,
        lifetime: float = 600.0,
        patience: float = 86_400.0,
        cooldown: float = 10.0,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._fetch = fetch
        self._lifetime = lifetime
        self._patience = patience
        self._cooldown = cooldown
        self._clock = clock
        self._keys: list[dict[str, Any]] = []
        self._prepared: dict[tuple[str | None, str], Any] = {}
        self._fetched: float | None = None
        self._tried: float | None = None
        self._fetching: asyncio.Task[None] | None = None

    def find(self, kid: str | None, algorithm: str) -> Any | None:
        """A key that is there and young enough, ready for use."""
        if self._fetched is None or self._clock() - self._fetched > self._lifetime:
            return None
        return self._pick(kid, algorithm)

    async def get(self, kid: str | None, algorithm: str) -> Any | None:
        """A key, fetched if need be; None: there is none. Raises TransportError."""
        if self._is_worth_a_look(kid, algorithm):
            await self._refresh()
        key = self._pick(kid, algorithm)
        age = None if self._fetched is None else self._clock() - self._fetched
        if age is None or age > self._patience:
            raise TransportError("the keys of the authorization server cannot be had")
        if key is None and age > self._lifetime:
            # It may be a new key: nobody can say while the issuer does not answer.
            raise TransportError(
                "the key of the token is not known, and the issuer does not answer"
            )
        return key

    def _is_worth_a_look(self, kid: str | None, algorithm: str) -> bool:
        now = self._clock()
        is_young = self._fetched is not None and now - self._fetched <= self._lifetime
        if is_young and self._pick(kid, algorithm) is not None:
            return False
        return self._tried is None or now - self._tried >= self._cooldown or self._is_fetching

    @property
    def _is_fetching(self) -> bool:
        return self._fetching is not None and not self._fetching.done()

    async def _refresh(self) -> None:
        """Fetch once, however many wait for it."""
        if not self._is_fetching:
            self._tried = self._clock()
            self._fetching = asyncio.get_running_loop().create_task(self._read())
        assert self._fetching is not None
        # One that goes away must not take the answer from the others.
        await asyncio.shield(self._fetching)

    async def _read(self) -> None:
        try:
            document = await self._fetch()
        except TransportError as error:
            logger.warning("the keys of the authorization server stay as they were: %s", error)
            return
        keys = document.get("keys")
        if not isinstance(keys, list):
            logger.warning("the authorization server's keys are no JWK set; they stay as they were")
            return
        self._keys = [key for key in keys if isinstance(key, dict) and _is_for_signatures(key)]
        self._prepared.clear()
        self._fetched = self._clock()

    def _pick(self, kid: str | None, algorithm: str) -> Any | None:
        known = self._prepared.get((kid, algorithm))
        if known is not None:
            return known
        fitting = [
            key
            for key in self._keys
            if key.get("kty") == _KINDS.get(algorithm[:2])
            and key.get("alg", algorithm) == algorithm
            and (kid is None or key.get("kid") == kid)
        ]
        # Without an id only a key that is the only one can be meant.
        if len(fitting) != 1:
            return None
        key = _prepare(fitting[0], algorithm)
        if key is not None:
            self._prepared[kid, algorithm] = key
        return key


def _is_for_signatures(key: dict[str, Any]) -> bool:
    return key.get("use", "sig") == "sig" and key.get("kty") in _KINDS.values()


def _prepare(key: dict[str, Any], algorithm: str) -> Any | None:
    from jwt import PyJWK, PyJWTError  # noqa: PLC0415 - only who takes tokens loads it

    # A private key that somebody has published by mistake is used as the public one it holds.
    public = {name: value for name, value in key.items() if name not in ("d", "p", "q", "k")}
    try:
        return PyJWK(public, algorithm)
    except (PyJWTError, ValueError, TypeError) as error:
        logger.warning("a key of the authorization server cannot be used: %s", type(error).__name__)
        return None
