"""The transport of 2024-11-05 is found behind a URL, and told from what is no server at all."""

from __future__ import annotations

import asyncio

import pytest

from dovetail_check.audit import Audit, AuditOptions
from dovetail_check.lines.line import LineError
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


def test_a_url_that_speaks_neither_is_said_to_answer_no_opening(saboteur_url: str) -> None:
    audit = Audit(find_target(f"{saboteur_url}/healthy/nothing", []), ONLY_WALK)
    with pytest.raises(LineError, match="answered no opening"):
        asyncio.run(audit.run())
