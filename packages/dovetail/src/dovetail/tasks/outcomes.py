"""Builds the final row of a task: finished, failed or cancelled."""

from __future__ import annotations

import time
from dataclasses import replace

from dovetail.core.era import Era
from dovetail.errors import InternalError
from dovetail.stores.tasks import TaskRow
from dovetail.tasks.eras import shape_of
from dovetail.tasks.views import Status
from dovetail.wire import codec
from dovetail.wire.messages import Response

__all__ = ["cancelled_row", "failed_row", "finished_row"]


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


def cancelled_row(row: TaskRow) -> TaskRow:
    """Return the row of a task that its client cancelled."""
    ended = _ended(row)
    ended.status = Status.CANCELLED.value
    ended.message = "The task was cancelled by its client."
    return ended


def _ended(row: TaskRow) -> TaskRow:
    return replace(row, updated=time.time(), message=None, asks=None, record=None)
