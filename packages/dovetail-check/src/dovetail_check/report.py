"""The report: everything that a check found, and the only thing that every format is made from."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from dovetail.errors import UsageError
from dovetail.wire import codec
from dovetail_check.faults import Fault
from dovetail_check.frames import Frame
from dovetail_check.inventory import Level
from dovetail_check.verdicts import Observation, Verdict

__all__ = [
    "FAIL_ON",
    "FORMAT",
    "Coverage",
    "Crash",
    "Difference",
    "FailOn",
    "Report",
    "ReportNote",
    "ReportRow",
    "RowFinding",
    "SessionInfo",
    "Tool",
    "count_coverage",
    "read_report",
]

# Goes up when a reader of older reports would misread a new one.
FORMAT = 1

FailOn: TypeAlias = Literal["must", "should", "never"]
FAIL_ON: dict[str, tuple[Verdict, ...]] = {
    "must": (Verdict.FAIL,),
    "should": (Verdict.FAIL, Verdict.WARN),
    "never": (),
}

_SEEN = (Verdict.PASS, Verdict.FAIL, Verdict.WARN, Verdict.INFO)


class Tool(Struct, frozen=True):
    """Who made the report."""

    name: str
    version: str
    # The text of the specification that the inventory was held against.
    specification: str
    # Two reports with the same digest judge the same rows.
    inventory: str


class SessionInfo(Struct, frozen=True, kw_only=True):
    """One transport and revision that the server was seen to speak."""

    name: str
    transport: str
    revision: str
    era: str
    server: str = ""
    capabilities: tuple[str, ...] = ()


class ReportNote(Struct, frozen=True):
    """One thing that a rule saw, and the numbers of the frames that show it."""

    observation: Observation
    text: str
    frames: tuple[int, ...] = ()


class RowFinding(Struct, frozen=True):
    """What one sitting showed of a row."""

    session: str
    verdict: Verdict
    notes: tuple[ReportNote, ...] = ()
    # How many more notes there were that say no more than these.
    omitted: int = 0


class ReportRow(Struct, frozen=True, kw_only=True):
    """One row of the inventory and how it ended."""

    id: str
    area: str
    # The word of the specification, and its strength.
    level: str
    strength: Level
    basis: str
    testable: str
    transport: str
    revisions: tuple[str, ...]
    clause: str
    url: str
    paraphrase: str
    verdict: Verdict
    # Why there is no finding, or what the author states.
    reason: str = ""
    # A baseline knows of it.
    accepted: bool = False
    findings: tuple[RowFinding, ...] = ()

    def said(self, *observations: Observation) -> dict[str, list[tuple[str, ReportNote]]]:
        """The notes of these sights by their text, each with its sitting."""
        found: dict[str, list[tuple[str, ReportNote]]] = {}
        for finding in self.findings:
            for note in finding.notes:
                if note.observation in observations:
                    found.setdefault(note.text, []).append((finding.session, note))
        return found


class Crash(Struct, frozen=True, kw_only=True):
    """The server ended, or went away, while it was being asked."""

    session: str
    line: str
    # The probe that was at work.
    probe: str
    text: str
    # What it said last on stderr.
    last_words: str = ""
    frames: tuple[int, ...] = ()
    # Whether it happened in the conversation, not when an offer was tried.
    counts: bool = True
    accepted: bool = False

    @property
    def id(self) -> str:
        """As a baseline calls it."""
        return f"death/{self.session}/{self.probe}"


class Difference(Struct, frozen=True):
    """Something that one server shows otherwise over another transport."""

    # One or several; empty where it is not a matter of one.
    revision: str
    what: str
    # What each transport shows.
    sides: dict[str, str]


class Coverage(Struct, frozen=True, kw_only=True):
    """How much of the inventory this check could say something about."""

    level: Level
    rows: int
    # Of those: can be judged from outside. Of those: apply to this server.
    outside: int
    applies: int
    # The parts of `applies`.
    passed: int
    broken: int
    info: int
    attested: int
    not_observed: int


class Report(Struct, frozen=True, kw_only=True, dict=True):
    """One check."""

    format: int = FORMAT
    tool: Tool
    date: str
    seconds: float
    targets: tuple[str, ...]
    transports: tuple[str, ...]
    # legacy, modern or both
    eras: tuple[str, ...]
    revisions: tuple[str, ...]
    # What was asked for: the revisions offered, the tools that might be called, the rows left out.
    offered: tuple[str, ...]
    calls: str
    # Not empty where the server wants credentials: only what strangers see was judged.
    needs_auth: str = ""
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    sessions: tuple[SessionInfo, ...]
    coverage: tuple[Coverage, ...]
    rows: tuple[ReportRow, ...]
    crashes: tuple[Crash, ...] = ()
    differences: tuple[Difference, ...] = ()
    faults: tuple[Fault, ...] = ()
    # Accepted findings of the baseline that did not come up any more.
    stale: tuple[str, ...] = ()
    # The frames that anything above points to; texts may be cut.
    frames: tuple[Frame, ...] = ()

    @cached_property
    def by_id(self) -> dict[str, ReportRow]:
        """The rows by their ids."""
        return {row.id: row for row in self.rows}

    @cached_property
    def frame(self) -> dict[int, Frame]:
        """The frames by their numbers."""
        return {frame.n: frame for frame in self.frames}

    @property
    def server(self) -> str:
        """What the server calls itself."""
        return next((session.server for session in self.sessions if session.server), "")

    def ended(self, *verdicts: Verdict) -> list[ReportRow]:
        """The rows that ended so; those that a baseline knows of are left out."""
        return [row for row in self.rows if row.verdict in verdicts and not row.accepted]

    @property
    def accepted(self) -> list[ReportRow]:
        """The rows that a baseline knows of."""
        return [row for row in self.rows if row.accepted]

    def count(self, *verdicts: Verdict) -> int:
        """How many rows ended so."""
        return len(self.ended(*verdicts))

    def findings(self, fail_on: FailOn) -> int:
        """How many findings there are at a level; a death in conversation counts at any."""
        if fail_on == "never":
            return 0
        crashes = [crash for crash in self.crashes if crash.counts and not crash.accepted]
        return self.count(*FAIL_ON[fail_on]) + len(crashes)


def count_coverage(rows: Iterable[ReportRow]) -> tuple[Coverage, ...]:
    """The counts that every format prints: MUST and SHOULD."""
    kept = list(rows)
    return tuple(
        _count_level(level, [row for row in kept if row.strength is level])
        for level in (Level.MUST, Level.SHOULD)
    )


def _count_level(level: Level, rows: list[ReportRow]) -> Coverage:
    # A row that needs a fixture can still be judged where traffic happened to show it.
    outside = [row for row in rows if row.testable.startswith("yes") or row.verdict in _SEEN]

    def count(*verdicts: Verdict) -> int:
        return sum(row.verdict in verdicts for row in outside)

    return Coverage(
        level=level,
        rows=len(rows),
        outside=len(outside),
        applies=len(outside) - count(Verdict.NOT_APPLICABLE),
        passed=count(Verdict.PASS),
        broken=count(Verdict.FAIL, Verdict.WARN),
        info=count(Verdict.INFO),
        attested=count(Verdict.ATTESTED),
        not_observed=count(Verdict.NOT_OBSERVED, Verdict.NOT_TESTABLE),
    )


def read_report(data: bytes, name: str) -> Report:
    """A report as JSON; raises UsageError, with the name that the file has."""
    try:
        report = codec.decode_as(Report, data)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"{name} is no report of `dovetail check --format json`: {error}"
        ) from None
    if report.format != FORMAT:
        raise UsageError(f"{name} has format {report.format}; this version reads {FORMAT}")
    return report
