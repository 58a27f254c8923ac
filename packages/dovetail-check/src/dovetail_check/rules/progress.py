"""basic/utilities/progress, basic/patterns/progress."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from dovetail.spec import keys
from dovetail_check.exchanges import Exchange, Incoming
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, not_applicable, satisfied, violated

__all__: list[str] = []

unjudged |= {
    "progress.float": "a permission: nothing to violate",
    "progress.none": "a permission: nothing to violate",
}

# More than this many in one second are a flood.
_FLOOD = 100


class _Step(NamedTuple):
    """One notification, and the request whose token it names; None if no request has it."""

    incoming: Incoming
    request: Exchange | None
    # Whether the token also has the type that was sent.
    is_exact: bool

    @property
    def token(self) -> Any:
        return self.incoming.params.get("progressToken")


def _steps(session: ProbeSession) -> list[_Step]:
    """Every progress notification, in order."""
    given = _tokens(session)
    return [_step(incoming, given) for incoming in session.notifications("notifications/progress")]


def _tokens(session: ProbeSession) -> list[tuple[Any, Exchange]]:
    found = []
    for exchange in session.exchanges:
        meta = exchange.params.get("_meta")
        if isinstance(meta, dict) and keys.PROGRESS_TOKEN in meta and exchange.id is not None:
            found.append((meta[keys.PROGRESS_TOKEN], exchange))
    return found


def _step(incoming: Incoming, given: list[tuple[Any, Exchange]]) -> _Step:
    """Match a notification to the last earlier request with its token on the same connection."""
    token = incoming.params.get("progressToken")
    before = [
        (sent, exchange)
        for sent, exchange in reversed(given)
        if exchange.connection == incoming.frame.connection and exchange.sent.n < incoming.frame.n
    ]
    for sent, exchange in before:
        if sent == token and type(sent) is type(token):
            return _Step(incoming, exchange, is_exact=True)
    for sent, exchange in before:
        if token is not None and str(sent) == str(token):
            return _Step(incoming, exchange, is_exact=False)
    return _Step(incoming, None, is_exact=False)


def _is_over(step: _Step) -> bool:
    """Whether the request was already answered. A task continues after its first response."""
    request = step.request
    if request is None or request.answer is None or "task" in request.params:
        return False
    is_stream = step.incoming.frame.kind == "event"
    if is_stream and step.incoming.exchange is not request:
        # Messages on two connections have no order.
        return False
    return request.answer.frame.n < step.incoming.frame.n


@rule("progress.token-known", reads=("progress",))
def progress_names_a_token_of_a_request(session: ProbeSession) -> Iterator[Note]:
    """The token belongs to a request on the same connection."""
    for step in _steps(session):
        if step.request is None:
            yield violated(
                step.incoming, f"progress for the token {step.token!r:.60}, which no request has"
            )
        else:
            yield satisfied(step.incoming)


@rule("progress.token-type", reads=("progress",))
def tokens_keep_their_type(session: ProbeSession) -> Iterator[Note]:
    """A number stays a number, and a string stays a string."""
    for step in _steps(session):
        if step.request is not None and not step.is_exact:
            yield violated(
                step.incoming, f"the token came back as {step.token!r}, which has another type"
            )
        elif step.request is not None:
            yield satisfied(step.incoming)


@rule("progress.increasing", reads=("progress",))
def progress_increases(session: ProbeSession) -> Iterator[Note]:
    """Each progress value of a request is larger than the one before."""
    last: dict[int, Any] = {}
    for step in _steps(session):
        value = step.incoming.params.get("progress")
        if step.request is None or not isinstance(value, int | float) or isinstance(value, bool):
            continue
        before = last.get(step.request.sent.n)
        if before is not None and value <= before:
            yield violated(step.incoming, f"progress {value} after {before}; expected an increase")
        else:
            yield satisfied(step.incoming)
        last[step.request.sent.n] = value


@rule("progress.stop", reads=("progress",))
def progress_stops_with_the_answer(session: ProbeSession) -> Iterator[Note]:
    """No progress comes after the response."""
    for step in _steps(session):
        if _is_over(step):
            yield violated(step.incoming, f"progress for {step.token!r:.60} after the response")
        elif step.request is not None:
            yield satisfied(step.incoming)


@rule("progress.message", reads=("progress",))
def progress_messages_are_not_empty(session: ProbeSession) -> Iterator[Note]:
    """A message, if present, is a string that is not empty."""
    for step in _steps(session):
        message = step.incoming.params.get("message")
        if message is None:
            continue
        if isinstance(message, str) and message.strip():
            yield satisfied(step.incoming)
        else:
            yield violated(step.incoming, f"the message is {message!r:.60}; expected text")


@rule("progress.rate-limit", reads=("progress",))
def progress_does_not_flood(session: ProbeSession) -> Iterator[Note]:
    """At most a hundred notifications per second for one request."""
    times: defaultdict[int, list[Incoming]] = defaultdict(list)
    for step in _steps(session):
        if step.request is not None:
            times[step.request.sent.n].append(step.incoming)
    for sent in times.values():
        flood = [
            later
            for first, later in zip(sent, sent[_FLOOD:], strict=False)
            if later.frame.at - first.frame.at < 1
        ]
        if flood:
            yield violated(flood[0], f"more than {_FLOOD} progress notifications within a second")
        else:
            yield satisfied(sent[0])


# -- tasks -----------------------------------------------------------------------------------------

_TERMINAL = ("completed", "failed", "cancelled")
_RELATED = f"{keys.PREFIX}related-task"


def _task_id(request: Exchange) -> Any:
    task = (request.result or {}).get("task")
    return task.get("taskId") if isinstance(task, dict) else None


@rule("progress.task-same-token", reads=("task-progress",))
def tasks_keep_their_token(session: ProbeSession) -> Iterator[Note]:
    """Progress of a task has the token of the request that created it."""
    if not session.has("tasks"):
        yield not_applicable("tasks are not declared")
        return
    asked = [exchange for exchange in session.sent("tools/call") if "task" in exchange.params]
    known = [id for id in (_task_id(request) for request in asked) if id is not None]
    for step in _steps(session):
        meta = step.incoming.params.get("_meta")
        related = meta.get(_RELATED) if isinstance(meta, dict) else None
        about = related.get("taskId") if isinstance(related, dict) else None
        if step.request is None and about in known:
            yield violated(
                step.incoming,
                f"progress of a task has the token {step.token!r:.60}, which is not its own",
            )
        elif step.request is not None and "task" in step.request.params:
            yield satisfied(step.incoming)


@rule("progress.task-stop", reads=("task-progress",))
def progress_of_a_task_stops_with_it(session: ProbeSession) -> Iterator[Note]:
    """No progress comes after the task was seen in a terminal state."""
    if not session.has("tasks"):
        yield not_applicable("tasks are not declared")
        return
    for step in _steps(session):
        if step.request is None or "task" not in step.request.params:
            continue
        over = _over_at(session, _task_id(step.request))
        if over is not None and over < step.incoming.frame.n:
            yield violated(
                step.incoming, f"progress for {step.token!r:.60} after the end of the task"
            )
        else:
            yield satisfied(step.incoming)


def _over_at(session: ProbeSession, id: Any) -> int | None:
    """The number of the first frame that shows the task in a terminal state."""
    for exchange in session.sent("tasks/get", "tasks/cancel"):
        result = exchange.result or {}
        if result.get("taskId") == id and result.get("status") in _TERMINAL:
            return exchange.answer.frame.n if exchange.answer is not None else None
    return None
