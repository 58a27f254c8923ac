"""Admission of a modern request: the `_meta` that every request carries.

A ladder without side effects; the first rung that breaks decides the error:

    1. `_meta` is there and holds protocolVersion and clientCapabilities    -32602
    2. the version is one we speak                                          -32022
    3. everything in it has the right type                                  -32602

Nothing is remembered between requests (base.stateless.no-prior-context); equal bytes
are only read once, because a client repeats itself.
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

# The keys that only modern requests carry.
_MARKS = frozenset({PROTOCOL_VERSION, CLIENT_CAPABILITIES, CLIENT_INFO})
_NAMESPACE = PREFIX.encode()
# Few clients talk to one process; their `_meta` differs by progress token at most.
_MOST_REMEMBERED = 512
_LONGEST_REMEMBERED = 2048

_SUPPORTED = tuple(revision.date for revision in MODERN)


class Admitted(NamedTuple):
    """A request that may be served."""

    revision: Revision
    peer: Peer


_remembered: dict[bytes, Admitted] = {}


def recall(meta: Raw) -> Admitted | None:
    """What the same bytes were found to be before."""
    return _remembered.get(bytes(meta))


def may_be_modern(raw: bytes | Raw) -> bool:
    """Whether it is worth a closer look: a key of ours may be in there, escaped or not."""
    raw = bytes(raw)
    return _NAMESPACE in raw or b"\\" in raw


def is_modern(meta: Raw | UnsetType) -> bool:
    """Whether `_meta` speaks of a modern client, rightly or wrongly."""
    if meta is UNSET:
        return False
    raw = bytes(meta)
    if not may_be_modern(raw):
        return False
    try:
        # Read, not searched: a key may be escaped, and may stand in a value or deeper down.
        return not _MARKS.isdisjoint(codec.decode_as(dict[str, Raw], raw))
    except msgspec.ValidationError:
        return False


def admit(meta: Raw | UnsetType) -> Admitted | RpcError:
    """The admitted request, or the error that refuses it."""
    raw = b"{}" if meta is UNSET else bytes(meta)
    known = _remembered.get(raw)
    if known is not None:
        return known
    admitted = _admit(raw)
    if isinstance(admitted, Admitted) and len(raw) <= _LONGEST_REMEMBERED:
        if len(_remembered) >= _MOST_REMEMBERED:
            _remembered.clear()
        _remembered[raw] = admitted
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
