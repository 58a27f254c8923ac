"""Which era a client speaks follows from what the server says to the first question."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dovetail.client import Client
from dovetail.errors import (
    MissingCapabilityError,
    PeerError,
    RpcError,
    UnsupportedVersionError,
    UsageError,
)
from tests.peers.scripted import DISCOVERED, INITIALIZED, Answer, ScriptedServer, run


async def open_and_close(server: ScriptedServer, **options: Any) -> str:
    async with Client(server, **options) as client:
        return client.revision


def test_a_server_that_can_be_discovered_is_modern() -> None:
    server = ScriptedServer({"server/discover": DISCOVERED})
    assert run(open_and_close(server)) == "2026-07-28"
    assert server.methods() == ["server/discover"]


@pytest.mark.parametrize("code", [-32601, -32602, -32600, -32603, -32000, -32002, 0, 1])
def test_any_error_that_is_not_a_modern_one_leads_to_the_handshake(code: int) -> None:
    error = RpcError("no", code=code)
    server = ScriptedServer({"server/discover": error, "initialize": INITIALIZED})
    assert run(open_and_close(server)) == "2025-11-25"
    assert server.methods() == ["server/discover", "initialize", "notifications/initialized"]
    assert server.last("initialize")["params"]["protocolVersion"] == "2025-11-25"


def test_silence_leads_to_the_handshake_and_is_not_cancelled() -> None:
    server = ScriptedServer({"initialize": INITIALIZED})
    assert run(open_and_close(server, timeout=0.05)) == "2025-11-25"
    assert "notifications/cancelled" not in server.methods()


def test_a_discovery_that_makes_no_sense_leads_to_the_handshake() -> None:
    server = ScriptedServer({"server/discover": {}, "initialize": INITIALIZED})
    assert run(open_and_close(server)) == "2025-11-25"


def test_a_discovery_that_names_legacy_revisions_only_leads_to_the_handshake() -> None:
    found = {**DISCOVERED, "supportedVersions": ["2025-11-25"]}
    server = ScriptedServer({"server/discover": found, "initialize": INITIALIZED})
    assert run(open_and_close(server)) == "2025-11-25"


def test_the_code_of_an_unsupported_version_without_the_list_leads_to_the_handshake() -> None:
    error = RpcError("what", code=-32022)
    server = ScriptedServer({"server/discover": error, "initialize": INITIALIZED})
    assert run(open_and_close(server)) == "2025-11-25"


def test_a_version_that_the_server_names_is_taken() -> None:
    error = UnsupportedVersionError("2026-07-28", ["2026-07-28"])
    answers: Iterator[Answer] = iter([error, DISCOVERED])
    server = ScriptedServer({"server/discover": lambda _: next(answers)})
    assert run(open_and_close(server)) == "2026-07-28"
    assert server.methods() == ["server/discover", "server/discover"]


def test_a_legacy_version_that_the_server_names_is_taken() -> None:
    error = UnsupportedVersionError("2026-07-28", ["2031-01-01", "2025-11-25"])
    server = ScriptedServer({"server/discover": error, "initialize": INITIALIZED})
    assert run(open_and_close(server)) == "2025-11-25"


def test_without_a_common_version_nothing_else_is_tried() -> None:
    error = UnsupportedVersionError("2026-07-28", ["2031-01-01"])
    server = ScriptedServer({"server/discover": error, "initialize": INITIALIZED})
    with pytest.raises(PeerError, match="the server speaks 2031-01-01"):
        run(open_and_close(server))
    assert server.methods() == ["server/discover"]


def test_a_modern_server_that_refuses_is_not_taken_for_a_legacy_one() -> None:
    server = ScriptedServer(
        {"server/discover": MissingCapabilityError({"roots": {}}), "initialize": INITIALIZED}
    )
    with pytest.raises(PeerError, match="modern protocol but refuses"):
        run(open_and_close(server))
    assert server.methods() == ["server/discover"]


def test_a_slow_modern_server_that_refuses_the_handshake_is_discovered_again() -> None:
    answers = iter([None, DISCOVERED])
    server = ScriptedServer(
        {
            "server/discover": lambda _: next(answers),
            "initialize": UnsupportedVersionError("2025-11-25", ["2026-07-28"]),
        }
    )
    assert run(open_and_close(server, timeout=0.05)) == "2026-07-28"


def test_an_error_of_the_handshake_is_raised_as_it_is() -> None:
    server = ScriptedServer(
        {
            "server/discover": RpcError("no", code=-32601),
            "initialize": UnsupportedVersionError("2025-11-25", ["1999-01-01"]),
        }
    )
    with pytest.raises(UnsupportedVersionError):
        run(open_and_close(server))


def test_the_modern_mode_never_shakes_hands() -> None:
    server = ScriptedServer({"server/discover": RpcError("no", code=-32601)})
    with pytest.raises(PeerError, match=r"does not speak 2026-07-28.*-32601"):
        run(open_and_close(server, mode="modern"))
    assert server.methods() == ["server/discover"]


def test_the_modern_mode_wants_its_revision_in_the_discovery() -> None:
    server = ScriptedServer({"server/discover": {**DISCOVERED, "supportedVersions": ["2031"]}})
    with pytest.raises(PeerError, match="No protocol version in common"):
        run(open_and_close(server, mode="2026-07-28"))
    error = UnsupportedVersionError("2026-07-28", [])
    with pytest.raises(PeerError, match="the server speaks none"):
        run(open_and_close(ScriptedServer({"server/discover": error}), mode="modern"))


def test_the_legacy_mode_never_discovers() -> None:
    server = ScriptedServer({"initialize": INITIALIZED})
    assert run(open_and_close(server, mode="legacy")) == "2025-11-25"
    assert server.methods() == ["initialize", "notifications/initialized"]


def test_the_legacy_mode_takes_the_revision_that_the_server_offers() -> None:
    server = ScriptedServer({"initialize": {**INITIALIZED, "protocolVersion": "2025-03-26"}})
    assert run(open_and_close(server, mode="legacy")) == "2025-03-26"


@pytest.mark.parametrize("given", ["2026-07-28", "1999-01-01"])
def test_a_handshake_that_ends_in_no_legacy_revision_is_refused(given: str) -> None:
    server = ScriptedServer({"initialize": {**INITIALIZED, "protocolVersion": given}})
    with pytest.raises(PeerError, match=given):
        run(open_and_close(server, mode="legacy"))


def test_a_date_as_mode_insists_on_that_revision() -> None:
    server = ScriptedServer({"initialize": INITIALIZED})
    with pytest.raises(PeerError, match="does not speak 2025-06-18; it offers 2025-11-25"):
        run(open_and_close(server, mode="2025-06-18"))
    assert server.last("initialize")["params"]["protocolVersion"] == "2025-06-18"


def test_an_unknown_mode_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'old'; allowed: auto, modern, legacy, 2024-11-05"):
        Client(ScriptedServer({}), mode="old")
