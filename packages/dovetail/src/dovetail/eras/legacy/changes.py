"""ChangeEvent notifications to a legacy session: lists to all, resources to subscribers."""

from __future__ import annotations

from dovetail.eras.legacy.session import Session
from dovetail.eras.legacy.tasks import describe
from dovetail.features.subscriptions import ChangeEvent, ChangeKind
from dovetail.wire import codec

__all__ = ["announce"]


def announce(change: ChangeEvent, session: Session) -> bytes | None:
    """The notification for this session, or None if it should not hear of the change."""
    # lifecycle.operation.capabilities (2025-11-25 basic/lifecycle): only what was negotiated
    if not session.ready or change.what.capability not in session.declared:
        return None
    if change.task is not None:
        if change.task.id not in session.tasks:
            return None
        if change.task.status.is_final:
            session.tasks.discard(change.task.id)
        # tasks.notify, tasks.notify-no-related-meta (2025-11-25 basic/utilities/tasks)
        told = codec.encode(describe(change.task))
        return codec.encode_notification("notifications/tasks/status", told)
    if change.what is not ChangeKind.RESOURCE:
        return codec.encode_notification(change.what.value)
    # resources.updated-only-subscribed (2025-11-25 server/resources)
    if change.uri not in session.uris:
        return None
    return codec.encode_notification(change.what.value, codec.encode({"uri": change.uri}))
