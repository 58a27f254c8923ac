"""Finds differences between the transports of a server. No clause forbids them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

from dovetail.spec import keys
from dovetail.wire import codec
from dovetail_check.judging import RowReport
from dovetail_check.probe_sessions import ProbeSession, Run
from dovetail_check.report import Difference
from dovetail_check.verdicts import Verdict

__all__ = ["find_differences"]

# List of the server -> the member that names an item.
_LISTS = {
    "tools": "name",
    "prompts": "name",
    "resources": "uri",
    "resourceTemplates": "uriTemplate",
}
# Verdicts that depend on the behaviour of the server.
_DECIDED = (Verdict.PASS, Verdict.FAIL, Verdict.WARN, Verdict.INFO)
_FINDINGS = frozenset({Verdict.FAIL.value, Verdict.WARN.value})


def find_differences(runs: list[Run], rows: Iterable[RowReport]) -> tuple[Difference, ...]:
    """Compare capabilities, lists and verdicts for each revision."""
    if len(runs) < 2:
        return ()
    found = (*_compare_revisions(runs), *_compare_sessions(runs), *_compare_rows(rows))
    return _merge(found)


def _merge(found: Iterable[Difference]) -> tuple[Difference, ...]:
    """Merge the same difference at several revisions into one."""
    merged: dict[str, Difference] = {}
    for one in found:
        key = f"{one.what} {_canonical(one.sides)}"
        known = merged.get(key)
        dates = one.revision if known is None else f"{known.revision}, {one.revision}"
        merged[key] = Difference(dates, one.what, one.sides)
    return tuple(merged.values())


def _compare_revisions(runs: list[Run]) -> Iterator[Difference]:
    supported = {run.transport: [str(session.revision) for session in run.sessions] for run in runs}
    if len(set(map(tuple, supported.values()))) > 1:
        sides = {transport: ", ".join(dates) or "none" for transport, dates in supported.items()}
        yield Difference("", "revisions supported", sides)


def _compare_sessions(runs: list[Run]) -> Iterator[Difference]:
    sessions = [session for run in runs for session in run.sessions]
    sessions.sort(key=lambda session: session.revision.order)
    for _, group in groupby(sessions, key=lambda session: session.revision.order):
        same = list(group)
        if len(same) < 2:
            continue
        yield from _compare(same, "capabilities", lambda seen: _canonical(seen.capabilities))
        yield from _compare(same, "name and version", _name)
        yield from _compare(same, "instructions", _instructions)
        for kind, key in _LISTS.items():
            yield from _compare_lists(same, kind, key)


def _compare(
    sessions: list[ProbeSession], what: str, read: Callable[[ProbeSession], str]
) -> Iterator[Difference]:
    sides = {session.transport: read(session) for session in sessions}
    if len(set(sides.values())) > 1:
        yield Difference(str(sessions[0].revision), what, sides)


def _compare_lists(sessions: list[ProbeSession], kind: str, key: str) -> Iterator[Difference]:
    lists = {
        session.transport: {str(item.get(key)): _canonical(item) for item in session.listed(kind)}
        for session in sessions
    }
    for name in dict.fromkeys(name for items in lists.values() for name in items):
        sides = {transport: items.get(name, "not listed") for transport, items in lists.items()}
        if len(set(sides.values())) > 1:
            yield Difference(str(sessions[0].revision), f"{kind}: {name}", sides)


def _compare_rows(rows: Iterable[RowReport]) -> Iterator[Difference]:
    for report in rows:
        if report.row.transport != "any":
            continue
        by_revision: dict[str, dict[str, str]] = {}
        for finding in report.findings:
            transport, _, revision = finding.session.partition(" ")
            if finding.verdict in _DECIDED:
                by_revision.setdefault(revision, {})[transport] = finding.verdict.value
        for revision, sides in by_revision.items():
            if len(set(sides.values())) > 1 and not _FINDINGS.isdisjoint(sides.values()):
                yield Difference(revision, f"verdict of {report.row.id}", sides)


def _canonical(value: Any) -> str:
    return codec.encode_canonical(value).decode()


def _opening(session: ProbeSession) -> dict[str, Any]:
    result = session.opening.result if session.opening is not None else None
    return result or {}


def _name(session: ProbeSession) -> str:
    result = _opening(session)
    meta = result.get("_meta")
    info = result.get("serverInfo") or (meta.get(keys.SERVER_INFO) if isinstance(meta, dict) else 0)
    return f"{info.get('name')} {info.get('version')}" if isinstance(info, dict) else ""


def _instructions(session: ProbeSession) -> str:
    return str(_opening(session).get("instructions") or "none")
