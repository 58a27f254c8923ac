"""Rules: small functions that read a sitting and say what they saw of one row.

    @rule("ping.empty-result", reads=("ping",))
    def ping_has_an_empty_result(seen: ProbeSession) -> Iterator[Note]:
        for exchange in seen.tagged("ping"):
            ...
            yield kept(exchange)

A rule yields nothing where there was nothing to see. It never raises for what a server sent.
`reads` names the probes whose traffic it needs; a rule without any reads whatever there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from dovetail.errors import UsageError
from dovetail_check.inventory import Requirement, by_id
from dovetail_check.probe_sessions import ProbeSession, Run
from dovetail_check.verdicts import Note

__all__ = ["Rule", "RunRule", "overall", "rule", "rules", "unjudged"]

Judge: TypeAlias = Callable[[ProbeSession], Iterable[Note]]
RunJudge: TypeAlias = Callable[[Run], Iterable[Note]]


class Rule(NamedTuple):
    """One row's rule: it reads one sitting (transport and revision) at a time."""

    row: Requirement
    judge: Judge
    reads: tuple[str, ...]
    # Whether it also reads what was seen without credentials (`Run.doors`).
    at_door: bool = False


class RunRule(NamedTuple):
    """One row's rule that needs all sittings of a transport at once."""

    row: Requirement
    judge: RunJudge
    reads: tuple[str, ...]


rules: dict[str, Rule | RunRule] = {}

# Rows that no rule judges, and why; pages add theirs.
unjudged: dict[str, str] = {}


def rule(
    id: str, *, reads: tuple[str, ...] = (), at_door: bool = False
) -> Callable[[Judge], Judge]:
    """Register the rule of a row."""

    def register(judge: Judge) -> Judge:
        _add(Rule(_row(id), judge, reads, at_door))
        return judge

    return register


def overall(id: str, *, reads: tuple[str, ...] = ()) -> Callable[[RunJudge], RunJudge]:
    """Register the rule of a row that compares sittings."""

    def register(judge: RunJudge) -> RunJudge:
        _add(RunRule(_row(id), judge, reads))
        return judge

    return register


def _row(id: str) -> Requirement:
    row = by_id().get(id)
    if row is None:
        raise UsageError(f"a rule for {id!r}, but the inventory has no such row")
    return row


def _add(added: Rule | RunRule) -> None:
    if added.row.id in rules:
        raise UsageError(f"two rules for {added.row.id!r}")
    rules[added.row.id] = added
