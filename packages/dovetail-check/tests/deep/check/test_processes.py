"""A check over stdio starts few processes, because each start takes time."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace

from dovetail.spec.revisions import LATEST_LEGACY, REVISIONS
from dovetail_check.audit import Audit, AuditOptions, Progress
from dovetail_check.recording import Recording
from tests.check.saboteur.switch import switches
from tests.deep.check.test_matrix import target_for

NEWEST = AuditOptions(revisions=(LATEST_LEGACY,))


def starts_in(recording: Recording) -> Counter[str]:
    return Counter(frame.connection for frame in recording.frames if frame.kind == "started")


def test_a_whole_check_starts_nine_processes() -> None:
    target = target_for(None, "stdio", "")
    recording = asyncio.run(Audit(target, AuditOptions()).run())
    assert starts_in(recording) == {
        "main": len(REVISIONS),
        "offer 1999-01-01": 1,
        "offer 2099-01-01": 1,
        "full": 1,
        "cold": 1,
    }


def test_a_server_that_exits_after_an_early_request_is_restarted() -> None:
    target = target_for(switches["lifecycle.init.first"], "stdio", "")
    options = replace(NEWEST, probes=("unopened", "asking"))
    recording = asyncio.run(Audit(target, options).run())
    # It exits again when the probe is repeated.
    assert starts_in(recording) == {"main": 1, "full": 3}
    tags = [frame.tag for frame in recording.frames if frame.connection == "full"]
    assert "unopened/early" in tags
    assert "asking/accept" in tags


def test_a_server_that_survives_it_keeps_its_process() -> None:
    options = replace(NEWEST, probes=("unopened", "asking"))
    recording = asyncio.run(Audit(target_for(None, "stdio", ""), options).run())
    assert starts_in(recording) == {"main": 1, "full": 1}
    tags = [frame.tag for frame in recording.frames if frame.connection == "full"]
    assert tags.index("unopened/initialize") < tags.index("asking/accept")


def test_progress_is_complete_at_the_end() -> None:
    for options in (NEWEST, AuditOptions()):
        progress = Progress()
        asyncio.run(Audit(target_for(None, "stdio", ""), options, progress=progress).run())
        assert progress.done == progress.total > 0
