"""What is kept of a request that became a task, so that another process can run it again."""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct

from dovetail.core.call import Call, Peer
from dovetail.core.principal import Principal
from dovetail.eras.select import Eras
from dovetail.runtime.task_run import TaskCall
from dovetail.spec.models import ClientInfo
from dovetail.stores.tasks import TaskRow
from dovetail.wire import codec

__all__ = ["keep_request", "reopen_request"]


class _KeptRequest(Struct, omit_defaults=True):
    method: str
    params: Raw
    capabilities: dict[str, Any]
    info: ClientInfo | None = None
    log_rank: int | None = None
    # What the caller was allowed; what else is known of it is not kept.
    scopes: list[str] = []
    trusted: bool = False


def keep_request(call: Call) -> bytes:
    """A request as it is kept."""
    peer, principal = call.peer, call.principal
    return codec.encode(
        _KeptRequest(
            call.method,
            Raw(codec.encode(call.params)),
            peer.capabilities,
            peer.info,
            peer.log_rank,
            [] if principal is None else sorted(principal.scopes),
            principal is not None and principal.trusted,
        )
    )


def reopen_request(row: TaskRow, eras: Eras) -> TaskCall | None:
    """The call that a row was made of; None where nothing is kept or nobody serves it now."""
    if not row.request:
        return None
    request = codec.decode_as(_KeptRequest, row.request)
    found = eras.reopen(row.revision, request.method, bytes(request.params))
    if found is None:
        return None
    params, era = found
    peer = Peer(request.info, request.capabilities, request.log_rank)
    call = TaskCall(request.method, params, era, peer)
    if row.owner is not None:
        call.principal = Principal(row.owner, request.scopes, trusted=request.trusted)
    return call
