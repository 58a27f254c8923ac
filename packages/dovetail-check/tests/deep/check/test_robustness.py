"""A rule never raises, whatever a server sent: evidence is spoiled at random and judged again."""

from __future__ import annotations

import asyncio
import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from dovetail_check.audit import Audit, AuditOptions
from dovetail_check.judging import judge_recording
from dovetail_check.recording import Recording
from tests.deep.check.test_matrix import target_for

STRANGE: tuple[Any, ...] = (
    None,
    7,
    -3,
    1.5,
    True,
    "x",
    [],
    ["x"],
    [{}],
    {},
    {"a": 1},
    {"x": {"y": []}},
)


@pytest.fixture(scope="module")
def evidence(saboteur_url: str) -> Recording:
    """A whole check of the healthy server."""
    target = target_for(None, "http", saboteur_url)
    return asyncio.run(Audit(target, AuditOptions()).run())


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside: Any = ()
    if isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, list):
        inside = enumerate(value)
    for key, item in inside:
        yield (*path, key)
        yield from places(item, (*path, key))


def spoil(value: Any, dice: random.Random) -> Any:
    """Take something away or put something strange in its place."""
    found = list(places(value))
    if not found or dice.random() < 0.03:
        return dice.choice(STRANGE)
    *way, last = dice.choice(found)
    holder = value
    for step in way:
        holder = holder[step]
    if dice.random() < 0.2:
        del holder[last]
    else:
        holder[last] = copy.deepcopy(dice.choice(STRANGE))
    return value


def spoil_frames(evidence: Recording, dice: random.Random) -> Recording:
    spoiled = Recording(copy.deepcopy(evidence.frames))
    for frame in spoiled.frames:
        if frame.kind not in ("received", "event") or not frame.text or dice.random() < 0.6:
            continue
        try:
            value = json.loads(frame.text)
        except ValueError:
            continue
        frame.text = json.dumps(spoil(value, dice)) if dice.random() < 0.97 else "no { JSON"
    return spoiled


@pytest.fixture(scope="module")
def rows(evidence: Recording) -> int:
    """How many verdicts a whole check gives."""
    return len(judge_recording(evidence))


@pytest.mark.parametrize("seed", range(6))
def test_spoiled_evidence_gets_a_verdict_for_every_row(
    seed: int, evidence: Recording, rows: int
) -> None:
    assert len(judge_recording(spoil_frames(evidence, random.Random(seed)))) == rows
