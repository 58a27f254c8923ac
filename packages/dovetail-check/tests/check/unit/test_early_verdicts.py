from __future__ import annotations

from dovetail_check import registry
from dovetail_check.audit import Progress
from dovetail_check.early_verdicts import EarlyVerdicts
from dovetail_check.recording import Recording
from dovetail_check.verdicts import Verdict


def test_a_rule_is_judged_once_after_its_probe_is_finished_in_all_sessions() -> None:
    registry.load()
    found: list[tuple[str, Verdict]] = []
    progress = Progress()
    # The second rule reads all traffic, so it is judged in the report only.
    wanted = {"ping.empty-result", "base.core"}

    def note(id: str, verdict: Verdict) -> None:
        found.append((id, verdict))

    progress.on_probe = EarlyVerdicts(Recording(), wanted, progress, note).judge
    progress.plan(["ping", "ping", "tasks"])
    assert progress.total == 3
    progress.finish("ping")
    assert found == []
    progress.finish("ping")
    assert found == [("ping.empty-result", Verdict.NOT_APPLICABLE)]
    progress.finish("tasks")
    assert len(found) == 1
