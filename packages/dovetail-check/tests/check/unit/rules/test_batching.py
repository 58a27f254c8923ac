from __future__ import annotations

import pytest

from dovetail.spec.revisions import find_revision
from dovetail_check import registry
from dovetail_check.frames import Frame
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import Rule, rules
from dovetail_check.verdicts import Observation

registry.load()


def observations(status: int, body: str) -> list[Observation]:
    """The observations of the rule for a response to a batch of notifications."""
    revision = find_revision("2025-03-26")
    assert revision is not None
    frames = [
        Frame(
            n=1, at=0, session="", connection="", kind="sent", tag="batch/notifications", text="[]"
        ),
        Frame(
            n=2, at=0, session="", connection="", kind="received", of=1, status=status, text=body
        ),
    ]
    judged_by = rules["batch.http.notifications-202"]
    assert isinstance(judged_by, Rule)
    return [note.observation for note in judged_by.judge(ProbeSession("http", revision, frames))]


@pytest.mark.parametrize(
    ("status", "body", "observation"),
    [
        (202, "", Observation.SATISFIED),
        (202, "{}", Observation.VIOLATED),
        (200, "[]", Observation.VIOLATED),
        # As the official SDK, FastMCP and MiniMCP do: 202 is required only for accepted input.
        (400, '{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}', Observation.AMBIGUOUS),
    ],
)
def test_a_batch_of_notifications(status: int, body: str, observation: Observation) -> None:
    assert observations(status, body) == [observation]
