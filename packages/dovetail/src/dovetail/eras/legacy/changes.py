"""Change notifications to a legacy session: lists to all, resources to subscribers."""

from __future__ import annotations

from msgspec import Raw

from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.eras.legacy.session import LegacySession
from dovetail.wire import codec
from dovetail.wire.messages import Notification

__all__ = ["announce"]


def announce(change: ChangeEvent, session: LegacySession) -> Notification | None:
    """The notification for this session, or None if the change does not concern it."""
    item = change.item
    capability = change.what.capability if item is None else item.capability
    # lifecycle.operation.capabilities (2025-11-25 basic/lifecycle): only what was negotiated
    if not session.ready or capability not in session.declared:
        return None
    if item is not None:
        if item.id not in session.tasks:
            return None
        if item.is_final:
            session.tasks.discard(item.id)
        method, params = item.notification(session.revision)
        return Notification(method, Raw(codec.encode(params)))
    if change.what is not ChangeKind.RESOURCE:
        return Notification(change.what.value)
    # resources.updated-only-subscribed (2025-11-25 server/resources)
    if change.uri not in session.uris:
        return None
    return Notification(change.what.value, Raw(codec.encode({"uri": change.uri})))
