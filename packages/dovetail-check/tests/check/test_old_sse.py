"""HTTP+SSE of 2024-11-05 is detected from the URL."""

from __future__ import annotations

import asyncio

import pytest

from dovetail_check.audit import Audit, AuditOptions
from dovetail_check.connections.base import UnreachableError
from dovetail_check.probe_sessions import Run
from dovetail_check.targets import find_target

ONLY_WALK = AuditOptions(probes=("walk",))


def test_the_old_transport_is_found_by_its_url(saboteur_url: str) -> None:
    audit = Audit(find_target(f"{saboteur_url}/healthy/sse", []), ONLY_WALK)
    recording = asyncio.run(audit.run())
    assert audit.target.transport == "sse"
    [session] = Run("sse", recording.frames).sessions
    assert session.revision.old_sse
    assert [tool["name"] for tool in session.listed("tools")][:1] == ["add"]


def test_streamable_http_is_not_taken_for_the_old_transport(saboteur_url: str) -> None:
    audit = Audit(find_target(f"{saboteur_url}/healthy/mcp", []), ONLY_WALK)
    asyncio.run(audit.run())
    assert audit.target.transport == "http"


def test_a_url_without_a_server_is_unreachable(saboteur_url: str) -> None:
    audit = Audit(find_target(f"{saboteur_url}/healthy/nothing", []), ONLY_WALK)
    with pytest.raises(UnreachableError, match="accepted no revision"):
        asyncio.run(audit.run())
