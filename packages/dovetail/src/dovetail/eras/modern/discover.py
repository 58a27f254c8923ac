"""server/discover: supported versions, capabilities and instructions."""

from __future__ import annotations

from typing import Any

from dovetail.core.call import Call
from dovetail.core.dispatch import MethodHandler, Shaped
from dovetail.core.era import CacheHint
from dovetail.core.identity import Identity
from dovetail.spec.models import DiscoverResult
from dovetail.spec.revisions import MODERN

__all__ = ["discover_methods"]


def discover_methods(identity: Identity, hint: CacheHint) -> dict[str, MethodHandler]:
    """The method handler of server/discover."""

    def discover(call: Call) -> Shaped:
        # versioning.supported-honoured: a version that needs a handshake is not in this list,
        # because a request that names it in `_meta` is not served
        capabilities: dict[str, Any] = identity.capabilities_at(
            call.era.revision, call.link.channels
        )
        result = DiscoverResult(
            supported_versions=[revision.date for revision in MODERN],
            capabilities=capabilities,
            instructions=identity.instructions,
        )
        # caching.public-aware (2026-07-28 server/utilities/caching): a guard's callers differ
        is_guarded = call.services.permission is not None
        return Shaped(result, hint._replace(scope="private") if is_guarded else hint)

    return {"server/discover": MethodHandler(discover)}
