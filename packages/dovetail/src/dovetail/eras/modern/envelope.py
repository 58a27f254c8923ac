"""Validation of the `_meta` that every modern request carries.

The checks have no side effects; the first one that fails sets the error:

    1. `_meta` contains protocolVersion and clientCapabilities              -32602
    2. the version is supported                                             -32022
    3. all members have the right type                                      -32602

No state is kept between requests (base.stateless.no-prior-context). Parsed values are cached by
their bytes, because clients send the same `_meta` again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dovetail.core.call import Peer
from dovetail.errors import InvalidParamsError, RpcError, UnsupportedVersionError
from dovetail.features.log_messages import rank_of
from dovetail.spec.keys import (
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    LOG_LEVEL,
    PREFIX,
    PROTOCOL_VERSION,
)
from dovetail.spec.models import ClientInfo
from dovetail.spec.revisions import MODERN, Revision, find_revision
from dovetail.wire import codec

__all__ = ["Admitted", "admit", "is_modern", "may_be_modern", "recall"]

# Keys that only modern requests contain.
_MODERN_KEYS = frozenset({PROTOCOL_VERSION, CLIENT_CAPABILITIES, CLIENT_INFO})
_NAMESPACE = PREFIX.encode()
# Cache limits: a process has few clients, whose `_meta` differs in the progress token at most.
_MAX_CACHED = 512
_MAX_CACHED_BYTES = 2048

_SUPPORTED = tuple(revision.date for revision in MODERN)


class Admitted(NamedTuple):
    """The validated `_meta` of a request."""

    revision: Revision
    peer: Peer


_cache: dict[bytes, Admitted] = {}


def recall(meta: Raw) -> Admitted | None:
    """The cached result for the same bytes, if any."""
    return _cache.get(bytes(meta))


def may_be_modern(raw: bytes | Raw) -> bool:
    """Whether the JSON may contain a modern key, escaped or not; a cheap first check."""
    raw = bytes(raw)
    return _NAMESPACE in raw or b"\\" in raw


def is_modern(meta: Raw | UnsetType) -> bool:
    """Whether `_meta` contains a modern key, with a valid value or not."""
    if meta is UNSET:
        return False
    raw = bytes(meta)
    if not may_be_modern(raw):
        return False
    try:
        # Parsed, not searched: a key may be escaped, and may occur in a value or nested object.
        return not _MODERN_KEYS.isdisjoint(codec.decode_as(dict[str, Raw], raw))
    except msgspec.ValidationError:
        return False


def admit(meta: Raw | UnsetType) -> Admitted | RpcError:
    """The validated `_meta`, or the error that rejects the request."""
    raw = b"{}" if meta is UNSET else bytes(meta)
    known = _cache.get(raw)
    if known is not None:
        return known
    admitted = _admit(raw)
    if isinstance(admitted, Admitted) and len(raw) <= _MAX_CACHED_BYTES:
        if len(_cache) >= _MAX_CACHED:
            _cache.clear()
        _cache[raw] = admitted
    return admitted


def _admit(raw: bytes) -> Admitted | RpcError:
    try:
        meta = codec.decode_as(dict[str, Any], raw)
    except msgspec.ValidationError as error:
        return InvalidParamsError(f"Invalid params: _meta must be an object: {error}")
    # base.reqmeta.missing-32602 (2026-07-28 basic/index)
    missing = [key for key in (PROTOCOL_VERSION, CLIENT_CAPABILITIES) if key not in meta]
    if missing:
        return InvalidParamsError(
            f"Invalid params: _meta lacks {' and '.join(missing)}. Every request at "
            f"{', '.join(_SUPPORTED)} carries both; for an earlier revision send initialize first"
        )
    version = meta[PROTOCOL_VERSION]
    if not isinstance(version, str):
        return InvalidParamsError(f"Invalid params: {PROTOCOL_VERSION} must be a string")
    revision = find_revision(version)
    if revision not in MODERN:
        # versioning.unsupported-32022 (2026-07-28 basic/versioning)
        return UnsupportedVersionError(version[:100], _SUPPORTED)
    return _peer(meta, revision)


def _peer(meta: dict[str, Any], revision: Revision) -> Admitted | RpcError:
    capabilities = meta[CLIENT_CAPABILITIES]
    if not isinstance(capabilities, dict):
        return InvalidParamsError(f"Invalid params: {CLIENT_CAPABILITIES} must be an object")
    info = None
    if CLIENT_INFO in meta:
        try:
            info = msgspec.convert(meta[CLIENT_INFO], ClientInfo)
        except msgspec.ValidationError as error:
            return InvalidParamsError(f"Invalid params: {CLIENT_INFO}: {error}")
    rank = None
    if LOG_LEVEL in meta:
        try:
            rank = rank_of(meta[LOG_LEVEL])
        except InvalidParamsError as error:
            return error
    return Admitted(revision, Peer(info, capabilities, rank))
