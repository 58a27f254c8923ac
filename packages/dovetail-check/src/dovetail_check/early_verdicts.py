"""Verdicts while a check runs: a rule is judged once the probes that it reads are finished.

They are for display. The report judges every rule again, with all traffic.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from dovetail_check.audit import Progress
from dovetail_check.judging import judge_recording
from dovetail_check.recording import Recording
from dovetail_check.rulebook import rules
from dovetail_check.verdicts import Verdict

__all__ = ["EarlyVerdicts"]


class EarlyVerdicts:
    """Calls `on_verdict` for each rule that names the probes it reads."""

    def __init__(
        self,
        recording: Recording,
        wanted: Collection[str],
        progress: Progress,
        on_verdict: Callable[[str, Verdict], None],
    ) -> None:
        self._recording = recording
        self._progress = progress
        self._on_verdict = on_verdict
        self._waiting = {id: rules[id].reads for id in wanted if id in rules and rules[id].reads}

    def judge(self) -> None:
        """Judge the rules whose probes are finished."""
        is_pending = self._progress.is_pending
        ready = [id for id, reads in self._waiting.items() if not any(map(is_pending, reads))]
        if not ready:
            return
        for id in ready:
            del self._waiting[id]
        # A fault of a rule is in the report.
        for row in judge_recording(self._recording, only=set(ready), faults=[]):
            self._on_verdict(row.row.id, row.verdict)
