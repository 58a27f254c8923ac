"""A legacy session as named fields, which the processes of a cluster share.

handshake     what `initialize` negotiated; never changes
ready         the client has sent `notifications/initialized`
log           the rank of the lowest log level that is sent
uri URI       a subscription
task ID       a task of the client
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from dovetail.eras.legacy.session import LegacySession
from dovetail.spec.models import ClientInfo
from dovetail.spec.revisions import LEGACY
from dovetail.wire import codec

__all__ = [
    "HANDSHAKE",
    "read_session",
    "refresh_session",
    "session_fields",
]

HANDSHAKE = "handshake"
_REVISIONS = {revision.date: revision for revision in LEGACY}


class _Handshake(Struct):
    revision: str
    client: ClientInfo | None
    capabilities: dict[str, Any]
    declared: list[str]
    log_rank: int | None


def session_fields(session: LegacySession) -> dict[str, bytes]:
    """All fields of a session."""
    handshake = _Handshake(
        session.revision.date,
        session.client,
        session.capabilities,
        sorted(session.declared),
        session.log_rank,
    )
    fields = {HANDSHAKE: codec.encode(handshake)}
    if session.ready:
        fields["ready"] = b""
    fields.update((f"uri {uri}", b"") for uri in session.uris)
    fields.update((f"task {id}", b"") for id in session.tasks)
    return fields


def read_session(fields: Mapping[str, bytes]) -> LegacySession | None:
    """The session with these fields; None if this version cannot serve it."""
    handshake = codec.decode_as(_Handshake, fields[HANDSHAKE])
    revision = _REVISIONS.get(handshake.revision)
    if revision is None:
        return None
    session = LegacySession(revision, handshake.client, handshake.capabilities, handshake.log_rank)
    session.declared = frozenset(handshake.declared)
    _change_session(session, fields)
    return session


def _change_session(session: LegacySession, changes: Mapping[str, bytes | None]) -> None:
    """Apply changed fields; None removes one. Unknown fields are ignored."""
    for field, value in changes.items():
        kind, _, name = field.partition(" ")
        change = _CHANGES.get(kind)
        if change is not None:
            change(session, name, value)


def refresh_session(session: LegacySession, fields: Mapping[str, bytes]) -> None:
    """Set what may change to what is stored, except for own changes that are not stored yet."""
    session.uris = {field[4:] for field in fields if field.startswith("uri ")}
    session.tasks = {field[5:] for field in fields if field.startswith("task ")}
    _change_session(session, fields)
    _change_session(session, session.unshared or {})


def _set_ready(session: LegacySession, name: str, value: bytes | None) -> None:
    session.ready = True


def _set_log_rank(session: LegacySession, name: str, value: bytes | None) -> None:
    session.log_rank = int(value or 0)


def _set_uri(session: LegacySession, name: str, value: bytes | None) -> None:
    (session.uris.discard if value is None else session.uris.add)(name)


def _set_task(session: LegacySession, name: str, value: bytes | None) -> None:
    (session.tasks.discard if value is None else session.tasks.add)(name)


_CHANGES: dict[str, Callable[[LegacySession, str, bytes | None], None]] = {
    "ready": _set_ready,
    "log": _set_log_rank,
    "uri": _set_uri,
    "task": _set_task,
}
