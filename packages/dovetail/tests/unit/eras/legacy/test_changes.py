"""Changes reach sessions that are ready, and single resources only those who subscribed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.eras.legacy.era import announce
from dovetail.eras.legacy.session import LegacySession
from dovetail.spec.revisions import LATEST_LEGACY, V2025_11_25
from dovetail.tasks.views import Status, TaskView
from dovetail.wire import codec

LISTS = [ChangeKind.TOOLS, ChangeKind.PROMPTS, ChangeKind.RESOURCES]


def session_with(*uris: str, ready: bool = True) -> LegacySession:
    session = LegacySession(V2025_11_25, None, {}, None)
    session.ready = ready
    session.declared = frozenset({"tools", "prompts", "resources"})
    session.uris.update(uris)
    return session


def heard(change: ChangeEvent, session: LegacySession) -> Any:
    message = announce(change, session)
    return None if message is None else json.loads(codec.encode_message(message))


@pytest.mark.parametrize("what", LISTS)
def test_a_list_that_changed_is_told_to_every_ready_session(what: ChangeKind) -> None:
    assert heard(ChangeEvent(what), session_with()) == {"jsonrpc": "2.0", "method": what.value}


@pytest.mark.parametrize("what", LISTS)
def test_a_list_that_was_not_declared_at_the_handshake_is_not_spoken_of(what: ChangeKind) -> None:
    session = session_with()
    session.declared = frozenset({"logging"})
    assert heard(ChangeEvent(what), session) is None


def test_a_resource_that_changed_is_told_to_whoever_subscribed() -> None:
    change = ChangeEvent(ChangeKind.RESOURCE, 'a://"b"')
    assert heard(change, session_with('a://"b"')) == {
        "jsonrpc": "2.0",
        "method": "notifications/resources/updated",
        "params": {"uri": 'a://"b"'},
    }
    assert heard(change, session_with("a://other")) is None
    assert heard(change, session_with()) is None


@pytest.mark.parametrize(
    "change", [*map(ChangeEvent, LISTS), ChangeEvent(ChangeKind.RESOURCE, "a://b")]
)
def test_nothing_is_told_before_the_client_is_ready(change: ChangeEvent) -> None:
    assert heard(change, session_with("a://b", ready=False)) is None


def test_a_session_hears_of_its_own_tasks_until_they_have_ended() -> None:
    session = LegacySession(LATEST_LEGACY, None, {}, None)
    session.ready, session.declared = True, frozenset({"tasks"})
    working = TaskView("a", Status.WORKING, 0, 1, 1000, 50)
    assert announce(ChangeEvent(ChangeKind.ITEM, "a", working), session) is None
    session.tasks.add("a")
    told = announce(ChangeEvent(ChangeKind.ITEM, "a", working), session)
    assert told is not None and told.method == "notifications/tasks/status"
    assert session.tasks == {"a"}
    ended = TaskView("a", Status.FAILED, 0, 1, 1000, 50)
    assert announce(ChangeEvent(ChangeKind.ITEM, "a", ended), session) is not None
    assert session.tasks == set()
