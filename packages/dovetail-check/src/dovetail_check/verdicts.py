"""What a rule says it saw, and the verdict that follows for a row of the inventory.

what the rules saw                          level MUST   SHOULD   MAY
something broken                            fail         warn     info
... where the row is derived                warn         warn     info
something the specification leaves open     info         info     info
something kept, nothing of the above        pass         pass     pass
only reasons why it does not apply          not applicable
nothing                                     not observed
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from dovetail_check.exchanges import Exchange, Heard
from dovetail_check.frames import Frame
from dovetail_check.inventory import Level, Requirement

__all__ = ["Note", "Observation", "Verdict", "absent", "broken", "judge", "kept", "unsettled"]


class Observation(Enum):
    """The kinds of note."""

    KEPT = "kept"
    BROKEN = "broken"
    UNSETTLED = "unsettled"
    ABSENT = "absent"


class Verdict(Enum):
    """How a row ends; in the order in which one outweighs another."""

    FAIL = "fail"
    WARN = "warn"
    INFO = "info"
    PASS = "pass"
    ATTESTED = "attested"
    NOT_OBSERVED = "not observed"
    NOT_APPLICABLE = "not applicable"
    NOT_TESTABLE = "not testable"


class Note(NamedTuple):
    """One thing a rule saw, and the frames that show it."""

    observation: Observation
    text: str
    frames: tuple[int, ...] = ()


def kept(where: Exchange | Heard | Frame | None = None, text: str = "") -> Note:
    """The clause was kept here."""
    return Note(Observation.KEPT, text, _frames_of(where))


def broken(where: Exchange | Heard | Frame | None, text: str) -> Note:
    """The clause was broken here; `text` says what came and what should have."""
    return Note(Observation.BROKEN, text, _frames_of(where))


def unsettled(where: Exchange | Heard | Frame | None, text: str) -> Note:
    """The specification can be read both ways; `text` names both readings and what came."""
    return Note(Observation.UNSETTLED, text, _frames_of(where))


def absent(text: str) -> Note:
    """The clause does not apply to this server, and why."""
    return Note(Observation.ABSENT, text)


def _frames_of(where: Exchange | Heard | Frame | None) -> tuple[int, ...]:
    if where is None:
        return ()
    if isinstance(where, Frame):
        return (where.n,)
    if isinstance(where, Heard):
        asked = () if where.exchange is None else (where.exchange.sent.n,)
        return (*asked, where.frame.n)
    return (where.sent.n, *(frame.n for frame in where.replies))


_WHEN_BROKEN = {
    Level.MUST: Verdict.FAIL,
    Level.SHOULD: Verdict.WARN,
    Level.MAY: Verdict.INFO,
}


def judge(row: Requirement, notes: Iterable[Note]) -> Verdict:
    """The verdict that the table above gives."""
    observations = {note.observation for note in notes}
    if Observation.BROKEN in observations:
        verdict = _WHEN_BROKEN[row.strength]
        # A consequence that no sentence states must not fail anybody alone.
        return Verdict.WARN if row.is_derived and verdict is Verdict.FAIL else verdict
    if Observation.UNSETTLED in observations:
        return Verdict.INFO
    if Observation.KEPT in observations:
        return Verdict.PASS
    return Verdict.NOT_APPLICABLE if Observation.ABSENT in observations else Verdict.NOT_OBSERVED
