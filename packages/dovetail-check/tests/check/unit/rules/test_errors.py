from __future__ import annotations

import pytest

from dovetail.spec.revisions import LATEST_LEGACY
from dovetail_check import registry
from dovetail_check.frames import Frame
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import Rule, rules
from dovetail_check.verdicts import Observation

registry.load()

_SENT = '{"jsonrpc":"1.0","id":1,"method":"ping"}'


def observations(status: int, body: str) -> list[Observation]:
    """The observations of the rule for a response to an invalid request."""
    tag = "garbage/wrong-version"
    plain = (("content-type", "application/json" if body.startswith("{") else "text/plain"),)
    frames = [
        Frame(n=1, at=0, session="", connection="", kind="sent", tag=tag, text=_SENT),
        Frame(
            n=2,
            at=0,
            session="",
            connection="",
            kind="received",
            of=1,
            status=status,
            headers=plain,
            text=body,
        ),
    ]
    judged_by = rules["base.error.invalid-request"]
    assert isinstance(judged_by, Rule)
    return [
        note.observation for note in judged_by.judge(ProbeSession("http", LATEST_LEGACY, frames))
    ]


@pytest.mark.parametrize(
    ("status", "body", "observation"),
    [
        (
            400,
            '{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no"}}',
            Observation.SATISFIED,
        ),
        (
            400,
            '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}',
            Observation.VIOLATED,
        ),
        (200, '{"jsonrpc":"2.0","id":1,"result":{}}', Observation.VIOLATED),
        (202, "", Observation.VIOLATED),
        # As the official SDK does with the transport of 2024-11-05.
        (400, "Invalid message", Observation.AMBIGUOUS),
    ],
)
def test_invalid_request(status: int, body: str, observation: Observation) -> None:
    assert observations(status, body) == [observation]
