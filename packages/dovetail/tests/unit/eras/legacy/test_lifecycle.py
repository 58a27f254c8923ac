"""initialize, ping, setLevel, subscribe: negotiation and what a session remembers."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.core.call import Call
from dovetail.core.link import ClientChannels
from dovetail.eras.legacy import lifecycle
from dovetail.eras.legacy.era import era_of
from dovetail.eras.legacy.lifecycle import legacy_methods, negotiate
from dovetail.eras.legacy.session import LegacySession
from dovetail.errors import (
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    MethodNotFoundError,
    ResourceNotFoundError,
)
from dovetail.spec.models import InitializeParams
from dovetail.spec.revisions import (
    LATEST_LEGACY,
    LEGACY,
    V2024_11_05,
    V2025_06_18,
    V2025_11_25,
    Revision,
)
from tests.unit.fakes import FakeLink, make_call, make_identity, session_in
from tests.unit.fakes import in_session as put_in_session

CAPABILITIES: dict[str, Any] = {"tools": {"listChanged": True}, "completions": {}}
HELLO = (
    b'{"protocolVersion":"x","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}'
)


def run(call: Call, **identity: Any) -> Any:
    methods = legacy_methods(
        make_identity(CAPABILITIES, **identity), lambda call, uri: uri.startswith("a://")
    )
    return methods[call.method].run(call)


def in_session(method: str, params: bytes) -> Call:
    call = make_call(method, params, era=era_of(V2025_11_25))
    put_in_session(call, LegacySession(V2025_11_25, None, {}, 3))
    return call


def link_of(call: Call) -> FakeLink:
    link = call.link
    assert isinstance(link, FakeLink)
    return link


# -- negotiation ------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", LEGACY, ids=str)
def test_a_revision_with_a_handshake_is_echoed(revision: Revision) -> None:
    assert negotiate(revision.date) is revision


@pytest.mark.parametrize("requested", ["2026-07-28", "1900-01-01", "", "latest", "2025-11-25 "])
def test_anything_else_is_answered_with_the_latest_that_has_one(requested: str) -> None:
    assert negotiate(requested) is LATEST_LEGACY


# -- initialize -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("revision", "expected"),
    [
        (
            V2024_11_05,
            {
                "protocolVersion": "2024-11-05",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "s", "version": "1"},
            },
        ),
        (
            V2025_06_18,
            {
                "protocolVersion": "2025-06-18",
                "capabilities": CAPABILITIES,
                "serverInfo": {"name": "s", "version": "1", "title": "S"},
            },
        ),
        (
            V2025_11_25,
            {
                "protocolVersion": "2025-11-25",
                "capabilities": CAPABILITIES,
                "serverInfo": {
                    "name": "s",
                    "version": "1",
                    "title": "S",
                    "description": "a server",
                },
            },
        ),
    ],
    ids=str,
)
def test_initialize_says_who_the_server_is_in_the_words_of_the_revision(
    revision: Revision, expected: dict[str, Any]
) -> None:
    call = make_call("initialize", HELLO, era=era_of(revision))
    assert run(call) == expected
    [(started, params)] = link_of(call).started
    assert started is revision
    assert isinstance(params, InitializeParams)
    assert (params.client_info.name, params.capabilities) == ("c", {"roots": {}})


def test_instructions_are_sent_where_there_are_some() -> None:
    call = make_call("initialize", HELLO, era=era_of(V2025_11_25))
    assert run(call, instructions="be kind")["instructions"] == "be kind"


def test_a_session_is_initialized_once() -> None:
    call = in_session("initialize", HELLO)
    with pytest.raises(InvalidRequestError, match="initialized already"):
        run(call)
    assert link_of(call).started == []


# -- the others -------------------------------------------------------------------------------


def test_ping_is_answered_with_nothing() -> None:
    assert run(make_call("ping", b"{}", era=era_of(V2025_11_25))) == {}
    assert run(in_session("ping", b"{}")) == {}


@pytest.mark.parametrize(("level", "rank"), [("debug", 0), ("warning", 3), ("emergency", 7)])
def test_set_level_is_remembered_by_the_session(level: str, rank: int) -> None:
    call = in_session("logging/setLevel", b'{"level":"%b"}' % level.encode())
    assert run(call) == {}
    assert session_in(call).peer().log_rank == rank


def test_an_unknown_level_is_refused_and_changes_nothing() -> None:
    call = in_session("logging/setLevel", b'{"level":"loud"}')
    with pytest.raises(InvalidParamsError, match="'loud' is not a log level"):
        run(call)
    assert session_in(call).log_rank == 3


@pytest.mark.parametrize(
    ("method", "params"),
    [("logging/setLevel", b'{"level":"debug"}'), ("resources/subscribe", b'{"uri":"a://b"}')],
)
def test_a_session_that_several_clients_share_remembers_nothing(method: str, params: bytes) -> None:
    call = in_session(method, params)
    session_in(call).is_kept = False
    assert run(call) == {}
    assert (session_in(call).log_rank, session_in(call).uris) == (3, set())


def test_a_subscription_lasts_until_it_is_taken_back() -> None:
    call = in_session("resources/subscribe", b'{"uri":"a://b"}')
    assert run(call) == {}
    assert run(call) == {}
    assert session_in(call).uris == {"a://b"}
    other = in_session("resources/unsubscribe", b'{"uri":"a://b"}')
    put_in_session(other, session_in(call))
    assert run(other) == {}
    assert session_in(call).uris == set()
    assert run(other) == {}


def test_a_resource_that_is_not_there_cannot_be_subscribed_to() -> None:
    uri = "b://" + "x" * 3000
    call = in_session("resources/subscribe", b'{"uri":"%b"}' % uri.encode())
    with pytest.raises(ResourceNotFoundError) as caught:
        run(call)
    assert caught.value.data == {"uri": uri[:2000]}
    assert session_in(call).uris == set()


def test_these_methods_and_no_others_are_of_this_era_alone() -> None:
    methods = legacy_methods(make_identity(), lambda call, uri: True)
    assert set(methods) == {
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
    }


def test_subscriptions_of_one_client_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "_MAX_SUBSCRIPTIONS", 1)
    call = in_session("resources/subscribe", b'{"uri":"a://b"}')
    session_in(call).uris = {"a://c"}
    with pytest.raises(InternalError, match="limit of 1 subscriptions"):
        run(call)
    session_in(call).uris = {"a://b"}
    assert run(call) == {}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/subscribe", b'{"uri":"a://b"}'),
        ("resources/unsubscribe", b'{"uri":"a://b"}'),
        ("logging/setLevel", b'{"level":"debug"}'),
    ],
)
def test_who_cannot_be_told_anything_is_told_so(method: str, params: bytes) -> None:
    call = in_session(method, params)
    assert isinstance(call.link, FakeLink)
    call.link.channels = ClientChannels(changes=False, messages=False)
    with pytest.raises(MethodNotFoundError, match="is not served here"):
        run(call)
