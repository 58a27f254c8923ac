"""The report of a check. Every output format is rendered from it."""

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
    "Untested",
    "count_coverage",
    "read_report",
]

# Increase it when readers of the old format would misread the new one.
FORMAT = 1

FailOn: TypeAlias = Literal["must", "should", "never"]
FAIL_ON: dict[str, tuple[Verdict, ...]] = {
    "must": (Verdict.FAIL,),
    "should": (Verdict.FAIL, Verdict.WARN),
    "never": (),
}

_DECIDED = (Verdict.PASS, Verdict.FAIL, Verdict.WARN, Verdict.INFO)


class Tool(Struct, frozen=True):
    """The checker that made the report."""

    name: str
    version: str
    # The snapshot of the specification that the inventory is based on.
    specification: str
    # A digest of the inventory: two reports with the same digest have the same requirements.
    inventory: str


class SessionInfo(Struct, frozen=True, kw_only=True):
    """One transport and revision that the server supports."""

    name: str
    transport: str
    revision: str
    era: str
    server: str = ""
    capabilities: tuple[str, ...] = ()


class ReportNote(Struct, frozen=True):
    """One observation of a rule, and the numbers of the frames that show it."""

    observation: Observation
    text: str
    frames: tuple[int, ...] = ()


class RowFinding(Struct, frozen=True):
    """The verdict of one requirement in one session."""

    session: str
    verdict: Verdict
    notes: tuple[ReportNote, ...] = ()
    # The number of further notes that were left out.
    omitted: int = 0


class ReportRow(Struct, frozen=True, kw_only=True):
    """One requirement of the inventory and its verdict."""

    id: str
    area: str
    # The keyword of the specification, and its strength.
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
    # Why there is no finding, or the statement of the author.
    reason: str = ""
    # Whether the baseline accepts it.
    accepted: bool = False
    # Who can fix a violation: `server`, its author, or `sdk`, the SDK that it uses.
    fixed_by: str = "server"
    findings: tuple[RowFinding, ...] = ()

    def notes_by_text(self, *observations: Observation) -> dict[str, list[tuple[str, ReportNote]]]:
        """Group notes with these observations by text, each with the name of its session."""
        found: dict[str, list[tuple[str, ReportNote]]] = {}
        for finding in self.findings:
            for note in finding.notes:
                if note.observation in observations:
                    found.setdefault(note.text, []).append((finding.session, note))
        return found


class Crash(Struct, frozen=True, kw_only=True):
    """The server exited, became unreachable, or sent more than is kept, during a probe."""

    session: str
    connection: str
    # The probe that was running.
    probe: str
    text: str
    # The last lines of stderr.
    stderr_tail: str = ""
    frames: tuple[int, ...] = ()
    # False if the server exited during version negotiation; that is not a finding.
    counts: bool = True
    accepted: bool = False
    # The server sent so much that the checker closed the connection.
    is_flood: bool = False

    @property
    def id(self) -> str:
        """The id that a baseline uses."""
        return f"{'flood' if self.is_flood else 'crash'}/{self.session}/{self.probe}"


class Untested(Struct, frozen=True):
    """Probes that were not finished in one session, so that their requests show nothing."""

    session: str
    reason: str
    probes: tuple[str, ...]


class Difference(Struct, frozen=True):
    """Something that differs between the transports of one server."""

    # The revisions where it differs; empty if it is not specific to a revision.
    revision: str
    what: str
    # Transport -> its value.
    sides: dict[str, str]


class Coverage(Struct, frozen=True, kw_only=True):
    """How many requirements of one level the check could decide."""

    level: Level
    rows: int
    # Of `rows`: can be tested without access to the server code.
    testable: int
    # Of `testable`: apply to this server. The remaining fields add up to it.
    applicable: int
    passed: int
    # `failed`, `warned` and `accepted` together.
    violated: int
    info: int
    attested: int
    not_observed: int
    failed: int = 0
    warned: int = 0
    # Violations that the baseline accepts.
    accepted: int = 0


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
    # The options of the check: revisions offered, tools that could be called, selection.
    offered: tuple[str, ...]
    calls: str
    # Not empty if the server requires credentials: only unauthenticated access was tested.
    needs_auth: str = ""
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    sessions: tuple[SessionInfo, ...]
    coverage: tuple[Coverage, ...]
    rows: tuple[ReportRow, ...]
    crashes: tuple[Crash, ...] = ()
    untested: tuple[Untested, ...] = ()
    differences: tuple[Difference, ...] = ()
    faults: tuple[Fault, ...] = ()
    # Findings that the baseline accepts and that no longer occur.
    stale: tuple[str, ...] = ()
    # The frames that the report refers to; long texts are truncated.
    frames: tuple[Frame, ...] = ()

    @cached_property
    def by_id(self) -> dict[str, ReportRow]:
        """The requirements by id."""
        return {row.id: row for row in self.rows}

    @cached_property
    def frames_by_number(self) -> dict[int, Frame]:
        """The frames by number."""
        return {frame.n: frame for frame in self.frames}

    @property
    def server(self) -> str:
        """Name and version of the server."""
        return next((session.server for session in self.sessions if session.server), "")

    def with_verdict(self, *verdicts: Verdict) -> list[ReportRow]:
        """The requirements with one of these verdicts, without those that the baseline accepts."""
        return [row for row in self.rows if row.verdict in verdicts and not row.accepted]

    def findings_by(self, fixed_by: str) -> list[ReportRow]:
        """The failures, then the warnings, that the author of the server or its SDK can fix."""
        found = [*self.with_verdict(Verdict.FAIL), *self.with_verdict(Verdict.WARN)]
        return [row for row in found if row.fixed_by == fixed_by]

    @property
    def accepted(self) -> list[ReportRow]:
        """The requirements that the baseline accepts."""
        return [row for row in self.rows if row.accepted]

    def count(self, *verdicts: Verdict) -> int:
        """Count the requirements with one of these verdicts."""
        return len(self.with_verdict(*verdicts))

    def findings(self, fail_on: FailOn) -> int:
        """Count the findings for `--fail-on`; crashes and what was not tested count as well."""
        if fail_on == "never":
            return 0
        crashes = [crash for crash in self.crashes if crash.counts and not crash.accepted]
        return self.count(*FAIL_ON[fail_on]) + len(crashes) + len(self.untested)


def count_coverage(rows: Iterable[ReportRow]) -> tuple[Coverage, ...]:
    """Count the requirements of each level."""
    all_rows = list(rows)
    return tuple(
        _count_level(level, [row for row in all_rows if row.strength is level]) for level in Level
    )


def _count_level(level: Level, rows: list[ReportRow]) -> Coverage:
    # A requirement that needs a fixture counts if the traffic happened to decide it.
    testable = [row for row in rows if row.testable.startswith("yes") or row.verdict in _DECIDED]

    def count(*verdicts: Verdict, accepted: bool | None = None) -> int:
        return sum(row.verdict in verdicts and accepted in (None, row.accepted) for row in testable)

    return Coverage(
        level=level,
        rows=len(rows),
        testable=len(testable),
        applicable=len(testable) - count(Verdict.NOT_APPLICABLE),
        passed=count(Verdict.PASS),
        violated=count(Verdict.FAIL, Verdict.WARN),
        info=count(Verdict.INFO),
        attested=count(Verdict.ATTESTED),
        not_observed=count(Verdict.NOT_OBSERVED),
        failed=count(Verdict.FAIL, accepted=False),
        warned=count(Verdict.WARN, accepted=False),
        accepted=count(Verdict.FAIL, Verdict.WARN, accepted=True),
    )


def read_report(data: bytes, name: str) -> Report:
    """Parse a JSON report; raises UsageError, which names the file."""
    try:
        report = codec.decode_as(Report, data)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"{name} is not a report of `dovetail check --format json`: {error}"
        ) from None
    if report.format != FORMAT:
        raise UsageError(
            f"{name} has report format {report.format}; this version reads format {FORMAT}"
        )
    return report
