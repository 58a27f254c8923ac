"""Turns a recording into a report, with the frames that verdicts refer to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from msgspec import Struct, structs

from dovetail.spec import keys
from dovetail_check.clauses import SNAPSHOT, area_title, clause_url
from dovetail_check.crashes import find_crashes
from dovetail_check.differences import find_differences
from dovetail_check.escaping import clean_all
from dovetail_check.faults import Fault
from dovetail_check.frames import Frame
from dovetail_check.inventory import Requirement, load
from dovetail_check.judging import Finding, RowReport, judge_recording
from dovetail_check.probe_sessions import ProbeSession, Run
from dovetail_check.recording import Recording
from dovetail_check.report import (
    Report,
    ReportNote,
    ReportRow,
    RowFinding,
    SessionInfo,
    Tool,
    Untested,
    count_coverage,
)
from dovetail_check.responsibility import responsible_for
from dovetail_check.verdicts import Note, Observation

__all__ = ["About", "Selection", "compile_report", "describe_tool"]

# The number of notes in the report for each session and kind of observation.
_MAX_NOTES = {
    # `explain` shows all of them.
    Observation.VIOLATED: 200,
    Observation.AMBIGUOUS: 4,
    Observation.SATISFIED: 2,
    Observation.NOT_APPLICABLE: 2,
}
# The number of frames of each note, and characters of each frame.
_MAX_FRAMES = 12
_MAX_TEXT = 6000


class About(Struct, frozen=True, kw_only=True):
    """The facts about a check besides its frames; saved as `about.json`."""

    date: str
    seconds: float
    targets: tuple[str, ...]
    offered: tuple[str, ...]
    calls: str
    faults: tuple[Fault, ...] = ()
    # Why only unauthenticated access was tested; empty if the server needs no credentials.
    needs_auth: str = ""


class Selection(Struct, frozen=True):
    """The selected requirements, as globs over ids."""

    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()

    def ids(self) -> set[str]:
        """Return the selected ids."""
        return {row.id for row in load() if self._includes(row)}

    def _includes(self, row: Requirement) -> bool:
        is_wanted = not self.only or any(fnmatchcase(row.id, glob) for glob in self.only)
        return is_wanted and not any(fnmatchcase(row.id, glob) for glob in self.skip)


def describe_tool() -> Tool:
    """Describe this checker and its inventory."""
    inventory = files("dovetail_check").joinpath("inventory.json").read_bytes()
    digest = hashlib.sha256(inventory).hexdigest()[:16]
    return Tool("dovetail", version("dovetail-mcp"), SNAPSHOT, digest)


def compile_report(
    recording: Recording,
    about: About,
    selection: Selection | None = None,
    attested: Mapping[str, str] | None = None,
) -> Report:
    """Judge a recording and make the report."""
    selection = selection or Selection()
    faults = list(about.faults)
    judged = judge_recording(recording, only=selection.ids(), attested=attested, faults=faults)
    names = dict.fromkeys(frame.session.partition(" ")[0] for frame in recording.frames)
    runs = [Run(transport, recording.frames) for transport in names]
    # If the server requires credentials, there is only unauthenticated traffic.
    runs = [run for run in runs if run.pre_auth_sessions]
    sessions = [_describe(session) for run in runs for session in run.sessions]
    rows = tuple(map(_make_row, judged))
    crashes = find_crashes(recording.frames)
    untested = _find_untested(recording.frames)
    referenced = [
        number for row in rows for finding in row.findings for number in _numbers(finding)
    ]
    referenced += [number for crash in crashes for number in crash.frames]
    report = Report(
        tool=describe_tool(),
        date=about.date,
        seconds=about.seconds,
        targets=about.targets,
        transports=tuple(run.transport for run in runs),
        eras=tuple(sorted({session.era for session in sessions})),
        revisions=tuple(sorted({session.revision for session in sessions})),
        offered=about.offered,
        calls=about.calls,
        needs_auth=about.needs_auth,
        only=selection.only,
        skip=selection.skip,
        sessions=tuple(sessions),
        coverage=count_coverage(rows),
        rows=rows,
        crashes=crashes,
        untested=untested,
        differences=find_differences(runs, judged),
        faults=tuple(faults),
    )
    # Frames are evidence and stay as they are; formats escape what they show of them.
    return structs.replace(clean_all(report), frames=_keep_frames(recording, referenced))


def _find_untested(frames: Iterable[Frame]) -> tuple[Untested, ...]:
    found: dict[tuple[str, str], list[str]] = {}
    for frame in frames:
        if frame.kind == "stopped" and frame.tag:
            found.setdefault((frame.session, frame.text or ""), []).append(frame.tag)
    return tuple(Untested(*key, tuple(dict.fromkeys(found[key]))) for key in sorted(found))


def _describe(session: ProbeSession) -> SessionInfo:
    return SessionInfo(
        name=session.name,
        transport=session.transport,
        revision=str(session.revision),
        era=session.revision.family.value,
        server=_server_name(session),
        capabilities=tuple(sorted(map(str, session.capabilities))),
    )


def _server_name(session: ProbeSession) -> str:
    result: Any = (session.opening.result if session.opening is not None else None) or {}
    meta = result.get("_meta")
    info = result.get("serverInfo") or (meta.get(keys.SERVER_INFO) if isinstance(meta, dict) else 0)
    if not isinstance(info, dict):
        return ""
    return f"{info.get('name', '')} {info.get('version', '')}".strip()


def _make_row(judged: RowReport) -> ReportRow:
    row = judged.row
    return ReportRow(
        id=row.id,
        area=area_title(row.area),
        level=row.level,
        strength=row.strength,
        basis=row.basis,
        testable=row.testable,
        transport=row.transport,
        revisions=row.versions,
        clause=row.spec,
        url=clause_url(row),
        paraphrase=row.requirement,
        verdict=judged.verdict,
        reason=judged.reason,
        fixed_by=responsible_for(row.id),
        findings=tuple(map(_make_finding, judged.findings)),
    )


def _make_finding(finding: Finding) -> RowFinding:
    notes = _pick_notes(finding.notes)
    return RowFinding(finding.session, finding.verdict, notes, len(finding.notes) - len(notes))


def _pick_notes(notes: Iterable[Note]) -> tuple[ReportNote, ...]:
    """The first notes of each kind, without duplicates."""
    left = dict(_MAX_NOTES)
    texts = set()
    picked = []
    for note in notes:
        if left[note.observation] and (note.observation, note.text) not in texts:
            left[note.observation] -= 1
            texts.add((note.observation, note.text))
            picked.append(ReportNote(note.observation, note.text, note.frames[:_MAX_FRAMES]))
    # Violations first.
    order = list(_MAX_NOTES)
    return tuple(sorted(picked, key=lambda note: order.index(note.observation)))


def _numbers(finding: RowFinding) -> Iterable[int]:
    return (number for note in finding.notes for number in note.frames)


def _keep_frames(recording: Recording, referenced: Iterable[int]) -> tuple[Frame, ...]:
    by_number = {frame.n: frame for frame in recording.frames}
    wanted = sorted({number for number in referenced if number in by_number})
    return tuple(_cut(by_number[number]) for number in wanted)


def _cut(frame: Frame) -> Frame:
    for name in ("text", "base64"):
        text = getattr(frame, name)
        if text is not None and len(text) > _MAX_TEXT:
            shown = f"{text[:_MAX_TEXT]}… ({len(text)} characters)"
            # Truncated base64 cannot be decoded.
            return structs.replace(frame, base64=None, **{"text": shown})
    return frame
