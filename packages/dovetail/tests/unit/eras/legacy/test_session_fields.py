"""A legacy session as fields that other processes read."""

from __future__ import annotations

from dovetail.eras.legacy.session import LegacySession
from dovetail.eras.legacy.session_fields import (
    HANDSHAKE,
    read_session,
    refresh_session,
    session_fields,
)
from dovetail.spec.models import ClientInfo
from dovetail.spec.revisions import V2025_06_18


def make_session() -> LegacySession:
    session = LegacySession(
        V2025_06_18, ClientInfo(name="c", version="1"), {"roots": {"listChanged": True}}, 3
    )
    session.declared = frozenset({"tools", "resources"})
    return session


def test_a_session_is_read_from_its_fields() -> None:
    session = make_session()
    session.ready = True
    session.uris.add("a://b c")
    session.tasks.add("t")
    read = read_session(session_fields(session))
    assert read is not None
    assert read.revision is V2025_06_18
    assert read.peer() == session.peer()
    assert read.declared == session.declared
    assert read.ready
    assert read.uris == {"a://b c"}
    assert read.tasks == {"t"}


def test_a_session_before_its_notification_is_not_ready() -> None:
    read = read_session(session_fields(make_session()))
    assert read is not None
    assert not read.ready


def test_changes_of_a_shared_session_have_the_same_effect_elsewhere() -> None:
    session = make_session()
    other = read_session(session_fields(session))
    assert other is not None
    session.share("id")
    session.make_ready()
    session.set_log_rank(5)
    session.subscribe("a://b")
    session.subscribe("a://c")
    session.unsubscribe("a://b")
    session.watch_task("t")
    refresh_session(other, {**session_fields(session), "log": b"5"})
    assert session_fields(other) == session_fields(session)
    assert other.log_rank == 5
    refresh_session(other, {})
    assert (other.tasks, other.uris) == (set(), set())


def test_own_changes_are_not_undone_before_they_are_stored() -> None:
    session = make_session()
    session.share("id")
    stored = {**session_fields(session), "uri a://b": b"", "task t": b""}
    session.unsubscribe("a://b")
    session.subscribe("a://c")
    session.watch_task("u")
    refresh_session(session, stored)
    assert session.uris == {"a://c"}
    assert session.tasks == {"t", "u"}


def test_unknown_fields_are_ignored_and_unknown_revisions_refused() -> None:
    fields = session_fields(make_session())
    assert read_session({**fields, "later": b"1"}) is not None
    fields[HANDSHAKE] = fields[HANDSHAKE].replace(b"2025-06-18", b"2020-01-01")
    assert read_session(fields) is None
