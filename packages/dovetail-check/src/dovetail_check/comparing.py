"""Two reports side by side: what became worse, what became better, what else changed."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from dovetail_check.report import Report, ReportRow
from dovetail_check.verdicts import Observation, Verdict

__all__ = ["Change", "Comparison", "compare_reports"]

_BROKEN = (Verdict.FAIL, Verdict.WARN)


class Change(Struct, frozen=True):
    """One row, then and now."""

    id: str
    level: str
    old: str
    new: str
    # What was said of it: now where it became worse, then where it became better.
    text: str = ""


class Comparison(Struct, frozen=True, kw_only=True):
    """Everything that is not the same."""

    worse: tuple[Change, ...]
    better: tuple[Change, ...]
    other: tuple[Change, ...]
    # Of the server or of the checker.
    notes: tuple[str, ...] = ()


def compare_reports(old: Report, new: Report) -> Comparison:
    """Worse: broken now and not before, or passed before and not now."""
    changes = list(_changes(old, new))
    worse = [change for change in changes if _is_worse(change)]
    better = [change for change in changes if _is_worse(_turned(change))]
    other = [change for change in changes if change not in worse and change not in better]
    return Comparison(
        worse=tuple(worse), better=tuple(better), other=tuple(other), notes=tuple(_notes(old, new))
    )


def _changes(old: Report, new: Report) -> Iterator[Change]:
    for id in {**old.by_id, **new.by_id}:
        before, after = old.by_id.get(id), new.by_id.get(id)
        then = "no row" if before is None else before.verdict.value
        now = "no row" if after is None else after.verdict.value
        if then == now:
            # Broken then and now, but in more places: that is new as well.
            more = _broken_at(new, id) - _broken_at(old, id)
            if not more or before is None:
                continue
            yield Change(id, before.level, then, f"{now} in more places", ", ".join(sorted(more)))
            continue
        row = after or before
        assert row is not None
        broken = next((r for r in (after, before) if r is not None and r.verdict in _BROKEN), None)
        yield Change(id, row.level, then, now, "" if broken is None else _first_text(broken))


def _broken_at(report: Report, id: str) -> set[str]:
    row = report.by_id.get(id)
    found = () if row is None else row.findings
    return {finding.session for finding in found if finding.verdict in _BROKEN}


def _first_text(row: ReportRow) -> str:
    return next(iter(row.said(Observation.BROKEN)), "")


def _is_worse(change: Change) -> bool:
    broken = [verdict.value for verdict in _BROKEN]
    if change.new.endswith("in more places"):
        return True
    became_broken = change.new in broken and change.old not in broken
    return became_broken or (change.old == "pass" and change.new not in ("pass", "no row"))


def _turned(change: Change) -> Change:
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
        yield f"deaths: {len(old.crashes)} -> {len(new.crashes)}"


def _show(value: object) -> str:
    return ", ".join(value) or "none" if isinstance(value, tuple) else str(value)


def _describe(report: Report) -> str:
    return f"{report.tool.version} with inventory {report.tool.inventory}"
