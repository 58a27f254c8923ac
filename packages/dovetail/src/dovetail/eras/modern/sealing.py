"""Sealed state: bytes that travel through the client and come back unread and unchanged.

The modern era has no session, so what a call has learned so far goes out in `requestState` and
returns with the retry. It is encrypted and authenticated (AES-256-GCM), expires, and is bound to
a digest of whoever and whatever it was made for. A token is base64url, without padding, of

    key id (4) | nonce (12) | encrypted: expiry (8), payload | tag (16)

The module must not know requests, principals or what the payload means.
"""

from __future__ import annotations

import base64
import math
import secrets
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Final

from dovetail.errors import InvalidParamsError, UsageError

__all__ = ["Sealer", "binding_of"]

# nginx takes request bodies up to 1 MiB (client_max_body_size); the token comes back in one.
_MAX_TOKEN: Final = 2**20
# The size of an AES-256 key: a shorter secret would be the weakest part.
_MIN_KEY: Final = 32
_KEY_ID_SIZE: Final = 4
# NIST SP 800-38D: 96 random bits per message are sound for 2**32 messages under one key.
_NONCE_SIZE: Final = 12
_TAG_SIZE: Final = 16
_HEADER: Final = struct.Struct(">d")
_SMALLEST: Final = _KEY_ID_SIZE + _NONCE_SIZE + _HEADER.size + _TAG_SIZE
# One key serves two purposes, kept apart by what is hashed with it (16 bytes at most).
_FOR_SEALING: Final = b"dovetail seal 1"
_FOR_KEY_ID: Final = b"dovetail keyid 1"


class Sealer:
    """Seals with the first key and opens with any: put a new key in front to rotate.

    Without keys a random one is made on first use. Its tokens die with the process and are
    foreign to every other one, so several processes need the same keys.
    """

    def __init__(
        self, keys: Sequence[bytes] = (), *, clock: Callable[[], float] = time.time
    ) -> None:
        for number, key in enumerate(keys, start=1):
            if len(key) < _MIN_KEY:
                raise UsageError(
                    f"Sealing key {number} has {len(key)} bytes; at least {_MIN_KEY} random bytes "
                    "are needed, such as secrets.token_bytes(32)"
                )
        self._keys = tuple(keys)
        self._clock = clock
        self._ciphers: Mapping[bytes, _Cipher] | None = None
        self._first_use = threading.Lock()

    def seal(self, payload: bytes, *, binding: bytes, lifetime: float) -> str:
        """The token that `open` turns back into the payload for `lifetime` seconds."""
        if not (lifetime > 0 and math.isfinite(lifetime)):
            raise UsageError(f"The lifetime of sealed state is a number of seconds, not {lifetime}")
        cipher = next(iter(self._ready_ciphers().values()))
        token = _to_base64url(cipher.encrypt(_pack(payload, self._clock() + lifetime), binding))
        if len(token) > _MAX_TOKEN:
            raise UsageError(
                f"The sealed state has {len(token)} characters; at most {_MAX_TOKEN} can travel"
            )
        return token

    def open(self, text: str, *, binding: bytes) -> bytes:
        """The payload of a token made for the same binding.

        Raises:
            InvalidParamsError: it has expired, or is not valid. The message does not say why:
                whoever forges a token learns nothing from it.
        """
        sealed = _from_base64url(text)
        if sealed is None or len(sealed) < _SMALLEST:
            raise _not_valid()
        cipher = self._ready_ciphers().get(sealed[:_KEY_ID_SIZE])
        opened = cipher.decrypt(sealed, binding) if cipher else None
        if opened is None:
            raise _not_valid()
        return _unpack(opened, self._clock())

    def _ready_ciphers(self) -> Mapping[bytes, _Cipher]:
        """By key id, the sealing one first."""
        if self._ciphers is None:
            # Two threads that each made a random key could not open each other's tokens.
            with self._first_use:
                if self._ciphers is None:
                    self._ciphers = _ciphers_from(self._keys or (secrets.token_bytes(_MIN_KEY),))
        return self._ciphers


def binding_of(*parts: bytes) -> bytes:
    """A digest of the parts in which no two different lists of parts look alike."""
    digest = blake2b(digest_size=32, person=b"dovetail bind 1")
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


class _Cipher:
    """AES-256-GCM under a key derived from one secret."""

    def __init__(self, secret: bytes) -> None:
        # Imported here to keep `import dovetail` light: it costs 6 ms and 8 MB, and most servers
        # never ask their user for anything, so never seal.
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        self.key_id = blake2b(secret, digest_size=_KEY_ID_SIZE, person=_FOR_KEY_ID).digest()
        self._aead = AESGCM(blake2b(secret, digest_size=32, person=_FOR_SEALING).digest())
        self._forged = InvalidTag

    def encrypt(self, plain: bytes, binding: bytes) -> bytes:
        nonce = secrets.token_bytes(_NONCE_SIZE)
        return self.key_id + nonce + self._aead.encrypt(nonce, plain, self.key_id + binding)

    def decrypt(self, sealed: bytes, binding: bytes) -> bytes | None:
        start = _KEY_ID_SIZE + _NONCE_SIZE
        nonce, encrypted = sealed[_KEY_ID_SIZE:start], sealed[start:]
        try:
            return self._aead.decrypt(nonce, encrypted, self.key_id + binding)
        except self._forged:
            return None


def _ciphers_from(keys: Sequence[bytes]) -> Mapping[bytes, _Cipher]:
    ciphers: dict[bytes, _Cipher] = {}
    for cipher in map(_Cipher, keys):
        # Should two ids ever collide (1 in 2**32), the newer key wins and the old tokens die.
        ciphers.setdefault(cipher.key_id, cipher)
    return ciphers


def _pack(payload: bytes, expiry: float) -> bytes:
    # Never compressed: the length of a token would then tell a client that chooses part of
    # the payload (its answers) about the rest of it (what `once` recorded).
    return _HEADER.pack(expiry) + payload


def _unpack(opened: bytes, now: float) -> bytes:
    (expiry,) = _HEADER.unpack_from(opened)
    if now >= expiry:
        raise InvalidParamsError("requestState has expired; send the request again without it")
    return opened[_HEADER.size :]


def _not_valid() -> InvalidParamsError:
    return InvalidParamsError("requestState is not valid; send the request again without it")


def _to_base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _from_base64url(text: str) -> bytes | None:
    if len(text) > _MAX_TOKEN:
        return None
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return None
    # The decoder skips foreign characters and ignores unused bits; one token has one spelling.
    return data if _to_base64url(data) == text else None
