from __future__ import annotations

import pytest

from dovetail.spec.revisions import find_revision
from dovetail_check import pages
from dovetail_check.frames import Frame
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import Rule, rules
from dovetail_check.verdicts import Observation

pages.load()


def sights_of(status: int, body: str) -> list[Observation]:
    """What the rule sees where a batch of notifications got this response."""
    revision = find_revision("2025-03-26")
    assert revision is not None
    frames = [
        Frame(n=1, at=0, session="", line="", kind="sent", tag="batch/notifications", text="[]"),
        Frame(n=2, at=0, session="", line="", kind="received", of=1, status=status, text=body),
    ]
    judged_by = rules["batch.http.notifications-202"]
    assert isinstance(judged_by, Rule)
    return [note.observation for note in judged_by.judge(ProbeSession("http", revision, frames))]


@pytest.mark.parametrize(
    ("status", "body", "observation"),
    [
        (202, "", Observation.KEPT),
        (202, "{}", Observation.BROKEN),
        (200, "[]", Observation.BROKEN),
        # As the official SDK, FastMCP and MiniMCP do: 202 is due only where it is accepted.
        (400, '{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}', Observation.UNSETTLED),
    ],
)
def test_a_batch_of_notifications(status: int, body: str, observation: Observation) -> None:
    assert sights_of(status, body) == [observation]
