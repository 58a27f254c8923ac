"""A legacy session: what the handshake settled, and the state it starts in."""

from __future__ import annotations

from dovetail.core.call import Peer
from dovetail.eras.legacy.session import LegacySession
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
