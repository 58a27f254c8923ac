"""Which era a request belongs to: each row of the table, with and without a session.

Who asks decides which complaint comes first: a modern request hears of its envelope before
its params, and a method that does not exist is left to the dispatcher's gate.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from dovetail.core.call import Call, Peer
from dovetail.core.options import Options
from dovetail.core.principal import Principal, to_principal
from dovetail.eras.legacy.session import LegacySession
from dovetail.eras.select import Eras, no_batches, speaks_modern
from dovetail.errors import (
    InvalidParamsError,
    InvalidRequestError,
    RpcError,
    UnsupportedVersionError,
    UsageError,
)
from dovetail.spec.keys import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from dovetail.spec.models import CallToolParams, ClientInfo, InitializeParams, Params
from dovetail.spec.revisions import (
    LATEST_LEGACY,
    LEGACY,
    V2025_03_26,
    V2025_06_18,
    V2026_07_28,
    Family,
    Revision,
)
from dovetail.wire import codec
from dovetail.wire.messages import Incoming, Notification, Request
from tests.unit.fakes import make_identity

ERAS = Eras(make_identity(), Options(state_keys=[b"k" * 32]), lambda call, uri: True)
MODERN: dict[str, Any] = {PROTOCOL_VERSION: "2026-07-28", CLIENT_CAPABILITIES: {"roots": {}}}
HELLO: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"roots": {}},
    "clientInfo": {"name": "c", "version": "1"},
}


def session_at(revision: Revision = V2025_06_18) -> LegacySession:
    return LegacySession(revision, ClientInfo(name="c"), {"sampling": {}}, 4)


def open_call(
    method: str,
    params: Any = None,
    *,
    meta: Any = None,
    session: LegacySession | None = None,
    principal: str | None = None,
) -> Call | RpcError:
    if meta is not None:
        params = {**(params or {}), "_meta": meta}
    raw = None if params is None else Raw(json.dumps(params).encode())
    return ERAS.open(Request(b"1", method, raw), session, to_principal(principal))


def opened(*args: Any, **kwargs: Any) -> Call:
    call = open_call(*args, **kwargs)
    assert isinstance(call, Call), call
    return call


def refused(*args: Any, **kwargs: Any) -> RpcError:
    error = open_call(*args, **kwargs)
    assert isinstance(error, RpcError), error
    return error


with_and_without_session = pytest.mark.parametrize(
    "session", [None, session_at()], ids=["before initialize", "in a session"]
)


# -- the rows -----------------------------------------------------------------------------------


@with_and_without_session
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list", None),
        ("tools/call", {"name": "t"}),
        ("server/discover", None),
        ("ping", None),
        ("initialize", HELLO),
        ("no/such", {"a": 1}),
    ],
)
def test_modern_meta_makes_this_request_modern(
    method: str, params: Any, session: LegacySession | None
) -> None:
    call = opened(method, params, meta=MODERN, session=session, principal="alice")
    assert call.era.revision is V2026_07_28
    assert call.peer == Peer(None, {"roots": {}}, None)
    assert call.principal == Principal("alice")


@with_and_without_session
def test_discover_without_meta_is_a_modern_request_without_it(
    session: LegacySession | None,
) -> None:
    error = refused("server/discover", session=session)
    assert isinstance(error, InvalidParamsError)
    assert "_meta lacks" in error.message


@pytest.mark.parametrize("revision", LEGACY, ids=str)
def test_initialize_opens_the_legacy_era_at_the_revision_asked_for(revision: Revision) -> None:
    call = opened("initialize", {**HELLO, "protocolVersion": revision.date})
    assert call.era.revision is revision
    assert isinstance(call.params, InitializeParams)
    assert call.peer == Peer(None, {}, None)


@pytest.mark.parametrize("requested", ["2026-07-28", "1900-01-01"])
def test_initialize_at_any_other_version_gets_the_latest_with_a_handshake(requested: str) -> None:
    assert opened("initialize", {**HELLO, "protocolVersion": requested}).era.revision is (
        LATEST_LEGACY
    )


def test_initialize_in_a_session_stays_in_it() -> None:
    session = session_at()
    call = opened("initialize", HELLO, session=session)
    assert call.era.revision is V2025_06_18


@pytest.mark.parametrize("revision", LEGACY, ids=str)
@pytest.mark.parametrize(
    ("method", "params"), [("tools/call", {"name": "t"}), ("ping", None), ("no/such", [])]
)
def test_anything_else_in_a_session_is_served_at_its_revision(
    method: str, params: Any, revision: Revision
) -> None:
    session = session_at(revision)
    call = opened(method, params or None, session=session)
    assert call.era.revision is revision
    assert call.peer == Peer(ClientInfo(name="c"), {"sampling": {}}, 4)


def test_ping_is_allowed_before_initialize() -> None:
    call = opened("ping")
    assert call.era.revision is LATEST_LEGACY


@pytest.mark.parametrize("method", ["tools/list", "logging/setLevel", "no/such"])
def test_anything_else_before_initialize_is_refused_with_the_way_to_begin(method: str) -> None:
    error = refused(method, {"level": "info"})
    assert isinstance(error, InvalidParamsError)
    assert "_meta lacks" in error.message
    assert "send initialize first" in error.message


# -- which complaint comes first ----------------------------------------------------------------


@with_and_without_session
def test_a_modern_request_hears_of_its_envelope_before_its_params(
    session: LegacySession | None,
) -> None:
    unsupported = {**MODERN, PROTOCOL_VERSION: "1900-01-01"}
    error = refused("tools/call", {"name": 5}, meta=unsupported, session=session)
    assert isinstance(error, UnsupportedVersionError)
    half = {PROTOCOL_VERSION: "2026-07-28"}
    error = refused("tools/call", {"name": 5}, meta=half, session=session)
    assert "_meta lacks" in error.message


@pytest.mark.parametrize(
    ("meta", "session"), [(MODERN, None), (MODERN, session_at()), (None, session_at())]
)
@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("tools/call", {"name": 5}, "Expected `str`, got `int` - at `$.name`"),
        ("tools/call", {}, "Object missing required field `name`"),
        ("tools/list", {"cursor": 5}, "Expected `str | null`, got `int` - at `$.cursor`"),
    ],
)
def test_params_that_do_not_fit_are_refused_in_both_eras(
    method: str, params: Any, said: str, meta: Any, session: LegacySession | None
) -> None:
    error = refused(method, params, meta=meta, session=session)
    assert isinstance(error, InvalidParamsError)
    assert error.message == f"Invalid params: {said}"


def test_params_that_are_left_out_do_not_fit_where_something_is_required() -> None:
    assert isinstance(refused("tools/call", session=session_at()), InvalidParamsError)


@pytest.mark.parametrize(
    ("method", "params", "meta", "session"),
    [
        ("logging/setLevel", {"level": 5}, MODERN, None),
        ("subscriptions/listen", {}, None, session_at()),
        ("initialize", {}, MODERN, None),
    ],
)
def test_a_method_of_the_other_era_is_left_to_the_gate_whatever_its_params(
    method: str, params: Any, meta: Any, session: LegacySession | None
) -> None:
    call = opened(method, params, meta=meta, session=session)
    assert method not in call.era.methods


@pytest.mark.parametrize(
    ("method", "params"), [("initialize", {}), ("initialize", {**HELLO, "clientInfo": 5})]
)
def test_a_handshake_with_bad_params_is_refused(method: str, params: Any) -> None:
    assert isinstance(refused(method, params), InvalidParamsError)


@pytest.mark.parametrize(
    ("method", "session"),
    [("tools/list", session_at()), ("ping", session_at()), ("ping", None), ("tools/list", None)],
)
@pytest.mark.parametrize("meta", [5, [], "x", [PROTOCOL_VERSION]])
def test_a_meta_that_is_no_object_is_refused(
    method: str, session: LegacySession | None, meta: Any
) -> None:
    error = refused(method, meta=meta, session=session)
    assert isinstance(error, InvalidParamsError)
    assert "_meta must be an object" in error.message


def test_of_two_problems_the_first_is_told() -> None:
    error = refused("tools/call", {"name": 5}, meta=7, session=session_at())
    assert "Expected `str`" in error.message


@with_and_without_session
def test_a_notification_sent_as_a_request_is_an_unknown_method(
    session: LegacySession | None,
) -> None:
    params = {"progressToken": "not checked", "progress": "neither"}
    call = opened("notifications/progress", params, meta=MODERN, session=session)
    assert type(call.params) is Params


@with_and_without_session
def test_params_that_are_no_object_are_refused_whoever_made_the_message(
    session: LegacySession | None,
) -> None:
    error = refused("tools/call", [1], session=session)
    assert isinstance(error, InvalidParamsError)
    assert "Expected `object`, got `array`" in error.message


# -- rounds -------------------------------------------------------------------------------------


def test_a_modern_call_ignores_answers_that_were_not_asked_for() -> None:
    call = opened("tools/call", {"name": "t", "inputResponses": {"k": {"a": 1}}}, meta=MODERN)
    assert isinstance(call.params, CallToolParams)
    assert call.record.answers == {}


@pytest.mark.parametrize(
    "params",
    [
        {"name": "t", "requestState": "forged"},
        {"name": "t", "inputResponses": []},
    ],
)
def test_a_bad_state_or_a_bad_answer_refuses_the_request(params: dict[str, Any]) -> None:
    assert isinstance(refused("tools/call", params, meta=MODERN), InvalidParamsError)


def test_a_legacy_call_ignores_what_only_modern_ones_carry() -> None:
    params = {"name": "t", "requestState": "forged", "inputResponses": {"k": {}}}
    assert opened("tools/call", params, session=session_at()).record.answers == {}


# -- sessions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("level", "rank"), [("info", 1), ("error", 4)])
def test_a_new_session_has_a_back_channel_and_what_was_declared_when_it_began(
    level: Any, rank: int
) -> None:
    declared: dict[str, Any] = {"tools": {}}
    eras = Eras(make_identity(declared), Options(log_level=level), lambda call, uri: True)
    params = codec.decode_as(InitializeParams, json.dumps(HELLO).encode())
    session = eras.new_session(V2025_06_18, params)
    assert session.revision is V2025_06_18
    assert session.peer() == Peer(ClientInfo(name="c", version="1"), {"roots": {}}, rank)
    assert session.back_channel is not None
    assert not session.ready
    declared["prompts"] = {}
    assert session.declared == {"tools"}


def test_a_shared_session_asks_under_the_name_of_its_process() -> None:
    params = codec.decode_as(InitializeParams, json.dumps(HELLO).encode())
    session = ERAS.new_session(V2025_06_18, params)
    before = session.back_channel
    ERAS.share_session(session, "id", "a1")
    assert session.back_channel is not None and session.back_channel is not before
    assert session.unshared == {}


@pytest.mark.parametrize("method", ["tools/list", "ping"])
def test_a_request_without_a_session_can_be_served_alone_at_a_revision(method: str) -> None:
    call = ERAS.open(Request(b"1", method), ERAS.stateless_session(V2025_03_26))
    assert isinstance(call, Call)
    assert call.era.revision is V2025_03_26
    # Nobody remembers what its client declared, and nothing can be asked of it.
    assert call.peer == Peer(None, {}, 1)
    assert ERAS.stateless_session(V2025_03_26).back_channel is None


def test_a_handshake_is_a_handshake_also_where_nothing_is_remembered() -> None:
    raw = Raw(json.dumps(HELLO).encode())
    call = ERAS.open(Request(b"1", "initialize", raw), ERAS.stateless_session(V2025_03_26))
    assert isinstance(call, Call)
    assert call.peer == Peer(None, {}, None)


# -- the rest -----------------------------------------------------------------------------------


def test_the_methods_of_both_eras_are_served() -> None:
    assert set(ERAS.methods) == {
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "server/discover",
        "subscriptions/listen",
    }


def test_a_refused_batch_is_told_where_batches_exist() -> None:
    error = no_batches()
    assert isinstance(error, InvalidRequestError)
    assert error.message == (
        "Invalid request: one message at a time; batches exist at 2025-03-26 only"
    )


def test_a_weak_key_is_refused_when_the_server_is_made() -> None:
    with pytest.raises(UsageError, match="at least 32"):
        Eras(make_identity(), Options(state_keys=[b"short"]), lambda call, uri: True)


def test_every_revision_is_served_by_one_of_the_eras() -> None:
    assert {revision.family for revision in (*LEGACY, V2026_07_28)} == set(Family)


# -- which era an HTTP request belongs to -------------------------------------------------------


def heard(params: bytes | None = None, method: str = "tools/list") -> Request:
    return Request(b"1", method, None if params is None else Raw(params))


MODERN_PARAMS = b'{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}'


@pytest.mark.parametrize(
    ("message", "version", "modern"),
    [
        (heard(), "2026-07-28", True),
        (Notification("n"), "2026-07-28", True),
        (Notification("n"), "2025-11-25", False),
        (Notification("n"), None, False),
        (heard(method="server/discover"), None, True),
        (heard(method="server/discover"), "2025-11-25", True),
        (heard(), None, False),
        (heard(), "junk", False),
        (heard(b"{}"), None, False),
        (heard(b'{"_meta":{}}'), None, False),
        (heard(b'{"_meta":5}'), None, False),
        (heard(b"[]"), None, False),
        (heard(b'["io.modelcontextprotocol/protocolVersion"]'), None, False),
        (heard(MODERN_PARAMS), None, True),
        (heard(MODERN_PARAMS), "2025-11-25", True),
    ],
)
def test_an_http_request_tells_its_era_by_its_version_or_its_body(
    message: Incoming, version: str | None, modern: bool
) -> None:
    said = None if version is None else version.encode()
    assert speaks_modern(message, said) is modern
    assert speaks_modern(message, None if said is None else b" " + said) is modern
