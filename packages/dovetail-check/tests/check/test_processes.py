"""A check over stdio shares its processes: each start costs the server's author time."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace

from dovetail.spec.revisions import LATEST_LEGACY, REVISIONS
from dovetail_check.audit import Audit, AuditOptions, Progress
from dovetail_check.recording import Recording
from tests.check.saboteur.switch import switches
from tests.check.test_matrix import target_for

NEWEST = AuditOptions(revisions=(LATEST_LEGACY,))


def starts_in(recording: Recording) -> Counter[str]:
    return Counter(frame.line for frame in recording.frames if frame.kind == "started")


def test_a_whole_check_starts_eight_processes() -> None:
    target = target_for(None, "stdio", "")
    recording = asyncio.run(Audit(target, AuditOptions()).run())
    assert starts_in(recording) == {
        "main": len(REVISIONS),
        "offer 2099-01-01": 1,
        "capable": 1,
        "cold": 1,
    }


def test_a_server_that_did_not_survive_an_early_request_is_asked_anew() -> None:
    target = target_for(switches["lifecycle.init.first"], "stdio", "")
    options = replace(NEWEST, probes=("unopened", "asking"))
    recording = asyncio.run(Audit(target, options).run())
    assert starts_in(recording) == {"main": 1, "capable": 2}
    tags = [frame.tag for frame in recording.frames if frame.line == "capable"]
    assert "unopened/early" in tags
    assert "asking/accept" in tags


def test_a_server_that_survived_it_is_asked_in_the_same_process() -> None:
    options = replace(NEWEST, probes=("unopened", "asking"))
    recording = asyncio.run(Audit(target_for(None, "stdio", ""), options).run())
    assert starts_in(recording) == {"main": 1, "capable": 1}
    tags = [frame.tag for frame in recording.frames if frame.line == "capable"]
    assert tags.index("unopened/initialize") < tags.index("asking/accept")


def test_progress_comes_to_its_end() -> None:
    for options in (NEWEST, AuditOptions()):
        progress = Progress()
        asyncio.run(Audit(target_for(None, "stdio", ""), options, progress=progress).run())
        assert progress.done == progress.total > 0
