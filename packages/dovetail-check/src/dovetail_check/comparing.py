"""Compares two reports: regressions, improvements and other changes."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from dovetail_check.report import Report, ReportRow
from dovetail_check.verdicts import Observation, Verdict

__all__ = ["Change", "Comparison", "compare_reports"]

_FINDINGS = (Verdict.FAIL, Verdict.WARN)


class Change(Struct, frozen=True):
    """The change of one requirement."""

    id: str
    level: str
    old: str
    new: str
    # The text of the finding: the new one of a regression, the old one of an improvement.
    text: str = ""


class Comparison(Struct, frozen=True, kw_only=True):
    """All differences between two reports."""

    worse: tuple[Change, ...]
    better: tuple[Change, ...]
    other: tuple[Change, ...]
    # Differences of the server, the options or the checker.
    notes: tuple[str, ...] = ()


def compare_reports(old: Report, new: Report) -> Comparison:
    """Compare two reports. Worse means: fails now but not before, or no longer passes."""
    changes = list(_changes(old, new))
    worse = [change for change in changes if _is_worse(change)]
    better = [change for change in changes if _is_worse(_reversed(change))]
    other = [change for change in changes if change not in worse and change not in better]
    return Comparison(
        worse=tuple(worse), better=tuple(better), other=tuple(other), notes=tuple(_notes(old, new))
    )


def _changes(old: Report, new: Report) -> Iterator[Change]:
    for id in {**old.by_id, **new.by_id}:
        before, after = old.by_id.get(id), new.by_id.get(id)
        then = "not tested" if before is None else before.verdict.value
        now = "not tested" if after is None else after.verdict.value
        if then == now:
            # A finding in additional sessions is new as well.
            more = _sessions_with_findings(new, id) - _sessions_with_findings(old, id)
            if not more or before is None:
                continue
            yield Change(id, before.level, then, f"{now} in more sessions", ", ".join(sorted(more)))
            continue
        row = after or before
        assert row is not None
        failing = next(
            (r for r in (after, before) if r is not None and r.verdict in _FINDINGS), None
        )
        yield Change(id, row.level, then, now, "" if failing is None else _first_text(failing))


def _sessions_with_findings(report: Report, id: str) -> set[str]:
    row = report.by_id.get(id)
    found = () if row is None else row.findings
    return {finding.session for finding in found if finding.verdict in _FINDINGS}


def _first_text(row: ReportRow) -> str:
    return next(iter(row.notes_by_text(Observation.VIOLATED)), "")


def _is_worse(change: Change) -> bool:
    failing = [verdict.value for verdict in _FINDINGS]
    if change.new.endswith("in more sessions"):
        return True
    became_broken = change.new in failing and change.old not in failing
    return became_broken or (change.old == "pass" and change.new not in ("pass", "not tested"))


def _reversed(change: Change) -> Change:
    return Change(change.id, change.level, change.new, change.old)


def _notes(old: Report, new: Report) -> Iterator[str]:
    for what in ("targets", "transports", "revisions", "offered", "calls"):
        then, now = getattr(old, what), getattr(new, what)
        if then != now:
            yield f"{what}: {_show(then)} -> {_show(now)}"
    if old.server != new.server:
        yield f"server: {old.server} -> {new.server}"
    if old.tool != new.tool:
        yield f"checker: {_describe(old)} -> {_describe(new)}"
    if len(old.crashes) != len(new.crashes):
        yield f"crashes: {len(old.crashes)} -> {len(new.crashes)}"


def _show(value: object) -> str:
    return ", ".join(value) or "none" if isinstance(value, tuple) else str(value)


def _describe(report: Report) -> str:
    return f"{report.tool.version} with inventory {report.tool.inventory}"
