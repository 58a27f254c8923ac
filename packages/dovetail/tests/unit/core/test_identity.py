"""Identity: capabilities in the words of each revision."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.core.link import ClientChannels
from dovetail.spec.revisions import (
    REVISIONS,
    V2024_11_05,
    V2025_03_26,
    V2025_11_25,
    V2026_07_28,
    Revision,
)
from tests.unit.fakes import make_identity

DECLARED: dict[str, Any] = {"tools": {"listChanged": True}, "completions": {}}


@pytest.mark.parametrize(
    ("revision", "expected"),
    [
        (V2024_11_05, {"tools": {"listChanged": True}}),
        (V2025_03_26, DECLARED),
        (V2025_11_25, DECLARED),
        (V2026_07_28, {**DECLARED, "extensions": {"com.example/x": {}}}),
    ],
    ids=str,
)
def test_capabilities_are_said_as_the_revision_says_them(
    revision: Revision, expected: dict[str, Any]
) -> None:
    identity = make_identity(DECLARED, extensions={"com.example/x": {}})
    assert identity.capabilities_at(revision) == expected


def test_a_server_without_extensions_has_no_map_of_them() -> None:
    assert make_identity(DECLARED).capabilities_at(V2026_07_28) == DECLARED


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_a_server_without_completions_says_the_same_everywhere(revision: Revision) -> None:
    assert make_identity({"tools": {}}).capabilities_at(revision) == {"tools": {}}


def test_what_is_registered_later_is_declared_later_and_nothing_is_written_back() -> None:
    declared: dict[str, Any] = {"completions": {}}
    identity = make_identity(declared, extensions={"com.example/x": {}})
    for revision in REVISIONS:
        identity.capabilities_at(revision)
    assert declared == {"completions": {}}
    declared["tools"] = {}
    assert "tools" in identity.capabilities_at(V2025_11_25)


def test_what_cannot_reach_a_client_is_not_announced() -> None:
    identity = make_identity({**DECLARED, "logging": {}})
    silent = identity.capabilities_at(V2025_11_25, ClientChannels(changes=False, messages=False))
    assert silent == {"tools": {}, "completions": {}}
    assert "logging" in identity.capabilities_at(V2025_11_25, ClientChannels(changes=False))
