"""Whatever a server sends, the rules judge it: none of them raises."""

from __future__ import annotations

import asyncio
import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from dovetail_check.audit import Audit, AuditOptions
from dovetail_check.frames import Frame
from dovetail_check.judging import judge_recording
from dovetail_check.recording import Recording
from tests.deep.check.test_matrix import target_for

# Nothing of this is where it belongs.
STRANGE: list[Any] = [
    *(None, True, 0, -1, 1.5, 10**30, "", "x", "\u2028"),
    *([], [None], [1, "a", {}], [[]], {}, {"a": 1}, {"type": 5}),
    *({"$ref": "#"}, {"$schema": []}, {"type": ["object", 5]}, {"properties": []}),
    *({"required": 5}, {"name": 5}, [{"name": []}], {"x-mcp-header": {}}),
]


@pytest.fixture(scope="module", params=["stdio", "http"])
def recording(request: pytest.FixtureRequest, saboteur_url: str) -> Recording:
    target = target_for(None, request.param, saboteur_url)
    return asyncio.run(Audit(target, AuditOptions()).run())


def places_in(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield way
    members: Any = ()
    if isinstance(value, dict):
        members = value.items()
    elif isinstance(value, list):
        members = enumerate(value)
    for key, inside in members:
        yield from places_in(inside, (*way, key))


def spoil(frame: Frame, dice: random.Random) -> Frame:
    """The same frame with something strange in its message."""
    if frame.kind not in ("received", "event") or not frame.text:
        return frame
    try:
        message = json.loads(frame.text)
    except ValueError:
        return frame
    places = [way for way in places_in(message) if way]
    if not places:
        return frame
    *above, last = dice.choice(places)
    inside = message
    for key in above:
        inside = inside[key]
    inside[last] = copy.deepcopy(dice.choice(STRANGE))
    return msgspec.structs.replace(frame, text=json.dumps(message))


@pytest.mark.parametrize("seed", range(6))
def test_no_rule_raises_whatever_a_server_sent(recording: Recording, seed: int) -> None:
    dice = random.Random(seed)
    spoiled = Recording(spoil(frame, dice) for frame in recording.frames)
    reports = judge_recording(spoiled)
    # It was spoiled indeed.
    assert any(report.verdict.value == "fail" for report in reports)
