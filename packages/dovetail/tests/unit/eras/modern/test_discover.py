"""server/discover: the versions that are really served, and what the server offers now."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from dovetail import Server
from dovetail.core.dispatch import Shaped
from dovetail.core.era import CacheHint
from dovetail.core.principal import Permission
from dovetail.eras.modern.era import discover_methods
from dovetail.spec.revisions import V2026_07_28
from tests.unit.fakes import PlainEra, make_call, make_identity

NO_HINT = CacheHint()


def discover(
    hint: CacheHint = NO_HINT, permission: Permission | None = None, **identity: Any
) -> tuple[dict[str, Any], CacheHint]:
    [(name, handler)] = discover_methods(make_identity(**identity), hint).items()
    assert name == "server/discover"
    call = make_call(name, b"{}", era=PlainEra(V2026_07_28))
    call.services = Server("s").engine._replace(permission=permission)
    shaped = handler.run(call)
    assert isinstance(shaped, Shaped)
    result: dict[str, Any] = json.loads(msgspec.json.encode(shaped.result))
    return result, shaped.hint


def test_a_server_offers_the_versions_that_need_no_handshake() -> None:
    result, _ = discover()
    assert result == {"supportedVersions": ["2026-07-28"], "capabilities": {}}


def test_capabilities_extensions_and_instructions_are_told() -> None:
    result, _ = discover(
        capabilities={"tools": {"listChanged": True}, "completions": {}},
        instructions="be kind",
        extensions={"com.example/x": {"a": 1}},
    )
    assert result["capabilities"] == {
        "tools": {"listChanged": True},
        "completions": {},
        "extensions": {"com.example/x": {"a": 1}},
    }
    assert result["instructions"] == "be kind"


@pytest.mark.parametrize("hint", [CacheHint(), CacheHint(5, "private")])
def test_the_answer_may_be_kept_as_long_as_lists_may(hint: CacheHint) -> None:
    _, told = discover(hint)
    assert told == hint


def test_behind_a_guard_the_answer_is_for_its_caller() -> None:
    assert discover(CacheHint(5, "public"), Permission())[1] == CacheHint(5, "private")
