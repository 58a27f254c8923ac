"""From a recording to verdicts: every row of the inventory ends in exactly one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct

from dovetail_check import pages
from dovetail_check.faults import Fault, fault_of
from dovetail_check.inventory import Requirement, load
from dovetail_check.probe_sessions import ProbeSession, Run
from dovetail_check.recording import Recording
from dovetail_check.rulebook import Rule, RunRule, rules, unjudged
from dovetail_check.verdicts import Note, Verdict, judge

__all__ = ["Finding", "RowReport", "judge_recording"]

_ORDER = list(Verdict)


class Finding(Struct, frozen=True):
    """What one sitting showed of a row."""

    session: str
    verdict: Verdict
    notes: tuple[Note, ...]


class RowReport(Struct, frozen=True):
    """One row and how it ended."""

    row: Requirement
    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    # Why there is no finding.
    reason: str = ""


def judge_recording(
    recording: Recording,
    *,
    only: Collection[str] | None = None,
    attested: Mapping[str, str] | None = None,
    faults: list[Fault] | None = None,
) -> list[RowReport]:
    """The verdict of every row; `only` keeps the rest from being judged.

    `faults` takes what a rule raised, and its row counts as not observed; without it, it is raised.
    """
    pages.load()
    transports = list(dict.fromkeys(frame.session.partition(" ")[0] for frame in recording.frames))
    runs = [Run(transport, recording.frames) for transport in transports]
    return [
        _judge_safely(row, runs, attested or {}, faults)
        for row in load()
        if only is None or row.id in only
    ]


def _judge_safely(
    row: Requirement, runs: list[Run], attested: Mapping[str, str], faults: list[Fault] | None
) -> RowReport:
    try:
        return _judge_row(row, runs, attested)
    except Exception as error:
        if faults is None:
            raise
        faults.append(fault_of(f"rule {row.id}", error))
        reason = "the checker failed here: see the faults of the checker"
        return RowReport(row, Verdict.NOT_OBSERVED, reason=reason)


def _judge_row(row: Requirement, runs: list[Run], attested: Mapping[str, str]) -> RowReport:
    judged_by = rules.get(row.id)
    if judged_by is None:
        if row.id in attested:
            return RowReport(row, Verdict.ATTESTED, reason=attested[row.id])
        if not _is_anywhere(row, runs):
            return RowReport(row, Verdict.NOT_APPLICABLE, reason=_why_nowhere(row))
        if row.testable == "no":
            reason = unjudged.get(row.id, "nobody can see it from outside")
            return RowReport(row, Verdict.NOT_TESTABLE, reason=reason)
        reason = unjudged.get(row.id, "no rule judges it")
        return RowReport(row, Verdict.NOT_OBSERVED, reason=reason)
    findings = tuple(_find(judged_by, row, runs))
    if not findings:
        return RowReport(row, Verdict.NOT_APPLICABLE, reason=_why_nowhere(row))
    verdict = min((finding.verdict for finding in findings), key=_ORDER.index)
    if verdict is Verdict.NOT_OBSERVED and row.id in attested:
        return RowReport(row, Verdict.ATTESTED, findings, attested[row.id])
    return RowReport(row, verdict, findings)


def _find(judged_by: Rule | RunRule, row: Requirement, runs: Iterable[Run]) -> Iterator[Finding]:
    for run in runs:
        if not _is_on(row, run.transport):
            continue
        if isinstance(judged_by, RunRule):
            notes = tuple(judged_by.judge(run))
            yield Finding(run.transport, judge(row, notes), notes)
            continue
        for session in run.doors if judged_by.at_door else run.sessions:
            if session.revision in row.revisions:
                yield _judge_sitting(judged_by, row, session)


def _judge_sitting(judged_by: Rule, row: Requirement, session: ProbeSession) -> Finding:
    notes = tuple(judged_by.judge(session))
    # Which revision would be spoken inside is not known then: one was chosen to judge by.
    is_outside = judged_by.at_door and session.opening is None
    name = f"{session.name}, from outside" if is_outside else session.name
    return Finding(name, judge(row, notes), notes)


def _is_anywhere(row: Requirement, runs: Iterable[Run]) -> bool:
    return any(
        _is_on(row, run.transport) and any(seen.revision in row.revisions for seen in run.sessions)
        for run in runs
    )


def _is_on(row: Requirement, transport: str) -> bool:
    return row.transport in ("any", transport)


def _why_nowhere(row: Requirement) -> str:
    where = "" if row.transport == "any" else f" over {row.transport}"
    return f"the server was not seen to speak {', '.join(row.versions)}{where}"
