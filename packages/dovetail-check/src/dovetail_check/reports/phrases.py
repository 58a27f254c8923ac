"""Words and sentences that several formats share."""

from __future__ import annotations

from dovetail.wire import codec
from dovetail_check.exchanges import NO_JSON, parse
from dovetail_check.frames import Frame
from dovetail_check.report import Coverage, Report, ReportRow
from dovetail_check.verdicts import Observation, Verdict

__all__ = [
    "ARROWS",
    "coverage_sentence",
    "describe_spoken",
    "frame_body",
    "frame_head",
    "join_sessions",
    "plural",
    "short_sum",
    "what_was_seen",
]

# Which way a frame went, or what it is.
ARROWS = {
    "sent": "→",
    "received": "←",
    "event": "←",
    "stderr": "!",
    "silence": "…",
    "failed": "✗",
    "closed": "✗",
    "ended": "✗",
    "started": "·",
}


def describe_spoken(report: Report) -> str:
    """The revisions that were agreed on, over which transports, and their eras."""
    if not report.sessions:
        return "no revision was agreed on"
    spoken = join_sessions([session.name for session in report.sessions])
    return f"{spoken} ({' and '.join(report.eras)} era)"


def plural(count: int, noun: str) -> str:
    """`1 row`, `2 rows`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun[:-1]}ies" if noun.endswith("y") else f"{count} {noun}s"


def coverage_sentence(coverage: Coverage) -> str:
    """How much could be said at a level."""
    parts = [
        f"{coverage.passed} passed",
        f"{coverage.broken} broken",
        *([f"{coverage.info} undecided"] if coverage.info else []),
        *([f"{coverage.attested} attested"] if coverage.attested else []),
        f"{coverage.not_observed} not observed",
    ]
    level = coverage.level.value.upper()
    return (
        f"{coverage.outside} of {coverage.rows} {level} rows can be judged from outside, "
        f"{coverage.applies} apply here: {', '.join(parts)}"
    )


def short_sum(report: Report) -> str:
    """The closing line."""
    parts = [
        f"{report.count(Verdict.FAIL)} failed",
        plural(report.count(Verdict.WARN), "warning"),
    ]
    if report.accepted:
        parts.append(f"{len(report.accepted)} accepted by the baseline")
    if report.crashes:
        parts.append(plural(len(report.crashes), "crash"))
    if report.faults:
        parts.append(f"{plural(len(report.faults), 'fault')} of the checker")
    return ", ".join(parts)


def what_was_seen(row: ReportRow) -> list[str]:
    """What the notes of a row that did not pass say; the reason where there are none."""
    said = (
        row.said(Observation.BROKEN)
        or row.said(Observation.UNSETTLED)
        or row.said(Observation.ABSENT)
    )
    return [text for text in said if text] or ([row.reason] if row.reason else [])


def join_sessions(names: list[str]) -> str:
    """`stdio 2025-06-18, 2025-11-25; http 2025-11-25`."""
    by_transport: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        transport, _, revision = name.partition(" ")
        by_transport.setdefault(transport, []).append(revision)
    return "; ".join(
        f"{transport} {', '.join(dates)}".strip() for transport, dates in by_transport.items()
    )


def frame_head(frame: Frame) -> str:
    """The first line of an HTTP request or response; what else a frame is, in a few words."""
    if frame.kind == "sent" and frame.url:
        return f"{frame.method or 'POST'} {frame.url}"
    if frame.kind == "received" and frame.status is not None:
        return f"HTTP {frame.status}"
    if frame.kind == "ended" and frame.status is not None:
        return f"the process ended with status {frame.status}"
    return {
        "event": f"event {frame.event or 'message'}",
        "silence": "nothing came",
        "ended": "end of the stream",
        "closed": "closed by the checker",
    }.get(frame.kind, "")


def frame_body(frame: Frame) -> str:
    """The bytes as text; JSON without the spaces that a server may put in."""
    if frame.base64 is not None:
        return f"(base64) {frame.base64}"
    value = parse(frame.data) if frame.text else NO_JSON
    return (frame.text or "") if value is NO_JSON else codec.encode(value).decode()
