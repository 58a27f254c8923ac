"""Applies the rules to a recording: every requirement gets exactly one verdict."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct

from dovetail_check import registry
from dovetail_check.faults import Fault, fault_of
from dovetail_check.inventory import Requirement, load
from dovetail_check.probe_sessions import ProbeSession, Run
from dovetail_check.recording import Recording
from dovetail_check.rulebook import Rule, RunRule, rules, unjudged
from dovetail_check.verdicts import Note, Verdict, judge

__all__ = ["Finding", "RowReport", "judge_recording"]

_ORDER = list(Verdict)
_NEEDS_FIXTURE = "only certain traffic shows it, which did not occur"


class Finding(Struct, frozen=True):
    """The verdict of one requirement in one session."""

    session: str
    verdict: Verdict
    notes: tuple[Note, ...]


class RowReport(Struct, frozen=True):
    """One requirement and its verdict."""

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
    """Return the verdict of every requirement, or of those in `only`.

    If a rule raises, the verdict is "not observed" and the exception is added to `faults`; without
    `faults` it is raised.
    """
    registry.load()
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
        reason = "the rule failed with an internal error of the checker"
        return RowReport(row, Verdict.NOT_OBSERVED, reason=reason)


def _judge_row(row: Requirement, runs: list[Run], attested: Mapping[str, str]) -> RowReport:
    judged_by = rules.get(row.id)
    if judged_by is None:
        if row.id in attested:
            return RowReport(row, Verdict.ATTESTED, reason=attested[row.id])
        if not _is_relevant(row, runs):
            return RowReport(row, Verdict.NOT_APPLICABLE, reason=_why_not_applicable(row))
        if not row.is_testable:
            usual = "it cannot be tested from outside" if row.testable == "no" else _NEEDS_FIXTURE
            return RowReport(row, Verdict.NOT_TESTABLE, reason=unjudged.get(row.id, usual))
        reason = unjudged.get(row.id, "there is no rule for it")
        return RowReport(row, Verdict.NOT_OBSERVED, reason=reason)
    findings = tuple(_find(judged_by, row, runs))
    if not findings:
        return RowReport(row, Verdict.NOT_APPLICABLE, reason=_why_not_applicable(row))
    verdict = min((finding.verdict for finding in findings), key=_ORDER.index)
    if verdict is Verdict.NOT_OBSERVED and row.id in attested:
        return RowReport(row, Verdict.ATTESTED, findings, attested[row.id])
    if verdict is Verdict.NOT_OBSERVED and not row.is_testable:
        return RowReport(row, Verdict.NOT_TESTABLE, findings, _NEEDS_FIXTURE)
    return RowReport(row, verdict, findings)


def _find(judged_by: Rule | RunRule, row: Requirement, runs: Iterable[Run]) -> Iterator[Finding]:
    for run in runs:
        if not _uses_transport(row, run.transport):
            continue
        if isinstance(judged_by, RunRule):
            notes = tuple(judged_by.judge(run))
            yield Finding(run.transport, judge(row, notes), notes)
            continue
        for session in run.pre_auth_sessions if judged_by.pre_auth else run.sessions:
            if session.revision in row.revisions:
                yield _judge_session(judged_by, row, session)


def _judge_session(judged_by: Rule, row: Requirement, session: ProbeSession) -> Finding:
    notes = tuple(judged_by.judge(session))
    # Without credentials, no revision was negotiated; the newest offered one is assumed.
    is_unauthenticated = judged_by.pre_auth and session.opening is None
    name = f"{session.name}, unauthenticated" if is_unauthenticated else session.name
    return Finding(name, judge(row, notes), notes)


def _is_relevant(row: Requirement, runs: Iterable[Run]) -> bool:
    return any(
        _uses_transport(row, run.transport)
        and any(seen.revision in row.revisions for seen in run.sessions)
        for run in runs
    )


def _uses_transport(row: Requirement, transport: str) -> bool:
    return row.transport in ("any", transport)


def _why_not_applicable(row: Requirement) -> str:
    where = "" if row.transport == "any" else f" over {row.transport}"
    return f"the server does not support {', '.join(row.versions)}{where}"
