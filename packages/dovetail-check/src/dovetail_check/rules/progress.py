"""basic/utilities/progress, basic/patterns/progress."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from dovetail.spec import keys
from dovetail_check.exchanges import Exchange, Heard
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, absent, broken, kept

__all__: list[str] = []

unjudged |= {
    "progress.float": "a permission: nothing to break",
    "progress.none": "a permission: nothing to break",
}

# More than this in one second is a flood.
_FLOOD = 100


class _Step(NamedTuple):
    """One notification, and the request whose token it names; None where none has it."""

    heard: Heard
    request: Exchange | None
    # Whether the token has the type that was sent.
    is_exact: bool

    @property
    def token(self) -> Any:
        return self.heard.params.get("progressToken")


def _steps(seen: ProbeSession) -> list[_Step]:
    """Every notification about progress, in order."""
    given = _tokens(seen)
    return [_step(heard, given) for heard in seen.notifications("notifications/progress")]


def _tokens(seen: ProbeSession) -> list[tuple[Any, Exchange]]:
    found = []
    for exchange in seen.exchanges:
        meta = exchange.params.get("_meta")
        if isinstance(meta, dict) and keys.PROGRESS_TOKEN in meta and exchange.id is not None:
            found.append((meta[keys.PROGRESS_TOKEN], exchange))
    return found


def _step(heard: Heard, given: list[tuple[Any, Exchange]]) -> _Step:
    """The last request with the token that was sent before, on the same line."""
    token = heard.params.get("progressToken")
    before = [
        (sent, exchange)
        for sent, exchange in reversed(given)
        if exchange.line == heard.frame.line and exchange.sent.n < heard.frame.n
    ]
    for sent, exchange in before:
        if sent == token and type(sent) is type(token):
            return _Step(heard, exchange, is_exact=True)
    for sent, exchange in before:
        if token is not None and str(sent) == str(token):
            return _Step(heard, exchange, is_exact=False)
    return _Step(heard, None, is_exact=False)


def _is_over(step: _Step) -> bool:
    """Whether the request had been answered; a task goes on behind its first answer."""
    request = step.request
    if request is None or request.answer is None or "task" in request.params:
        return False
    is_stream = step.heard.frame.kind == "event"
    if is_stream and step.heard.exchange is not request:
        # What comes on two connections comes in no order.
        return False
    return request.answer.frame.n < step.heard.frame.n


@rule("progress.token-known", reads=("progress",))
def progress_names_a_token_of_a_request(seen: ProbeSession) -> Iterator[Note]:
    """One that a request on the same line gave."""
    for step in _steps(seen):
        if step.request is None:
            yield broken(step.heard, f"progress for the token {step.token!r:.60}; none was given")
        else:
            yield kept(step.heard)


@rule("progress.token-type", reads=("progress",))
def tokens_keep_their_type(seen: ProbeSession) -> Iterator[Note]:
    """A number stays a number, a string a string."""
    for step in _steps(seen):
        if step.request is not None and not step.is_exact:
            yield broken(step.heard, f"the token came back as {step.token!r}, another type")
        elif step.request is not None:
            yield kept(step.heard)


@rule("progress.increasing", reads=("progress",))
def progress_increases(seen: ProbeSession) -> Iterator[Note]:
    """Each value of a request is larger than the last."""
    last: dict[int, Any] = {}
    for step in _steps(seen):
        value = step.heard.params.get("progress")
        if step.request is None or not isinstance(value, int | float) or isinstance(value, bool):
            continue
        before = last.get(step.request.sent.n)
        if before is not None and value <= before:
            yield broken(step.heard, f"progress {value} after {before}; more was due")
        else:
            yield kept(step.heard)
        last[step.request.sent.n] = value


@rule("progress.stop", reads=("progress",))
def progress_stops_with_the_answer(seen: ProbeSession) -> Iterator[Note]:
    """Nothing about a request once it is answered."""
    for step in _steps(seen):
        if _is_over(step):
            yield broken(step.heard, f"progress for {step.token!r:.60} after the answer")
        elif step.request is not None:
            yield kept(step.heard)


@rule("progress.message", reads=("progress",))
def messages_of_progress_say_something(seen: ProbeSession) -> Iterator[Note]:
    """Where there is a message it is not empty."""
    for step in _steps(seen):
        message = step.heard.params.get("message")
        if message is None:
            continue
        if isinstance(message, str) and message.strip():
            yield kept(step.heard)
        else:
            yield broken(step.heard, f"the message is {message!r:.60}; words were due")


@rule("progress.rate-limit", reads=("progress",))
def progress_does_not_flood(seen: ProbeSession) -> Iterator[Note]:
    """No more than a hundred in a second for one request."""
    times: defaultdict[int, list[Heard]] = defaultdict(list)
    for step in _steps(seen):
        if step.request is not None:
            times[step.request.sent.n].append(step.heard)
    for told in times.values():
        flood = [
            later
            for first, later in zip(told, told[_FLOOD:], strict=False)
            if later.frame.at - first.frame.at < 1
        ]
        if flood:
            yield broken(flood[0], f"more than {_FLOOD} notifications within a second")
        else:
            yield kept(told[0])


# -- tasks -----------------------------------------------------------------------------------------

_TERMINAL = ("completed", "failed", "cancelled")
_RELATED = f"{keys.PREFIX}related-task"


def _task_id(request: Exchange) -> Any:
    task = (request.result or {}).get("task")
    return task.get("taskId") if isinstance(task, dict) else None


@rule("progress.task-same-token", reads=("task-progress",))
def tasks_keep_their_token(seen: ProbeSession) -> Iterator[Note]:
    """What is told about a task has the token that its request gave."""
    if not seen.has("tasks"):
        yield absent("tasks are not declared")
        return
    asked = [exchange for exchange in seen.sent("tools/call") if "task" in exchange.params]
    known = [id for id in (_task_id(request) for request in asked) if id is not None]
    for step in _steps(seen):
        meta = step.heard.params.get("_meta")
        related = meta.get(_RELATED) if isinstance(meta, dict) else None
        about = related.get("taskId") if isinstance(related, dict) else None
        if step.request is None and about in known:
            yield broken(step.heard, f"progress of a task for {step.token!r:.60}, not its token")
        elif step.request is not None and "task" in step.request.params:
            yield kept(step.heard)


@rule("progress.task-stop", reads=("task-progress",))
def progress_of_a_task_stops_with_it(seen: ProbeSession) -> Iterator[Note]:
    """Nothing once the task was seen in a state that it does not leave."""
    if not seen.has("tasks"):
        yield absent("tasks are not declared")
        return
    for step in _steps(seen):
        if step.request is None or "task" not in step.request.params:
            continue
        over = _over_at(seen, _task_id(step.request))
        if over is not None and over < step.heard.frame.n:
            yield broken(step.heard, f"progress for {step.token!r:.60} after the end of the task")
        else:
            yield kept(step.heard)


def _over_at(seen: ProbeSession, id: Any) -> int | None:
    """The number of the frame that first showed the task in such a state."""
    for exchange in seen.sent("tasks/get", "tasks/cancel"):
        result = exchange.result or {}
        if result.get("taskId") == id and result.get("status") in _TERMINAL:
            return exchange.answer.frame.n if exchange.answer is not None else None
    return None
