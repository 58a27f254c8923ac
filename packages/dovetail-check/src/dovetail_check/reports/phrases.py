"""Texts that several formats share."""

from __future__ import annotations

from dovetail.wire import codec
from dovetail_check.exchanges import NO_JSON, parse
from dovetail_check.frames import Frame
from dovetail_check.report import Coverage, Crash, Report, ReportRow
from dovetail_check.responsibility import AUTHOR, SDK
from dovetail_check.verdicts import Observation, Verdict

__all__ = [
    "ARROWS",
    "FIXED_BY",
    "coverage_sentence",
    "describe_sessions",
    "frame_body",
    "frame_head",
    "group_crashes",
    "headline",
    "join_sessions",
    "level_words",
    "observed_texts",
    "plural",
    "summary_line",
    "untested_texts",
]

# Who can fix a violation -> heading of the findings.
FIXED_BY = {
    AUTHOR: "In your server",
    SDK: "In the protocol layer, which your SDK implements: report these to its maintainers",
}
# Frame kind -> symbol.
ARROWS = {
    "sent": "→",
    "received": "←",
    "event": "←",
    "stderr": "!",
    "silence": "…",
    "failed": "✗",
    "closed": "✗",
    "ended": "✗",
    "flooded": "✗",
    "stopped": "✗",
    "started": "·",
}


def describe_sessions(report: Report) -> str:
    """Describe the supported transports, revisions and eras."""
    if not report.sessions:
        return "no revision negotiated"
    names = join_sessions([session.name for session in report.sessions])
    return f"{names} ({' and '.join(report.eras)} era)"


def plural(count: int, noun: str) -> str:
    """Return the count and the noun: `1 crash`, `2 crashes`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun}es" if noun.endswith("sh") else f"{count} {noun}s"


def coverage_sentence(coverage: Coverage) -> str:
    """Return the counts of one level as a sentence."""
    parts = [
        f"{coverage.passed} passed",
        f"{coverage.failed} failed",
        plural(coverage.warned, "warning"),
        *([f"{coverage.accepted} accepted"] if coverage.accepted else []),
        *([f"{coverage.info} info"] if coverage.info else []),
        *([f"{coverage.attested} attested"] if coverage.attested else []),
        f"{coverage.not_observed} not observed",
    ]
    level = coverage.level.value.upper()
    return (
        f"{coverage.testable} of {coverage.rows} {level} requirements can be tested from outside, "
        f"{coverage.applicable} apply to this server: {', '.join(parts)}"
    )


def headline(report: Report) -> str:
    """Return the verdict on the server in one sentence."""
    failed, warned = report.count(Verdict.FAIL), report.count(Verdict.WARN)
    counted = [crash for crash in report.crashes if crash.counts and not crash.accepted]
    floods = sum(crash.is_flood for crash in counted)
    crashes = len(counted) - floods
    warnings = f"; {plural(warned, 'warning')}" if warned else ""
    if failed or counted:
        parts = [f"violates {plural(failed, 'MUST requirement')}"] if failed else []
        parts += [f"crashed {_times(crashes)}"] if crashes else []
        parts += [f"sent more than the checker keeps {_times(floods)}"] if floods else []
        rest = "; not everything was tested" if report.untested else ""
        return f"Not compliant: the server {' and '.join(parts)}{warnings}{rest}."
    if report.faults:
        return f"Incomplete: the checker had {plural(len(report.faults), 'internal error')}."
    if report.untested:
        return f"Incomplete: {report.untested[0].reason}{warnings}."
    if report.needs_auth:
        return f"Incomplete: only unauthenticated access was tested{warnings}."
    if warned:
        return f"No violated MUST requirement{warnings}."
    return f"No violations in {plural(report.count(Verdict.PASS), 'tested requirement')}."


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def untested_texts(report: Report) -> list[str]:
    """Return a text for each session in which probes were not finished."""
    return [
        f"{one.session}: {plural(len(one.probes), 'probe')} not finished, because "
        f"{one.reason}: {', '.join(one.probes)}"
        for one in report.untested
    ]


def level_words(row: ReportRow) -> str:
    """Return the level; a derived MUST is marked, because its violation is only a warning."""
    return f"{row.level} (derived)" if row.basis == "derived" else row.level


def group_crashes(report: Report) -> list[list[Crash]]:
    """Group crashes with the same probe and text, in the order of their first occurrence."""
    groups: dict[tuple[str, str, bool], list[Crash]] = {}
    for crash in report.crashes:
        key = (crash.probe, crash.text, crash.counts and not crash.accepted)
        groups.setdefault(key, []).append(crash)
    return list(groups.values())


def summary_line(report: Report) -> str:
    """Return the counts of failures, warnings, crashes and internal errors."""
    parts = [
        f"{report.count(Verdict.FAIL)} failed",
        plural(report.count(Verdict.WARN), "warning"),
    ]
    if report.accepted:
        parts.append(f"{len(report.accepted)} accepted by the baseline")
    floods = sum(crash.is_flood for crash in report.crashes)
    if floods < len(report.crashes):
        parts.append(plural(len(report.crashes) - floods, "crash"))
    if floods:
        parts.append(plural(floods, "flood"))
    if report.untested:
        parts.append("not everything was tested")
    if report.faults:
        parts.append(plural(len(report.faults), "internal error"))
    return ", ".join(parts)


def observed_texts(row: ReportRow) -> list[str]:
    """Return the texts of the notes that explain a verdict, or else the reason."""
    notes = (
        row.notes_by_text(Observation.VIOLATED)
        or row.notes_by_text(Observation.AMBIGUOUS)
        or row.notes_by_text(Observation.NOT_APPLICABLE)
    )
    return [text for text in notes if text] or ([row.reason] if row.reason else [])


def join_sessions(names: list[str]) -> str:
    """Join session names: `stdio 2025-06-18, 2025-11-25; http 2025-11-25`."""
    by_transport: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        transport, _, revision = name.partition(" ")
        by_transport.setdefault(transport, []).append(revision)
    return "; ".join(
        f"{transport} {', '.join(dates)}".strip() for transport, dates in by_transport.items()
    )


def frame_head(frame: Frame) -> str:
    """Return the first line of an HTTP message, or a description of another frame."""
    if frame.kind == "sent" and frame.url:
        return f"{frame.method or 'POST'} {frame.url}"
    if frame.kind == "received" and frame.status is not None:
        return f"HTTP {frame.status}"
    if frame.kind == "ended" and frame.status is not None:
        return f"the process exited with status {frame.status}"
    return {
        "event": f"event {frame.event or 'message'}",
        "silence": "no reply before the timeout",
        "ended": "end of the stream",
        "closed": "closed by the checker",
    }.get(frame.kind, "")


def frame_body(frame: Frame) -> str:
    """Return the body as text; JSON without insignificant whitespace."""
    if frame.base64 is not None:
        return f"(base64) {frame.base64}"
    value = parse(frame.data) if frame.text else NO_JSON
    return (frame.text or "") if value is NO_JSON else codec.encode(value).decode()
