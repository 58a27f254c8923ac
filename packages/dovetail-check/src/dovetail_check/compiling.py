"""From a recording to a report: judge every row, and keep the frames that verdicts point to."""

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
    count_coverage,
)
from dovetail_check.verdicts import Note, Observation

__all__ = ["About", "Selection", "compile_report", "describe_tool"]

# How many notes of a sitting are kept, by what they say; the rest says no more.
_KEPT_NOTES = {
    Observation.BROKEN: 8,
    Observation.UNSETTLED: 4,
    Observation.KEPT: 2,
    Observation.ABSENT: 2,
}
# How many frames of a note, and how much of each.
_MOST_FRAMES = 12
_MOST_TEXT = 6000


class About(Struct, frozen=True, kw_only=True):
    """What is known of a check besides its frames; kept beside them in evidence."""

    date: str
    seconds: float
    targets: tuple[str, ...]
    offered: tuple[str, ...]
    calls: str
    faults: tuple[Fault, ...] = ()
    # What the server said to somebody without credentials, where it let nobody else in.
    needs_auth: str = ""


class Selection(Struct, frozen=True):
    """The rows to judge: globs over their ids."""

    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()

    def ids(self) -> set[str]:
        """The ids of the rows that are left."""
        return {row.id for row in load() if self._takes(row)}

    def _takes(self, row: Requirement) -> bool:
        is_wanted = not self.only or any(fnmatchcase(row.id, glob) for glob in self.only)
        return is_wanted and not any(fnmatchcase(row.id, glob) for glob in self.skip)


def describe_tool() -> Tool:
    """Who makes the report, and by which text."""
    inventory = files("dovetail_check").joinpath("inventory.json").read_bytes()
    digest = hashlib.sha256(inventory).hexdigest()[:16]
    return Tool("dovetail", version("dovetail"), SNAPSHOT, digest)


def compile_report(
    recording: Recording,
    about: About,
    selection: Selection | None = None,
    attested: Mapping[str, str] | None = None,
) -> Report:
    """Judge a recording, fresh or read back."""
    selection = selection or Selection()
    faults = list(about.faults)
    judged = judge_recording(recording, only=selection.ids(), attested=attested, faults=faults)
    names = dict.fromkeys(frame.session.partition(" ")[0] for frame in recording.frames)
    runs = [Run(transport, recording.frames) for transport in names]
    # Where nobody was let in, the door is all there is.
    runs = [run for run in runs if run.doors]
    sessions = [_describe(session) for run in runs for session in run.sessions]
    rows = tuple(map(_make_row, judged))
    crashes = find_crashes(recording.frames)
    pointed = [number for row in rows for finding in row.findings for number in _numbers(finding)]
    pointed += [number for crash in crashes for number in crash.frames]
    return Report(
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
        differences=find_differences(runs, judged),
        faults=tuple(faults),
        frames=_keep_frames(recording, pointed),
    )


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
        findings=tuple(map(_make_finding, judged.findings)),
    )


def _make_finding(finding: Finding) -> RowFinding:
    notes = _pick_notes(finding.notes)
    return RowFinding(finding.session, finding.verdict, notes, len(finding.notes) - len(notes))


def _pick_notes(notes: Iterable[Note]) -> tuple[ReportNote, ...]:
    """The first notes of each kind; of those that say the same, one."""
    left = dict(_KEPT_NOTES)
    said = set()
    picked = []
    for note in notes:
        if left[note.observation] and (note.observation, note.text) not in said:
            left[note.observation] -= 1
            said.add((note.observation, note.text))
            picked.append(ReportNote(note.observation, note.text, note.frames[:_MOST_FRAMES]))
    # What is broken comes first.
    order = list(_KEPT_NOTES)
    return tuple(sorted(picked, key=lambda note: order.index(note.observation)))


def _numbers(finding: RowFinding) -> Iterable[int]:
    return (number for note in finding.notes for number in note.frames)


def _keep_frames(recording: Recording, pointed: Iterable[int]) -> tuple[Frame, ...]:
    by_number = {frame.n: frame for frame in recording.frames}
    wanted = sorted({number for number in pointed if number in by_number})
    return tuple(_cut(by_number[number]) for number in wanted)


def _cut(frame: Frame) -> Frame:
    for name in ("text", "base64"):
        text = getattr(frame, name)
        if text is not None and len(text) > _MOST_TEXT:
            shown = f"{text[:_MOST_TEXT]}… ({len(text)} characters)"
            # What is cut is no base64 any more.
            return structs.replace(frame, base64=None, **{"text": shown})
    return frame
