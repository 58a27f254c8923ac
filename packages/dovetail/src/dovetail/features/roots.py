"""Roots (client/roots): the folders that a client considers relevant."""

from __future__ import annotations

import msgspec

from dovetail.core.call import Ask, Call
from dovetail.spec.models import Root
from dovetail.wire import codec

__all__ = ["list_roots"]


class _Roots(msgspec.Struct):
    roots: list[Root]


async def list_roots(call: Call, key: str | None) -> list[Root]:
    """Ask the client for its roots."""
    # roots.capability (2025-11-25 client/roots): only if declared
    if not isinstance(call.peer.capabilities.get("roots"), dict):
        raise call.era.undeclared(call, {"roots": {}})
    key = call.record.claim(key, "roots")
    answer = await call.era.ask(call, Ask(key, "roots/list", None))
    try:
        return codec.decode_as(_Roots, answer).roots
    except msgspec.ValidationError as error:
        raise call.era.bad_answer(f"The answer to {key!r} is no list of roots: {error}") from None
