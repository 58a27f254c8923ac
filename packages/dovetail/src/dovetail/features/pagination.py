"""Pages of lists (server/utilities/pagination), encoded once per revision and cursor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dovetail.core.call import Call
from dovetail.core.era import CacheHint, Encoded
from dovetail.core.principal import visibility_of
from dovetail.core.registry import Registry
from dovetail.spec.models import ListParams
from dovetail.spec.revisions import Revision

__all__ = ["answer_page"]

T = TypeVar("T")

# Cursors are not secret: a client that makes up many of them must not fill the memory.
_MOST_CACHED_PAGES = 1024


def answer_page(
    call: Call,
    registry: Registry[T],
    member: str,
    listed: Callable[[T, Revision], dict[str, Any]],
    hint: CacheHint,
) -> Encoded:
    """Return one page of a list, from the registry's cache if possible."""
    params: ListParams = call.params  # type: ignore[assignment]
    revision = call.era.revision
    # Callers that see the same entries share the encoded page.
    is_guarded = call.services.permission is not None
    visibility = visibility_of(call, registry) if registry.scopes or is_guarded else None
    key = (revision.order, params.cursor, visibility, is_guarded)
    body = registry.encoded.get(key)
    if body is None:
        page = registry.page(params.cursor, visibility)
        result: dict[str, Any] = {member: [listed(entry, revision) for entry in page.entries]}
        if page.next_cursor is not None:
            result["nextCursor"] = page.next_cursor
        if visibility is not None or is_guarded:
            # caching.public-aware (2026-07-28 server/utilities/caching): callers differ
            hint = hint._replace(scope="private")
        body = call.era.complete(result, hint)
        if len(registry.encoded) >= _MOST_CACHED_PAGES:
            registry.encoded.clear()
        registry.encoded[key] = body
    return Encoded(body)
