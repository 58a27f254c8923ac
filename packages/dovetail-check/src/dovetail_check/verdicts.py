"""The observations that rules report, and the verdict that follows from them.

observations of the rule             level MUST   SHOULD   MAY
any violated                         fail         warn     info
any violated, derived requirement    warn         warn     info
any ambiguous                        info         info     info
any satisfied, none of the above     pass         pass     pass
only not applicable                  not applicable
none                                 not observed
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from dovetail_check.exchanges import Exchange, Incoming
from dovetail_check.frames import Frame
from dovetail_check.inventory import Level, Requirement

__all__ = [
    "Note",
    "Observation",
    "Verdict",
    "ambiguous",
    "judge",
    "not_applicable",
    "satisfied",
    "violated",
]


class Observation(Enum):
    """What a note reports."""

    SATISFIED = "satisfied"
    VIOLATED = "violated"
    AMBIGUOUS = "ambiguous"
    NOT_APPLICABLE = "not applicable"


class Verdict(Enum):
    """The result for one requirement; of several verdicts, the first in this order wins."""

    FAIL = "fail"
    WARN = "warn"
    INFO = "info"
    PASS = "pass"
    ATTESTED = "attested"
    NOT_OBSERVED = "not observed"
    NOT_APPLICABLE = "not applicable"
    NOT_TESTABLE = "not testable"


class Note(NamedTuple):
    """One observation of a rule, and the numbers of the frames that show it."""

    observation: Observation
    text: str
    frames: tuple[int, ...] = ()


def satisfied(where: Exchange | Incoming | Frame | None = None, text: str = "") -> Note:
    """The server met the requirement here."""
    return Note(Observation.SATISFIED, text, _frames_of(where))


def violated(where: Exchange | Incoming | Frame | None, text: str) -> Note:
    """The server broke the requirement here; `text` says what it sent and what was expected."""
    return Note(Observation.VIOLATED, text, _frames_of(where))


def ambiguous(where: Exchange | Incoming | Frame | None, text: str) -> Note:
    """The specification allows two readings; `text` names both and what the server sent."""
    return Note(Observation.AMBIGUOUS, text, _frames_of(where))


def not_applicable(text: str) -> Note:
    """The requirement does not apply to this server; `text` says why."""
    return Note(Observation.NOT_APPLICABLE, text)


def _frames_of(where: Exchange | Incoming | Frame | None) -> tuple[int, ...]:
    if where is None:
        return ()
    if isinstance(where, Frame):
        return (where.n,)
    if isinstance(where, Incoming):
        asked = () if where.exchange is None else (where.exchange.sent.n,)
        return (*asked, where.frame.n)
    return (where.sent.n, *(frame.n for frame in where.replies))


_WHEN_VIOLATED = {
    Level.MUST: Verdict.FAIL,
    Level.SHOULD: Verdict.WARN,
    Level.MAY: Verdict.INFO,
}


def judge(row: Requirement, notes: Iterable[Note]) -> Verdict:
    """Return the verdict by the table at the top of this module."""
    observations = {note.observation for note in notes}
    if Observation.VIOLATED in observations:
        verdict = _WHEN_VIOLATED[row.strength]
        # The specification does not state a derived requirement, so breaking it is only a warning.
        return Verdict.WARN if row.is_derived and verdict is Verdict.FAIL else verdict
    if Observation.AMBIGUOUS in observations:
        return Verdict.INFO
    if Observation.SATISFIED in observations:
        return Verdict.PASS
    return (
        Verdict.NOT_APPLICABLE
        if Observation.NOT_APPLICABLE in observations
        else Verdict.NOT_OBSERVED
    )
