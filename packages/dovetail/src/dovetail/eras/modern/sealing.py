"""Sealed state: encrypted tokens that the client stores and returns unchanged.

The modern era has no session, so the state of a call is sent in `requestState` and returned with
the retry. It is encrypted and authenticated (AES-256-GCM), expires, and is bound to a digest of
the principal and the request. A token is base64url, without padding, of

    key id (4) | nonce (12) | encrypted: expiry (8), payload | tag (16)

This module must not depend on requests, principals or the content of the payload.
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

__all__ = ["MIN_KEY_BYTES", "Sealer", "binding_of"]

# nginx limits request bodies to 1 MiB (client_max_body_size), and the token is sent in one.
_MAX_TOKEN: Final = 2**20
# The size of an AES-256 key: a shorter secret would be the weakest part.
MIN_KEY_BYTES: Final = 32
_KEY_ID_SIZE: Final = 4
# NIST SP 800-38D: 96 random bits per message are sound for 2**32 messages under one key.
_NONCE_SIZE: Final = 12
_TAG_SIZE: Final = 16
_HEADER: Final = struct.Struct(">d")
_MIN_SEALED: Final = _KEY_ID_SIZE + _NONCE_SIZE + _HEADER.size + _TAG_SIZE
# One key serves two purposes, kept apart by what is hashed with it (16 bytes at most).
_FOR_SEALING: Final = b"dovetail seal 1"
_FOR_KEY_ID: Final = b"dovetail keyid 1"


class Sealer:
    """Seals with the first key and opens with any key; to rotate, insert a new key first.

    Without keys a random one is created on first use. Its tokens are valid in this process only,
    so several processes need the same keys.
    """

    def __init__(
        self, keys: Sequence[bytes] = (), *, clock: Callable[[], float] = time.time
    ) -> None:
        for number, key in enumerate(keys, start=1):
            if len(key) < MIN_KEY_BYTES:
                raise UsageError(
                    f"Sealing key {number} has {len(key)} bytes; at least {MIN_KEY_BYTES} random "
                    "bytes are needed, such as secrets.token_bytes(32)"
                )
        self._keys = tuple(keys)
        self._source: Callable[[], tuple[bytes, ...]] | None = None
        self._clock = clock
        self._ciphers: Mapping[bytes, _Cipher] | None = None
        self._first_use = threading.Lock()

    def set_default_key(self, key: bytes) -> None:
        """Use this key instead of a random one, if no keys were given."""
        self._keys = self._keys or (key,)

    def follow(self, source: Callable[[], tuple[bytes, ...]]) -> None:
        """Use the keys that `source` returns; it is called before each use, as they may change."""
        self._source = source

    @property
    def keys(self) -> tuple[bytes, ...]:
        """The keys at this moment, the one that seals first; empty with a random one."""
        return self._keys if self._source is None else self._source()

    def seal(self, payload: bytes, *, binding: bytes, lifetime: float) -> str:
        """A token that `open` decrypts for `lifetime` seconds."""
        if not (lifetime > 0 and math.isfinite(lifetime)):
            raise UsageError(f"lifetime must be a positive number of seconds, got {lifetime}")
        cipher = next(iter(self._ready_ciphers().values()))
        token = _to_base64url(cipher.encrypt(_pack(payload, self._clock() + lifetime), binding))
        if len(token) > _MAX_TOKEN:
            raise UsageError(
                f"The sealed state has {len(token)} characters; the limit is {_MAX_TOKEN}"
            )
        return token

    def open(self, text: str, *, binding: bytes) -> bytes:
        """The payload of a token made for the same binding.

        Raises:
            InvalidParamsError: it has expired or is not valid. The message gives no reason, so that
                an attacker learns nothing from it.
        """
        sealed = _from_base64url(text)
        if sealed is None or len(sealed) < _MIN_SEALED:
            raise _not_valid()
        cipher = self._ready_ciphers().get(sealed[:_KEY_ID_SIZE])
        opened = cipher.decrypt(sealed, binding) if cipher else None
        if opened is None:
            raise _not_valid()
        return _unpack(opened, self._clock())

    def _ready_ciphers(self) -> Mapping[bytes, _Cipher]:
        """Ciphers by key id; the first one seals."""
        if self._source is not None and (keys := self._source()) is not self._keys:
            self._keys, self._ciphers = keys, _ciphers_from(keys)
        if self._ciphers is None:
            # Without the lock, two threads could create different random keys.
            with self._first_use:
                if self._ciphers is None:
                    self._ciphers = _ciphers_from(
                        self._keys or (secrets.token_bytes(MIN_KEY_BYTES),)
                    )
        return self._ciphers


def binding_of(*parts: bytes) -> bytes:
    """A digest that differs for any two different lists of parts."""
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
        # If two ids collide (1 in 2**32), the newer key wins and the old tokens become invalid.
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
    # The decoder skips invalid characters and ignores unused bits, so compare with the canonical
    # encoding.
    return data if _to_base64url(data) == text else None
