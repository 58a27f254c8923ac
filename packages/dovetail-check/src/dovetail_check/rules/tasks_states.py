"""basic/utilities/tasks: what a task looks like, and the states it goes through."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

from dovetail_check.formats import timestamp_problem
from dovetail_check.noting import note_each, undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.probes.tasks_legacy import OWN_ID
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.task_traffic import (
    OPEN,
    TERMINAL,
    Glimpse,
    created_tasks,
    describe_task,
    glimpses,
)
from dovetail_check.verdicts import Note, broken, kept, unsettled

__all__ = ["guess_bits", "judge_entropy"]

_TASKS = ("tasks", "task-questions")
_STATES = (*OPEN, *TERMINAL)
# Bits of an id below which it can be guessed for sure, and above which it cannot.
_FEW_BITS, _MANY_BITS = 32, 64
# Ids that are numbers and this close to each other come from a counter.
_COUNTED = 1000

_PERMISSION = "a permission: there is nothing to break"
unjudged["tasks.ttl-override"] = _PERMISSION
unjudged["tasks.poll-interval"] = _PERMISSION
unjudged["tasks.notify"] = _PERMISSION


def _texts(seen: ProbeSession) -> list[Glimpse]:
    """Every task that was created under an id that is a text."""
    return [glimpse for glimpse in created_tasks(seen) if isinstance(glimpse.id, str)]


def _each(seen: ProbeSession, find_problem: Callable[[Glimpse], str | None]) -> Iterator[Note]:
    """A note for each answer that shows a task."""
    yield from undeclared(seen, "tasks")
    yield from note_each(((glimpse.where, glimpse) for glimpse in glimpses(seen)), find_problem)


# -- ids -------------------------------------------------------------------------------------------


@rule("tasks.id.string", reads=_TASKS)
def ids_are_texts(seen: ProbeSession) -> Iterator[Note]:
    """taskId of whatever shows a task."""

    def problem(glimpse: Glimpse) -> str | None:
        is_text = isinstance(glimpse.id, str)
        return None if is_text else f"taskId is {glimpse.id!r:.60}; a string was due"

    yield from _each(seen, problem)


@rule("tasks.id.by-receiver", reads=("tasks",))
def the_server_makes_the_ids(seen: ProbeSession) -> Iterator[Note]:
    """A call that brings an id along gets a task under another one."""
    yield from undeclared(seen, "tasks")
    for glimpse in _texts(seen):
        asked = glimpse.where.params.get("task")
        if not isinstance(asked, dict) or "taskId" not in asked:
            continue
        if glimpse.id == OWN_ID:
            yield broken(glimpse.where, f"the task has the id that the client gave: {OWN_ID!r}")
        else:
            yield kept(glimpse.where)


@rule("tasks.id.unique", reads=_TASKS)
def ids_are_unique(seen: ProbeSession) -> Iterator[Note]:
    """No two calls become a task of the same id."""
    yield from undeclared(seen, "tasks")
    made = _texts(seen)
    often = Counter(glimpse.id for glimpse in made)
    for glimpse in made if len(made) > 1 else ():
        if often[glimpse.id] > 1:
            yield broken(glimpse.where, f"{often[glimpse.id]} tasks have the id {glimpse.id!r:.60}")
        else:
            yield kept(glimpse.where)


@rule("tasks.id.entropy", reads=_TASKS)
def ids_cannot_be_guessed(seen: ProbeSession) -> Iterator[Note]:
    """As far as the ids of a few tasks show; only where nobody has to say who they are."""
    yield from undeclared(seen, "tasks")
    if not any(frame.header("authorization") for frame in seen.frames if frame.kind == "sent"):
        yield from judge_entropy(_texts(seen))


def judge_entropy(made: list[Glimpse]) -> Iterator[Note]:
    """Whether the ids of some tasks look as if they could be guessed."""
    ids = sorted({glimpse.id for glimpse in made})
    if len(ids) < 2:
        return
    bits, where = guess_bits(ids), made[-1].where
    shown = ", ".join(f"{id!r:.40}" for id in ids[:3])
    if bits < _FEW_BITS:
        text = f"the ids {shown} differ by some {bits:.0f} bits, which can be guessed"
        yield broken(where, text)
    elif bits < _MANY_BITS:
        text = f"some {bits:.0f} bits; what is enough against guessing is not said"
        yield unsettled(where, f"the ids {shown} differ by {text}")
    else:
        yield kept(where)


def guess_bits(ids: list[str]) -> float:
    """At most how many bits tell ids from each other: a bound that flatters, never one that harms.

    What all have in common tells nothing; a counter tells next to nothing.
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
    """How many letters all texts begin with."""
    shortest = min(map(len, texts))
    for index in range(shortest):
        if len({text[index] for text in texts}) > 1:
            return index
    return shortest


# -- states ----------------------------------------------------------------------------------------


@rule("tasks.starts-working", reads=_TASKS)
def tasks_begin_at_work(seen: ProbeSession) -> Iterator[Note]:
    """The first status is `working`."""
    yield from undeclared(seen, "tasks")
    for glimpse in created_tasks(seen):
        status = glimpse.status
        if status == "working":
            yield kept(glimpse.where)
        elif status in _STATES:
            text = f"the first status that is shown is {status!r}; 'working' was due"
            yield unsettled(glimpse.where, f"{text}, unless the task went on before it was shown")
        else:
            yield broken(glimpse.where, f"the first status is {status!r:.60}; 'working' was due")


def _histories(seen: ProbeSession) -> Iterator[tuple[Glimpse, Glimpse]]:
    """Two looks at one task, the second asked for when the first had come."""
    shown = glimpses(seen)
    for first in shown:
        for later in shown:
            if later.id == first.id and later.where.sent.n > first.came:
                yield first, later


@rule("tasks.transitions", reads=_TASKS)
def states_follow_each_other(seen: ProbeSession) -> Iterator[Note]:
    """Each state is one of the five, and nothing leads back to work from an end."""
    yield from undeclared(seen, "tasks")
    for glimpse in glimpses(seen):
        if glimpse.status not in _STATES:
            due = f"one of {', '.join(_STATES)} was due"
            yield broken(glimpse.where, f"the status is {glimpse.status!r:.60}; {due}")
    for first, later in _histories(seen):
        if first.is_final and later.status in OPEN:
            yield broken(later.where, f"a task went from {first.status!r} to {later.status!r}")
        elif first.status in _STATES and later.status in _STATES:
            yield kept(later.where)


@rule("tasks.terminal-final", reads=_TASKS)
def an_end_is_an_end(seen: ProbeSession) -> Iterator[Note]:
    """A task that has ended stays as it is."""
    yield from undeclared(seen, "tasks")
    for first, later in _histories(seen):
        if not first.is_final:
            continue
        if later.status == first.status:
            yield kept(later.where)
        else:
            text = f"{describe_task(later)} was {first.status!r} and is {later.status!r:.60}"
            yield broken(later.where, text)


# -- members ---------------------------------------------------------------------------------------


def _timed(seen: ProbeSession, member: str) -> Iterator[Note]:
    def problem(glimpse: Glimpse) -> str | None:
        if member not in glimpse.task:
            return f"{describe_task(glimpse)} has no {member}"
        found = timestamp_problem(glimpse.task[member])
        return found and f"{member}: {found}"

    yield from _each(seen, problem)
    for exchange in seen.sent("tasks/list"):
        items = (exchange.result or {}).get("tasks")
        listed = items if isinstance(items, list) else []
        shown = [Glimpse(exchange, item) for item in listed if isinstance(item, dict)]
        yield from note_each(((exchange, glimpse) for glimpse in shown), problem)


@rule("tasks.created-at", reads=_TASKS)
def tasks_say_when_they_began(seen: ProbeSession) -> Iterator[Note]:
    """createdAt, a timestamp of ISO 8601, wherever a task is shown."""
    yield from _timed(seen, "createdAt")


@rule("tasks.updated-at", reads=_TASKS)
def tasks_say_when_they_changed(seen: ProbeSession) -> Iterator[Note]:
    """lastUpdatedAt, a timestamp of ISO 8601, wherever a task is shown."""
    yield from _timed(seen, "lastUpdatedAt")


@rule("tasks.ttl-reported", reads=_TASKS)
def tasks_say_how_long_they_are_kept(seen: ProbeSession) -> Iterator[Note]:
    """The result of tasks/get has a ttl: a number, or null."""
    yield from undeclared(seen, "tasks")
    for glimpse in glimpses(seen):
        if glimpse.where.method != "tasks/get":
            continue
        ttl = glimpse.task.get("ttl", "missing")
        is_number = isinstance(ttl, int | float) and not isinstance(ttl, bool)
        if is_number or ttl is None:
            yield kept(glimpse.where)
        else:
            yield broken(glimpse.where, f"ttl is {ttl!r:.60}; milliseconds or null were due")
