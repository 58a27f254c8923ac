"""A check and its evidence."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from msgspec import structs

from dovetail.errors import UsageError
from dovetail.spec.revisions import REVISIONS
from dovetail_check.compiling import Selection
from dovetail_check.connections.base import UnreachableError
from dovetail_check.running import CheckOptions, find_revisions, replay_evidence, run_check
from dovetail_check.targets import CheckTarget

FILE = str(Path(__file__).parents[4] / "dovetail/tests/peers" / "own_server.py")
COMMAND = (sys.executable, "-m", "dovetail", "run", FILE)
OWN = CheckTarget(transport="stdio", command=COMMAND, env={"CHATTER": "calm and secret"})
PING = CheckOptions(revisions=find_revisions("2025-11-25"), selection=Selection(("ping.*",)))


def test_evidence_judged_again_gives_the_same_report(tmp_path: Path) -> None:
    options = CheckOptions(**{**vars(PING), "evidence": tmp_path / "deep" / "evidence"})
    report = asyncio.run(run_check([OWN], options))
    assert report.by_id["ping.empty-result"].verdict.value == "pass"
    assert options.evidence is not None
    assert replay_evidence(options.evidence, PING) == report
    assert "calm and secret" not in (options.evidence / "frames.ndjson").read_text("utf-8")


def test_the_same_run_twice_gives_the_same_verdicts() -> None:
    one, two = (asyncio.run(run_check([OWN], PING)) for _ in range(2))
    assert [structs.replace(row, findings=()) for row in one.rows] == [
        structs.replace(row, findings=()) for row in two.rows
    ]


@pytest.mark.parametrize(
    ("text", "count"), [("all", len(REVISIONS)), ("latest", 1), ("2025-06-18", 1)]
)
def test_revisions_are_named_in_three_ways(text: str, count: int) -> None:
    assert len(find_revisions(text)) == count


def test_a_revision_that_does_not_exist_is_rejected() -> None:
    with pytest.raises(UsageError, match="unknown revision '2025'; expected all, latest or one of"):
        find_revisions("2025")


def test_no_target_and_two_targets_with_one_transport_are_rejected() -> None:
    with pytest.raises(UsageError, match="no target: pass"):
        asyncio.run(run_check([], PING))
    with pytest.raises(UsageError, match="two targets use stdio"):
        asyncio.run(run_check([OWN, OWN], PING))
    with pytest.raises(UsageError, match="select no requirement"):
        asyncio.run(run_check([OWN], CheckOptions(selection=Selection(("nothing*",)))))


def test_a_server_that_does_not_start_is_not_judged() -> None:
    with pytest.raises(UnreachableError, match="did not start"):
        asyncio.run(run_check([CheckTarget(transport="stdio", command=("no-such-server",))], PING))


def test_a_folder_without_evidence_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no evidence"):
        replay_evidence(tmp_path, PING)
    (tmp_path / "about.json").write_text("{}")
    with pytest.raises(UsageError, match="cannot be read"):
        replay_evidence(tmp_path, PING)
