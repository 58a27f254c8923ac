"""Baselines: known findings that are accepted, so that only new ones fail a build."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct, structs

from dovetail.errors import UsageError
from dovetail.wire import codec
from dovetail_check.report import Report, count_coverage
from dovetail_check.verdicts import Verdict

__all__ = ["Baseline", "apply_baseline", "baseline_of", "read_baseline", "write_baseline"]

_FINDINGS = (Verdict.FAIL, Verdict.WARN)


class Accepted(Struct, frozen=True, omit_defaults=True):
    """An accepted finding. In sessions that are not listed, it counts as new."""

    id: str
    sessions: tuple[str, ...] = ()
    # Why it is accepted, for people.
    reason: str = ""


class Baseline(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A baseline file."""

    format: int = 1
    accepted: tuple[Accepted, ...] = ()


def baseline_of(report: Report) -> Baseline:
    """Return a baseline that accepts all findings of a report."""
    rows = [
        Accepted(row.id, tuple(f.session for f in row.findings if f.verdict in _FINDINGS))
        for row in report.rows
        if row.verdict in _FINDINGS
    ]
    crashes = [Accepted(crash.id) for crash in report.crashes if crash.counts]
    return Baseline(accepted=(*rows, *crashes))


def write_baseline(report: Report, path: Path) -> None:
    """Write a baseline with all findings; keeps the reasons of an existing file."""
    fresh = baseline_of(report)
    older = read_baseline(path) if path.exists() else Baseline()
    known = {entry.id: entry.reason for entry in older.accepted}
    entries = tuple(structs.replace(e, reason=known.get(e.id, "")) for e in fresh.accepted)
    data = msgspec.json.format(codec.encode(structs.replace(fresh, accepted=entries)), indent=2)
    path.write_bytes(data + b"\n")


def read_baseline(path: Path) -> Baseline:
    """Read a baseline file; raises UsageError."""
    try:
        return codec.decode_as(Baseline, path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except msgspec.ValidationError as error:
        raise UsageError(f"{path} is not a baseline of --write-baseline: {error}") from None


def apply_baseline(report: Report, baseline: Baseline) -> Report:
    """Mark the accepted findings; entries that no longer occur become `stale`."""
    known = {entry.id: entry.sessions for entry in baseline.accepted}
    rows = tuple(
        structs.replace(row, accepted=True)
        if row.verdict in _FINDINGS
        and row.id in known
        and all(f.session in known[row.id] for f in row.findings if f.verdict in _FINDINGS)
        else row
        for row in report.rows
    )
    crashes = tuple(
        structs.replace(crash, accepted=True) if crash.id in known else crash
        for crash in report.crashes
    )
    found = {row.id for row in rows if row.verdict in _FINDINGS} | {crash.id for crash in crashes}
    judged = {row.id for row in rows}
    stale = tuple(
        id
        for id in known
        if id not in found and (id in judged or id.startswith(("crash/", "flood/")))
    )
    coverage = count_coverage(rows)
    return structs.replace(report, rows=rows, coverage=coverage, crashes=crashes, stale=stale)
