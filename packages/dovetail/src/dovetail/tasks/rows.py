"""Rows of tasks: the stored request, and the rows of tasks that have ended."""

from __future__ import annotations

import time
from typing import Any

from msgspec import Raw, Struct
from msgspec.structs import replace

from dovetail.core.call import Call, Peer
from dovetail.core.era import Era
from dovetail.core.principal import Principal
from dovetail.eras.select import Eras
from dovetail.errors import InternalError
from dovetail.spec.models import ClientInfo
from dovetail.tasks.eras import shape_of
from dovetail.tasks.run import TaskCall
from dovetail.tasks.store import TaskRow
from dovetail.tasks.views import Status
from dovetail.wire import codec
from dovetail.wire.messages import Response

__all__ = ["cancelled_row", "failed_row", "finished_row", "keep_request", "reopen_request"]


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


def finished_row(row: TaskRow, era: Era, answer: bytes, limit: int) -> TaskRow:
    """Return the row of a task with this response; fails it if the result exceeds `limit` bytes."""
    response = codec.decode(answer)
    assert isinstance(response, Response)  # the dispatcher returns only responses
    ended = _ended(row)
    if response.result is not None and len(bytes(response.result)) > limit:
        # tasks.limits: the size of stored results is limited
        size = len(bytes(response.result))
        text = f"The result is too large to be kept: {size:,} bytes, the limit is {limit:,}."
        return failed_row(row, f"{text} Ask for less.")
    if response.result is not None:
        ended.result = bytes(response.result)
        status, ended.message = shape_of(era).status_of(ended.result)
        ended.status = status.value
    else:
        assert response.error is not None
        ended.status, ended.error = Status.FAILED.value, bytes(response.error)
        ended.message = codec.decode_json(ended.error)["message"]
    return ended


def failed_row(row: TaskRow, reason: str) -> TaskRow:
    """Return the row of a task that failed for this reason."""
    error = InternalError(reason)
    ended = _ended(row)
    ended.status, ended.message = Status.FAILED.value, reason
    ended.error = codec.encode({"code": error.code, "message": error.message})
    return ended


def cancelled_row(row: TaskRow, who: str = "its client") -> TaskRow:
    """Return the row of a task that somebody cancelled."""
    ended = _ended(row)
    ended.status = Status.CANCELLED.value
    ended.message = f"The task was cancelled by {who}."
    return ended


def _ended(row: TaskRow) -> TaskRow:
    return replace(row, updated=time.time(), message=None, asks=None, record=None, request=b"")
