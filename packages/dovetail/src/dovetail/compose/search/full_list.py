"""The whole list of tools that a caller may see, mounts and middleware included."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, NamedTuple

from msgspec import Raw

from dovetail.core.call import Call
from dovetail.core.dispatch import MethodHandler
from dovetail.core.era import CacheHint, Encoded
from dovetail.errors import InternalError
from dovetail.spec.models import ListParams
from dovetail.wire import codec

__all__ = ["FullList", "cache_hint", "read_full_list"]

# A mounted proxy may reach a server whose list has no end.
_MAX_PAGES = 1000


class FullList(NamedTuple):
    """All pages of a list as they are encoded; equal lists are equal keys of a cache."""

    pages: tuple[bytes, ...]

    def decode(self) -> list[dict[str, Any]]:
        """Return the bodies of the pages."""
        return [codec.decode_as(dict[str, Any], Raw(page)) for page in self.pages]


async def read_full_list(call: Call, handler: MethodHandler) -> FullList:
    """Return all pages of the list of tools for the caller of `call`."""
    pages: list[bytes] = []
    cursor: str | None = None
    while True:
        outcome = handler.run(_listing_call(call, cursor))
        if isinstance(outcome, Coroutine):
            outcome = await outcome
        body = outcome.body if isinstance(outcome, Encoded) else bytes(outcome)  # type: ignore[arg-type]
        pages.append(body)
        # Most lists have one page, which need not be decoded.
        if b'"nextCursor"' not in body:
            return FullList(tuple(pages))
        cursor = codec.decode_as(dict[str, Any], Raw(body)).get("nextCursor")
        if cursor is None:
            return FullList(tuple(pages))
        if len(pages) >= _MAX_PAGES:
            raise InternalError(f"The list of tools has more than {_MAX_PAGES} pages")


def _listing_call(call: Call, cursor: str | None) -> Call:
    """Return a tools/list call of the same caller."""
    params = ListParams(cursor=cursor, meta=call.params.meta)
    listing = Call(call.id, "tools/list", params, call.era, call.peer)
    listing.services, listing.link = call.services, call.link
    listing.origin, listing.principal = call.origin, call.principal
    return listing


def cache_hint(bodies: list[dict[str, Any]]) -> CacheHint:
    """Return the strictest hint of some pages."""
    is_public = all(body.get("cacheScope") == "public" for body in bodies)
    ttl_ms = min(body.get("ttlMs", 0) for body in bodies)
    return CacheHint(ttl_ms, "public" if is_public else "private")
