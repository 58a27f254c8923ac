"""Rules: functions that read a session and report observations on one requirement.

    @rule("ping.empty-result", reads=("ping",))
    def ping_has_an_empty_result(session: ProbeSession) -> Iterator[Note]:
        for exchange in session.tagged("ping"):
            ...
            yield satisfied(exchange)

A rule yields nothing if the traffic shows nothing. It must not raise, whatever the server sent.
`reads` names the probes whose traffic it needs; a rule without `reads` uses all traffic.
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
    """A rule that reads one session (transport and revision) at a time."""

    row: Requirement
    judge: Judge
    reads: tuple[str, ...]
    # Whether it also reads unauthenticated traffic (`Run.pre_auth_sessions`).
    pre_auth: bool = False


class RunRule(NamedTuple):
    """A rule that reads all sessions of a transport at once."""

    row: Requirement
    judge: RunJudge
    reads: tuple[str, ...]


rules: dict[str, Rule | RunRule] = {}

# Requirements without a rule, and the reason; rule modules add theirs.
unjudged: dict[str, str] = {}


def rule(
    id: str, *, reads: tuple[str, ...] = (), pre_auth: bool = False
) -> Callable[[Judge], Judge]:
    """Register the rule for a requirement."""

    def register(judge: Judge) -> Judge:
        _add(Rule(_row(id), judge, reads, pre_auth))
        return judge

    return register


def overall(id: str, *, reads: tuple[str, ...] = ()) -> Callable[[RunJudge], RunJudge]:
    """Register the rule for a requirement that needs all sessions of a transport."""

    def register(judge: RunJudge) -> RunJudge:
        _add(RunRule(_row(id), judge, reads))
        return judge

    return register


def _row(id: str) -> Requirement:
    row = by_id().get(id)
    if row is None:
        raise UsageError(f"a rule is registered for {id!r}, which is not in the inventory")
    return row


def _add(added: Rule | RunRule) -> None:
    if added.row.id in rules:
        raise UsageError(f"two rules are registered for {added.row.id!r}")
    rules[added.row.id] = added
