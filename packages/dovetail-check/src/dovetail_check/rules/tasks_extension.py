"""The extension io.modelcontextprotocol/tasks (SEP-2663): which clients get and may query tasks."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail.spec import keys
from dovetail_check.escaping import shown
from dovetail_check.exchanges import Exchange
from dovetail_check.http_traffic import is_rejected
from dovetail_check.notes import answered, expect_codes
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.task_traffic import (
    NO_SUCH_TASK,
    OPEN,
    call_of,
    created_tasks,
    declares_extension,
    offers_extension,
    task_in,
    task_snapshots,
)
from dovetail_check.verdicts import Note, ambiguous, not_applicable, satisfied, violated

__all__ = ["not_offered"]

_PROBE = ("extension-tasks",)
_METHOD_NOT_FOUND = -32601
_INVALID_PARAMS = -32602
_HEADER_MISMATCH = -32020
_MISSING_CAPABILITY = -32021
# Members that an acknowledgement may have.
_EMPTY = frozenset({"resultType", "_meta"})
_NOT_FOR_TASKS = ("notifications/progress", "notifications/message")

unjudged["xtasks.authz"] = "needs the credentials of two users"


def not_offered(session: ProbeSession) -> Iterator[Note]:
    """Not applicable if the server does not declare the extension."""
    if session.opening is not None and not offers_extension(session.capabilities):
        yield not_applicable(f"the server does not declare {keys.TASKS}")


def _without(session: ProbeSession, *methods: str) -> list[Exchange]:
    """Answered requests that did not declare the extension."""
    return [one for one in answered(session.sent(*methods)) if not declares_extension(one)]


def _names_extension(exchange: Exchange) -> bool:
    data = (exchange.error or {}).get("data")
    required = data.get("requiredCapabilities") if isinstance(data, dict) else None
    return isinstance(required, dict) and offers_extension(required)


# -- which clients get a task ----------------------------------------------------------------------


@rule("xtasks.opt-in", reads=_PROBE)
def tasks_need_the_extension(session: ProbeSession) -> Iterator[Note]:
    """A request that does not declare the extension gets no task."""
    yield from not_offered(session)
    became = {call_of(snapshot.where) for snapshot in created_tasks(session)}
    for exchange in _without(session, "tools/call"):
        if task_in(exchange) is not None:
            text = f"the call of {exchange.params.get('name')!r:.60} became a task, but the client"
            yield violated(exchange, f"{text} did not declare {keys.TASKS}")
        elif call_of(exchange) in became:
            yield satisfied(exchange)


@rule("xtasks.missing-capability-32021", reads=_PROBE)
def calls_that_require_tasks_get_32021(session: ProbeSession) -> Iterator[Note]:
    """A call that only works as a task gets -32021, which names the extension."""
    yield from not_offered(session)
    for exchange in session.tagged("extension-tasks/plain"):
        if exchange.code is None:
            # The call also works without a task.
            continue
        if exchange.code != _MISSING_CAPABILITY:
            text = f"a call that works as a task got {exchange.describe()} without one"
            yield ambiguous(exchange, f"{text}: expected {_MISSING_CAPABILITY} if that is why")
        elif _names_extension(exchange):
            yield satisfied(exchange)
        else:
            data = (exchange.error or {}).get("data")
            text = f"{_MISSING_CAPABILITY} with the data {shown(data)}"
            yield violated(exchange, f"{text}; expected requiredCapabilities with {keys.TASKS}")


@rule("xtasks.non-declaring", reads=_PROBE)
def task_requests_need_the_extension(session: ProbeSession) -> Iterator[Note]:
    """Requests about tasks without the extension get -32021."""
    yield from not_offered(session)
    for exchange in session.tagged("extension-tasks/undeclared"):
        is_held = exchange.method == "subscriptions/listen" and exchange.incoming
        if is_held and exchange.answer is None:
            text = "subscribing to task notifications works without the extension"
            yield violated(exchange, f"{text}; expected {_MISSING_CAPABILITY}")
        elif exchange.code == _INVALID_PARAMS and exchange.params.get("taskId") == NO_SUCH_TASK:
            text = f"{exchange.method} got {exchange.describe()}: the task is also unknown"
            yield ambiguous(exchange, f"{text}, and the specification gives no precedence")
        else:
            what = f"{exchange.method} about a task without the extension"
            yield from expect_codes([exchange], what, (_MISSING_CAPABILITY,))


@rule("xtasks.result-removed", reads=_PROBE)
def core_tasks_are_removed(session: ProbeSession) -> Iterator[Note]:
    """tasks/result is unknown, the parameter `task` is ignored, the capability is not declared."""
    found = session.tagged("extension-tasks/removed")
    yield from expect_codes(
        found, "tasks/result, which this revision removed,", (_METHOD_NOT_FOUND,)
    )
    if "tasks" in session.capabilities:
        yield violated(
            session.opening, f"the capability `tasks` is declared; {keys.TASKS} replaced it"
        )
    for exchange in answered(session.tagged("extension-tasks/with-param")):
        mine = call_of(exchange)
        plain = [one for one in session.tagged("extension-tasks/plain") if call_of(one) == mine]
        if task_in(exchange) is not None:
            yield violated(
                exchange, "the parameter `task` created a task; expected it to be ignored"
            )
        elif plain and plain[-1].result is not None and exchange.code == _INVALID_PARAMS:
            text = f"the parameter `task` got {exchange.describe()}"
            yield violated(exchange, f"{text}; expected it to be ignored")
        else:
            yield satisfied(exchange)


# -- requests about tasks --------------------------------------------------------------------------


@rule("xtasks.update-ack", reads=_PROBE)
def updates_and_cancellations_are_acknowledged(session: ProbeSession) -> Iterator[Note]:
    """tasks/update and tasks/cancel get an empty result of type complete."""
    yield from not_offered(session)
    known = [snapshot.id for snapshot in created_tasks(session)]
    for exchange in answered(session.sent("tasks/update", "tasks/cancel")):
        if exchange.params.get("taskId") not in known or not declares_extension(exchange):
            continue
        result = exchange.result
        if result is None:
            text = f"{exchange.method} got {exchange.describe()}; expected a result"
            if _is_open_after(session, exchange):
                yield violated(exchange, text)
            else:
                yield ambiguous(exchange, f"{text}, unless the task has ended")
        elif extra := sorted(result.keys() - _EMPTY):
            text = f"the result of {exchange.method} has members: {', '.join(extra)[:100]}"
            yield violated(exchange, f"{text}; expected an empty result")
        elif result.get("resultType") != "complete":
            kind = result.get("resultType")
            yield violated(exchange, f"resultType is {kind!r:.60}; expected 'complete'")
        else:
            yield satisfied(exchange)


def _is_open_after(session: ProbeSession, exchange: Exchange) -> bool:
    """Whether the task of a request was still open after the request."""
    return any(
        snapshot.id == exchange.params.get("taskId")
        and snapshot.status in OPEN
        and snapshot.where.sent.n > exchange.sent.n
        for snapshot in task_snapshots(session)
    )


@rule("xtasks.unknown-id-get", reads=_PROBE)
def unknown_tasks_are_rejected(session: ProbeSession) -> Iterator[Note]:
    """tasks/get of an unknown id gets -32602. For the other methods this is only a SHOULD."""
    yield from not_offered(session)
    for exchange in answered(session.tagged("extension-tasks/unknown")):
        what = f"{exchange.method} of an unknown task"
        if exchange.method == "tasks/get" or exchange.code == _INVALID_PARAMS:
            yield from expect_codes([exchange], what, (_INVALID_PARAMS,))
        else:
            text = f"{what} got {exchange.describe()}"
            yield ambiguous(exchange, f"{text}; {_INVALID_PARAMS} is only a SHOULD here")


@rule("xtasks.header-name", reads=_PROBE)
def the_header_names_the_task(session: ProbeSession) -> Iterator[Note]:
    """A request whose Mcp-Name differs from its taskId is rejected."""
    yield from not_offered(session)
    for exchange in session.tagged("extension-tasks/name-mismatch"):
        named, id = exchange.sent.header("mcp-name"), exchange.params.get("taskId")
        if exchange.result is not None:
            text = f"tasks/get of {id!r:.60} with Mcp-Name: {named} succeeded"
            yield violated(exchange, f"{text}; expected {_HEADER_MISMATCH}")
        elif exchange.error is not None or is_rejected(exchange):
            yield satisfied(exchange)


@rule("xtasks.no-progress-on-listen", reads=_PROBE)
def task_streams_carry_no_other_notifications(session: ProbeSession) -> Iterator[Note]:
    """A subscription to a task gets neither progress nor log messages."""
    yield from not_offered(session)
    for exchange in session.sent("subscriptions/listen"):
        wanted = exchange.params.get("notifications")
        if not isinstance(wanted, dict) or not wanted.get("taskIds"):
            continue
        told = [incoming for incoming in exchange.incoming if incoming.is_notification]
        unrelated = [incoming for incoming in told if incoming.method in _NOT_FOR_TASKS]
        for incoming in unrelated:
            yield violated(incoming, f"{incoming.method} came on the stream of a task")
        if told and not unrelated:
            yield satisfied(exchange)
