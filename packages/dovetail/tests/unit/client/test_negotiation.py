"""Negotiation of the era from the response to server/discover."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from tests.patience import pass_time
from tests.peers.scripted import DISCOVERED, INITIALIZED, Answer, Script, ScriptedServer, run


async def open_and_close(server: ScriptedServer, **options: Any) -> str:
    async with Client(server, **options) as client:
        return client.revision


def test_a_server_that_can_be_discovered_is_modern() -> None:
    server = ScriptedServer({"server/discover": DISCOVERED})
    assert run(open_and_close(server)) == "2026-07-28"
    assert server.methods() == ["server/discover"]


@pytest.mark.parametrize("code", [-32601, -32602, -32600, -32603, -32000, -32002, 0, 1])
def test_any_other_error_leads_to_initialize(code: int) -> None:
    error = RpcError("no", code=code)
    server = ScriptedServer({"server/discover": error, "initialize": INITIALIZED})
    assert run(open_and_close(server)) == "2025-11-25"
    assert server.methods() == ["server/discover", "initialize", "notifications/initialized"]
    assert server.last("initialize")["params"]["protocolVersion"] == "2025-11-25"


def test_a_probe_timeout_leads_to_initialize_without_a_cancellation() -> None:
    script: Script = {"server/discover": lambda _: pass_time(60), "initialize": INITIALIZED}
    server = ScriptedServer(script)
    assert run(open_and_close(server, timeout=60)) == "2025-11-25"
    assert "notifications/cancelled" not in server.methods()


def test_an_invalid_discovery_leads_to_initialize() -> None:
    server = ScriptedServer({"server/discover": {}, "initialize": INITIALIZED})
    assert run(open_and_close(server)) == "2025-11-25"


def test_a_discovery_with_only_legacy_revisions_leads_to_initialize() -> None:
    found = {**DISCOVERED, "supportedVersions": ["2025-11-25"]}
    server = ScriptedServer({"server/discover": found, "initialize": INITIALIZED})
    assert run(open_and_close(server)) == "2025-11-25"


def test_unsupported_version_without_a_list_leads_to_initialize() -> None:
    error = RpcError("what", code=-32022)
    server = ScriptedServer({"server/discover": error, "initialize": INITIALIZED})
    assert run(open_and_close(server)) == "2025-11-25"


def test_a_modern_version_in_the_error_is_used() -> None:
    error = UnsupportedVersionError("2026-07-28", ["2026-07-28"])
    answers: Iterator[Answer] = iter([error, DISCOVERED])
    server = ScriptedServer({"server/discover": lambda _: next(answers)})
    assert run(open_and_close(server)) == "2026-07-28"
    assert server.methods() == ["server/discover", "server/discover"]


def test_a_legacy_version_in_the_error_is_used() -> None:
    error = UnsupportedVersionError("2026-07-28", ["2031-01-01", "2025-11-25"])
    server = ScriptedServer({"server/discover": error, "initialize": INITIALIZED})
    assert run(open_and_close(server)) == "2025-11-25"


def test_without_a_common_version_the_client_gives_up() -> None:
    error = UnsupportedVersionError("2026-07-28", ["2031-01-01"])
    server = ScriptedServer({"server/discover": error, "initialize": INITIALIZED})
    with pytest.raises(PeerError, match="the server supports 2031-01-01"):
        run(open_and_close(server))
    assert server.methods() == ["server/discover"]


def test_a_modern_error_is_not_treated_as_legacy() -> None:
    server = ScriptedServer(
        {"server/discover": MissingCapabilityError({"roots": {}}), "initialize": INITIALIZED}
    )
    with pytest.raises(PeerError, match="modern protocol but rejects"):
        run(open_and_close(server))
    assert server.methods() == ["server/discover"]


def test_a_slow_modern_server_that_rejects_initialize_is_discovered_again() -> None:
    answers: Iterator[Callable[[], Any]] = iter([lambda: pass_time(60), lambda: DISCOVERED])
    server = ScriptedServer(
        {
            "server/discover": lambda _: next(answers)(),
            "initialize": UnsupportedVersionError("2025-11-25", ["2026-07-28"]),
        }
    )
    assert run(open_and_close(server, timeout=60)) == "2026-07-28"


def test_an_error_of_initialize_is_raised_unchanged() -> None:
    server = ScriptedServer(
        {
            "server/discover": RpcError("no", code=-32601),
            "initialize": UnsupportedVersionError("2025-11-25", ["1999-01-01"]),
        }
    )
    with pytest.raises(UnsupportedVersionError):
        run(open_and_close(server))


def test_the_modern_mode_never_initializes() -> None:
    server = ScriptedServer({"server/discover": RpcError("no", code=-32601)})
    with pytest.raises(PeerError, match=r"does not support 2026-07-28.*-32601"):
        run(open_and_close(server, mode="modern"))
    assert server.methods() == ["server/discover"]


def test_the_modern_mode_requires_its_revision_in_the_discovery() -> None:
    server = ScriptedServer({"server/discover": {**DISCOVERED, "supportedVersions": ["2031"]}})
    with pytest.raises(PeerError, match="No common protocol version"):
        run(open_and_close(server, mode="2026-07-28"))
    error = UnsupportedVersionError("2026-07-28", [])
    with pytest.raises(PeerError, match="the server supports none"):
        run(open_and_close(ScriptedServer({"server/discover": error}), mode="modern"))


def test_the_legacy_mode_never_discovers() -> None:
    server = ScriptedServer({"initialize": INITIALIZED})
    assert run(open_and_close(server, mode="legacy")) == "2025-11-25"
    assert server.methods() == ["initialize", "notifications/initialized"]


def test_the_legacy_mode_accepts_the_revision_that_the_server_offers() -> None:
    server = ScriptedServer({"initialize": {**INITIALIZED, "protocolVersion": "2025-03-26"}})
    assert run(open_and_close(server, mode="legacy")) == "2025-03-26"


@pytest.mark.parametrize("given", ["2026-07-28", "1999-01-01"])
def test_initialize_with_an_unknown_revision_is_rejected(given: str) -> None:
    server = ScriptedServer({"initialize": {**INITIALIZED, "protocolVersion": given}})
    with pytest.raises(PeerError, match=given):
        run(open_and_close(server, mode="legacy"))


def test_a_date_as_mode_requires_that_revision() -> None:
    server = ScriptedServer({"initialize": INITIALIZED})
    with pytest.raises(PeerError, match="does not support 2025-06-18; it offers 2025-11-25"):
        run(open_and_close(server, mode="2025-06-18"))
    assert server.last("initialize")["params"]["protocolVersion"] == "2025-06-18"


def test_an_unknown_mode_is_rejected_with_the_allowed_ones() -> None:
    with pytest.raises(UsageError, match=r"'old'; allowed: auto, modern, legacy, 2024-11-05"):
        Client(ScriptedServer({}), mode="old")
