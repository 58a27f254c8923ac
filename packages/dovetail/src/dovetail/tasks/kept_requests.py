"""Stored requests of tasks, from which another process can run the task again."""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct

from dovetail.core.call import Call, Peer
from dovetail.core.principal import Principal
from dovetail.eras.select import Eras
from dovetail.spec.models import ClientInfo
from dovetail.stores.tasks import TaskRow
from dovetail.tasks.run import TaskCall
from dovetail.wire import codec

__all__ = ["keep_request", "reopen_request"]


class _KeptRequest(Struct, omit_defaults=True):
    method: str
    params: Raw
    capabilities: dict[str, Any]
    info: ClientInfo | None = None
    log_rank: int | None = None
    # The permissions of the caller. Other claims of the principal are not stored.
    scopes: list[str] = []
    trusted: bool = False


def keep_request(call: Call) -> bytes:
    """Encode a request for the task store."""
    peer, principal = call.peer, call.principal
    return codec.encode(
        _KeptRequest(
            call.method,
            Raw(codec.encode(call.received)),
            peer.capabilities,
            peer.info,
            peer.log_rank,
            [] if principal is None else sorted(principal.scopes),
            principal is not None and principal.trusted,
        )
    )


def reopen_request(row: TaskRow, eras: Eras) -> TaskCall | None:
    """Rebuild the call of a row; None if no request is stored or no era serves it any more."""
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
