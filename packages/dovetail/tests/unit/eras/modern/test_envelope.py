"""Admission of modern requests: the ladder rung by rung, and what is remembered of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET, Raw

from dovetail.core.call import Peer
from dovetail.eras.modern import envelope
from dovetail.eras.modern.envelope import Admitted, admit, is_modern
from dovetail.errors import InvalidParamsError, RpcError, UnsupportedVersionError
from dovetail.spec.keys import CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION
from dovetail.spec.models import ClientInfo
from dovetail.spec.revisions import LEGACY, V2026_07_28, Revision

GOOD: dict[str, Any] = {PROTOCOL_VERSION: "2026-07-28", CLIENT_CAPABILITIES: {}}
NO_SUCH = object()


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test starts with nothing remembered."""
    monkeypatch.setattr(envelope, "_cache", {})


def meta(**changes: Any) -> Raw:
    names = {
        "version": PROTOCOL_VERSION,
        "capabilities": CLIENT_CAPABILITIES,
        "info": CLIENT_INFO,
        "level": LOG_LEVEL,
    }
    members = {**GOOD, **{names.get(name, name): value for name, value in changes.items()}}
    return Raw(json.dumps({k: v for k, v in members.items() if v is not NO_SUCH}).encode())


def admitted(raw: Raw) -> Admitted:
    found = admit(raw)
    assert isinstance(found, Admitted), found
    return found


# -- the ladder -------------------------------------------------------------------------------


def test_a_request_with_version_and_capabilities_is_admitted() -> None:
    assert admit(meta()) == Admitted(V2026_07_28, Peer(None, {}, None))


def test_what_the_client_says_of_itself_is_what_the_call_knows() -> None:
    info = {"name": "c", "version": "1", "title": "C", "icons": [{"src": "https://a"}], "x": 1}
    found = admitted(
        meta(capabilities={"elicitation": {"form": {}}}, info=info, level="warning", other=[1])
    )
    assert found.peer == Peer(
        ClientInfo(name="c", version="1", title="C", icons=[{"src": "https://a"}]),
        {"elicitation": {"form": {}}},
        3,
    )


def test_a_client_may_leave_out_its_version() -> None:
    assert admitted(meta(info={"name": "c"})).peer.info == ClientInfo(name="c")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (UNSET, f"_meta lacks {PROTOCOL_VERSION} and {CLIENT_CAPABILITIES}."),
        (Raw(b"{}"), f"_meta lacks {PROTOCOL_VERSION} and {CLIENT_CAPABILITIES}."),
        (Raw(b'{"progressToken":1}'), f"_meta lacks {PROTOCOL_VERSION} and {CLIENT_CAPABILITIES}."),
        (meta(version=NO_SUCH), f"_meta lacks {PROTOCOL_VERSION}."),
        (meta(capabilities=NO_SUCH), f"_meta lacks {CLIENT_CAPABILITIES}."),
        # missing comes before unknown
        (meta(version="1900-01-01", capabilities=NO_SUCH), f"_meta lacks {CLIENT_CAPABILITIES}."),
        (Raw(b"[]"), "_meta must be an object"),
        (Raw(b"null"), "_meta must be an object"),
        (Raw(b'{"a":1e999}'), "_meta must be an object"),
        (meta(version=20260728), f"{PROTOCOL_VERSION} must be a string"),
        (meta(version=None), f"{PROTOCOL_VERSION} must be a string"),
        (meta(version=["2026-07-28"]), f"{PROTOCOL_VERSION} must be a string"),
        (meta(capabilities=None), f"{CLIENT_CAPABILITIES} must be an object"),
        (meta(capabilities=[]), f"{CLIENT_CAPABILITIES} must be an object"),
        (meta(capabilities="roots"), f"{CLIENT_CAPABILITIES} must be an object"),
        (meta(info=None), f"{CLIENT_INFO}: Expected `object`, got `null`"),
        (meta(info="c"), f"{CLIENT_INFO}: Expected `object`, got `str`"),
        (meta(info={}), f"{CLIENT_INFO}: Object missing required field `name`"),
        (meta(info={"name": 5}), f"{CLIENT_INFO}: Expected `str`, got `int`"),
        (meta(level="loud"), "'loud' is not a log level"),
        (meta(level=None), "None is not a log level"),
        (meta(level=3), "3 is not a log level"),
    ],
)
def test_what_is_missing_or_of_a_wrong_type_is_invalid_params(raw: Any, said: str) -> None:
    error = admit(raw)
    assert isinstance(error, InvalidParamsError)
    assert error.message.startswith("Invalid params: ")
    assert said in error.message


def test_a_request_without_meta_is_told_how_an_older_client_would_begin() -> None:
    error = admit(UNSET)
    assert isinstance(error, RpcError)
    assert error.message.endswith("for an earlier revision send initialize first")


@pytest.mark.parametrize("revision", LEGACY, ids=str)
def test_a_version_that_needs_a_handshake_is_not_served_this_way(revision: Revision) -> None:
    error = admit(meta(version=revision.date))
    assert isinstance(error, UnsupportedVersionError)
    assert error.data == {"supported": ["2026-07-28"], "requested": revision.date}


@pytest.mark.parametrize("version", ["1900-01-01", "", "2026-07-28 ", "draft", "9" * 100])
def test_an_unknown_version_is_answered_with_the_known_ones(version: str) -> None:
    error = admit(meta(version=version))
    assert isinstance(error, UnsupportedVersionError)
    assert error.data == {"supported": ["2026-07-28"], "requested": version}


def test_an_endless_version_is_cut() -> None:
    error = admit(meta(version="9" * 100_000))
    assert isinstance(error, UnsupportedVersionError)
    assert error.data["requested"] == "9" * 100


@pytest.mark.parametrize("broken", [{"capabilities": []}, {"info": 5}, {"level": "loud"}])
def test_an_unknown_version_comes_before_the_types_of_the_rest(broken: dict[str, Any]) -> None:
    assert isinstance(admit(meta(version="1900-01-01", **broken)), UnsupportedVersionError)


def test_the_order_of_the_last_rung_is_capabilities_info_level() -> None:
    broken: dict[str, Any] = {"capabilities": [], "info": 5, "level": "loud"}
    for name, said in [
        ("capabilities", CLIENT_CAPABILITIES),
        ("info", CLIENT_INFO),
        ("level", "log level"),
    ]:
        error = admit(meta(**broken))
        assert isinstance(error, InvalidParamsError)
        assert said in error.message
        del broken[name]


# -- what is modern -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "modern"),
    [
        (UNSET, False),
        (Raw(b"{}"), False),
        (Raw(b'{"progressToken":"a"}'), False),
        (meta(), True),
        (meta(version=NO_SUCH), True),
        (meta(capabilities=NO_SUCH), True),
        (meta(version=None, capabilities=7), True),
        (Raw(json.dumps({CLIENT_INFO: 1}).encode()), True),
        # a legacy client may use the other keys of the namespace
        (Raw(json.dumps({LOG_LEVEL: "info"}).encode()), False),
        (Raw(b'{"io.modelcontextprotocol/related-task":{"taskId":"1"}}'), False),
        # some libraries escape every slash
        (Raw(bytes(meta()).replace(b"/", b"\\/")), True),
        (Raw(b'{"io.modelcontextprotocol\\u002fclientInfo":{}}'), True),
        (Raw(b'{"a":"\\n"}'), False),
        # a key in a value or deeper down is none
        (Raw(json.dumps({"note": PROTOCOL_VERSION}).encode()), False),
        (Raw(json.dumps({"a": GOOD}).encode()), False),
        (Raw(json.dumps([PROTOCOL_VERSION]).encode()), False),
        (Raw(json.dumps(PROTOCOL_VERSION).encode()), False),
    ],
)
def test_a_request_is_modern_when_its_meta_has_a_modern_key(raw: Any, modern: bool) -> None:
    assert is_modern(raw) is modern


def test_escaped_keys_are_admitted_like_plain_ones() -> None:
    assert admit(Raw(bytes(meta()).replace(b"/", b"\\/"))) == admit(meta())


# -- what is remembered -------------------------------------------------------------------------


def remembered() -> dict[bytes, Admitted]:
    return envelope._cache


def test_equal_bytes_are_read_once() -> None:
    first = admit(meta(info={"name": "c"}))
    assert admit(meta(info={"name": "c"})) is first
    assert is_modern(meta(info={"name": "c"}))
    assert len(remembered()) == 1


def test_a_refusal_is_not_remembered() -> None:
    for version in ("1900-01-01", 5, NO_SUCH):
        admit(meta(version=version))
    assert remembered() == {}


def test_a_long_meta_is_served_but_not_remembered() -> None:
    admitted(meta(padding="x" * envelope._MAX_CACHED_BYTES))
    assert remembered() == {}


def test_what_is_remembered_is_bounded_however_many_come() -> None:
    most = envelope._MAX_CACHED
    for number in range(2 * most + 3):
        admitted(meta(progressToken=number))
        assert len(remembered()) <= most
    assert len(remembered()) == 3
    assert most * envelope._MAX_CACHED_BYTES <= 2**20
