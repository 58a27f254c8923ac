"""A legacy session: what the handshake settled, and the state it starts in."""

from __future__ import annotations

from dovetail.core.call import Peer
from dovetail.eras.legacy.session import LegacySession
from dovetail.runtime.state import open_state
from dovetail.spec.models import ClientInfo
from dovetail.spec.revisions import V2025_06_18

CLIENT = ClientInfo(name="c", version="1")


def test_a_session_starts_greeted_and_not_ready_with_nothing_subscribed() -> None:
    session = LegacySession(V2025_06_18, CLIENT, {"roots": {}}, 3)
    assert not session.ready
    assert session.uris == set()
    assert session.declared == frozenset()
    assert session.back_channel is None
    assert session.revision is V2025_06_18


def test_a_call_sees_the_client_as_the_handshake_and_set_level_left_it() -> None:
    session = LegacySession(V2025_06_18, CLIENT, {"roots": {}}, 3)
    assert session.peer() == Peer(CLIENT, {"roots": {}}, 3)
    session.log_rank = 5
    assert session.peer().log_rank == 5


def test_two_sessions_share_nothing() -> None:
    one, other = (LegacySession(V2025_06_18, CLIENT, {}, None) for _ in range(2))
    one.uris.add("a://b")
    assert other.uris == set()


def test_changes_are_noted_for_other_processes_once_the_session_is_shared() -> None:
    session = LegacySession(V2025_06_18, CLIENT, {}, None)
    session.subscribe("a://early")
    assert session.unshared is None
    session.share("id")
    session.make_ready()
    session.set_log_rank(4)
    session.subscribe("a://b")
    session.unsubscribe("a://early")
    session.watch_task("t")
    assert session.unshared == {
        "ready": b"",
        "log": b"4",
        "uri a://b": b"",
        "uri a://early": None,
        "task t": b"",
    }


def test_all_processes_find_the_values_of_a_shared_session_under_one_owner() -> None:
    one, other, third = (LegacySession(V2025_06_18, CLIENT, {}, None) for _ in range(3))
    store = open_state(None, "test").session_states
    one.share("id")
    other.share("id")
    third.share("another id")
    assert one.own_state(store) == other.own_state(store) != third.own_state(store)
    assert "id" not in (one.own_state(store) or "").split(":")
