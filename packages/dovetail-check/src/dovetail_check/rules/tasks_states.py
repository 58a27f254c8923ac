"""basic/utilities/tasks: ids, states and members of tasks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

from dovetail_check.auth_traffic import has_credentials
from dovetail_check.formats import timestamp_problem
from dovetail_check.notes import note_each, undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.probes.tasks_legacy import OWN_ID
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.task_traffic import (
    OPEN,
    TERMINAL,
    TaskSnapshot,
    created_tasks,
    describe_task,
    task_snapshots,
)
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated

__all__ = ["guess_bits", "judge_entropy"]

_TASKS = ("tasks", "task-questions")
_STATES = (*OPEN, *TERMINAL)
# Ids with fewer bits than the first are guessable, with more than the second they are not.
_FEW_BITS, _MANY_BITS = 32, 64
# Numeric ids that are closer to each other than this come from a counter.
_COUNTED = 1000

_PERMISSION = "a permission: nothing to violate"
unjudged["tasks.ttl-override"] = _PERMISSION
unjudged["tasks.poll-interval"] = _PERMISSION
unjudged["tasks.notify"] = _PERMISSION


def _texts(session: ProbeSession) -> list[TaskSnapshot]:
    """Every created task whose id is a string."""
    return [snapshot for snapshot in created_tasks(session) if isinstance(snapshot.id, str)]


def _each(
    session: ProbeSession, find_problem: Callable[[TaskSnapshot], str | None]
) -> Iterator[Note]:
    """A note for each task snapshot."""
    yield from undeclared(session, "tasks")
    yield from note_each(
        ((snapshot.where, snapshot) for snapshot in task_snapshots(session)), find_problem
    )


# -- ids -------------------------------------------------------------------------------------------


@rule("tasks.id.string", reads=_TASKS)
def ids_are_strings(session: ProbeSession) -> Iterator[Note]:
    """taskId is a string everywhere."""

    def problem(snapshot: TaskSnapshot) -> str | None:
        is_text = isinstance(snapshot.id, str)
        return None if is_text else f"taskId is {snapshot.id!r:.60}; expected a string"

    yield from _each(session, problem)


@rule("tasks.id.by-receiver", reads=("tasks",))
def the_server_makes_the_ids(session: ProbeSession) -> Iterator[Note]:
    """A call with a client-chosen id gets a task with another id."""
    yield from undeclared(session, "tasks")
    for snapshot in _texts(session):
        asked = snapshot.where.params.get("task")
        if not isinstance(asked, dict) or "taskId" not in asked:
            continue
        if snapshot.id == OWN_ID:
            yield violated(snapshot.where, f"the task has the id that the client chose: {OWN_ID!r}")
        else:
            yield satisfied(snapshot.where)


@rule("tasks.id.unique", reads=_TASKS)
def ids_are_unique(session: ProbeSession) -> Iterator[Note]:
    """No two tasks have the same id."""
    yield from undeclared(session, "tasks")
    made = _texts(session)
    often = Counter(snapshot.id for snapshot in made)
    for snapshot in made if len(made) > 1 else ():
        if often[snapshot.id] > 1:
            yield violated(
                snapshot.where, f"{often[snapshot.id]} tasks have the id {snapshot.id!r:.60}"
            )
        else:
            yield satisfied(snapshot.where)


@rule("tasks.id.entropy", reads=_TASKS)
def ids_cannot_be_guessed(session: ProbeSession) -> Iterator[Note]:
    """Judged by the ids of a few tasks, and only if the server requires no credentials."""
    yield from undeclared(session, "tasks")
    if not any(has_credentials(frame) for frame in session.frames if frame.kind == "sent"):
        yield from judge_entropy(_texts(session))


def judge_entropy(made: list[TaskSnapshot]) -> Iterator[Note]:
    """Whether the ids of some tasks look guessable."""
    ids = sorted({snapshot.id for snapshot in made})
    if len(ids) < 2:
        return
    bits, where = guess_bits(ids), made[-1].where
    shown = ", ".join(f"{id!r:.40}" for id in ids[:3])
    if bits < _FEW_BITS:
        text = f"the ids {shown} differ by about {bits:.0f} bits, which can be guessed"
        yield violated(where, text)
    elif bits < _MANY_BITS:
        text = f"about {bits:.0f} bits; the specification does not say how many are enough"
        yield ambiguous(where, f"the ids {shown} differ by {text}")
    else:
        yield satisfied(where)


def guess_bits(ids: list[str]) -> float:
    """An upper bound of the bits in which ids differ.

    Characters that all ids share do not count, and a counter counts as 0 bits.
    """
    start = _shared(ids)
    end = _shared([id[start:][::-1] for id in ids])
    differing = [id[start : len(id) - end] for id in ids]
    if all(part.isdecimal() and len(part) < 20 for part in ids):
        numbers = sorted(map(int, ids))
        if all(later - first < _COUNTED for first, later in pairwise(numbers)):
            return 0.0
    letters = {letter for id in ids for letter in id}
    return max(map(len, differing), default=0) * math.log2(max(len(letters), 2))


def _shared(texts: list[str]) -> int:
    """The length of the common prefix."""
    shortest = min(map(len, texts))
    for index in range(shortest):
        if len({text[index] for text in texts}) > 1:
            return index
    return shortest


# -- states ----------------------------------------------------------------------------------------


@rule("tasks.starts-working", reads=_TASKS)
def tasks_begin_as_working(session: ProbeSession) -> Iterator[Note]:
    """The first status is `working`."""
    yield from undeclared(session, "tasks")
    for snapshot in created_tasks(session):
        status = snapshot.status
        if status == "working":
            yield satisfied(snapshot.where)
        elif status in _STATES:
            text = f"the first visible status is {status!r}; expected 'working'"
            yield ambiguous(snapshot.where, f"{text}, unless the task changed before the response")
        else:
            yield violated(
                snapshot.where, f"the first status is {status!r:.60}; expected 'working'"
            )


def _histories(session: ProbeSession) -> Iterator[tuple[TaskSnapshot, TaskSnapshot]]:
    """Pairs of snapshots of one task; the second was requested after the first arrived."""
    shown = task_snapshots(session)
    for first in shown:
        for later in shown:
            if later.id == first.id and later.where.sent.n > first.frame_number:
                yield first, later


@rule("tasks.transitions", reads=_TASKS)
def states_follow_each_other(session: ProbeSession) -> Iterator[Note]:
    """Each status is one of the five, and a terminal status never becomes an open one."""
    yield from undeclared(session, "tasks")
    for snapshot in task_snapshots(session):
        if snapshot.status not in _STATES:
            expected = f"expected one of {', '.join(_STATES)}"
            yield violated(snapshot.where, f"the status is {snapshot.status!r:.60}; {expected}")
    for first, later in _histories(session):
        if first.is_final and later.status in OPEN:
            yield violated(later.where, f"a task went from {first.status!r} to {later.status!r}")
        elif first.status in _STATES and later.status in _STATES:
            yield satisfied(later.where)


@rule("tasks.terminal-final", reads=_TASKS)
def terminal_status_is_final(session: ProbeSession) -> Iterator[Note]:
    """A task that has ended keeps its status."""
    yield from undeclared(session, "tasks")
    for first, later in _histories(session):
        if not first.is_final:
            continue
        if later.status == first.status:
            yield satisfied(later.where)
        else:
            text = f"{describe_task(later)} was {first.status!r} and became {later.status!r:.60}"
            yield violated(later.where, text)


# -- members ---------------------------------------------------------------------------------------


def _timed(session: ProbeSession, member: str) -> Iterator[Note]:
    def problem(snapshot: TaskSnapshot) -> str | None:
        if member not in snapshot.task:
            return f"{describe_task(snapshot)} has no {member}"
        found = timestamp_problem(snapshot.task[member])
        return found and f"{member}: {found}"

    yield from _each(session, problem)
    for exchange in session.sent("tasks/list"):
        items = (exchange.result or {}).get("tasks")
        listed = items if isinstance(items, list) else []
        shown = [TaskSnapshot(exchange, item) for item in listed if isinstance(item, dict)]
        yield from note_each(((exchange, snapshot) for snapshot in shown), problem)


@rule("tasks.created-at", reads=_TASKS)
def tasks_have_created_at(session: ProbeSession) -> Iterator[Note]:
    """Every task has createdAt, an ISO 8601 timestamp."""
    yield from _timed(session, "createdAt")


@rule("tasks.updated-at", reads=_TASKS)
def tasks_have_last_updated_at(session: ProbeSession) -> Iterator[Note]:
    """Every task has lastUpdatedAt, an ISO 8601 timestamp."""
    yield from _timed(session, "lastUpdatedAt")


@rule("tasks.ttl-reported", reads=_TASKS)
def tasks_have_a_ttl(session: ProbeSession) -> Iterator[Note]:
    """The result of tasks/get has a ttl that is a number or null."""
    yield from undeclared(session, "tasks")
    for snapshot in task_snapshots(session):
        if snapshot.where.method != "tasks/get":
            continue
        ttl = snapshot.task.get("ttl", "missing")
        is_number = isinstance(ttl, int | float) and not isinstance(ttl, bool)
        if is_number or ttl is None:
            yield satisfied(snapshot.where)
        else:
            yield violated(snapshot.where, f"ttl is {ttl!r:.60}; expected milliseconds or null")
