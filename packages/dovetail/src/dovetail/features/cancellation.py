"""Parse notifications/cancelled (basic/utilities/cancellation, basic/patterns/cancellation)."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from dovetail.spec.models import CancelledParams
from dovetail.wire import codec
from dovetail.wire.messages import Notification

__all__ = ["Cancellation", "read_cancellation"]


class Cancellation(NamedTuple):
    """The request to cancel, and the reason."""

    id: bytes
    reason: str


def read_cancellation(message: Notification) -> Cancellation | None:
    """Return the cancellation, None if malformed: those are ignored (cancel.invalid-ignored)."""
    if message.params is None:
        return None
    try:
        params = codec.decode_as(CancelledParams, message.params)
    except msgspec.ValidationError:
        return None
    id = codec.canonical_id(bytes(params.request_id))
    return Cancellation(id, params.reason or "no reason given") if id is not None else None
