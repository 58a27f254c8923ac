"""The extension io.modelcontextprotocol/tasks (SEP-2663): who gets a task, and may ask about it."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail.spec import keys
from dovetail_check.exchanges import Exchange
from dovetail_check.http_traffic import is_refused
from dovetail_check.noting import answered, expect_codes
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.task_traffic import (
    NO_SUCH_TASK,
    OPEN,
    call_of,
    created_tasks,
    glimpses,
    knows_extension,
    offers_extension,
    task_in,
)
from dovetail_check.verdicts import Note, absent, broken, kept, unsettled

__all__ = ["not_offered"]

_PROBE = ("extension-tasks",)
_METHOD_NOT_FOUND = -32601
_INVALID_PARAMS = -32602
_HEADER_MISMATCH = -32020
_MISSING_CAPABILITY = -32021
# What an acknowledgement may have.
_EMPTY = frozenset({"resultType", "_meta"})
_NOT_FOR_TASKS = ("notifications/progress", "notifications/message")

unjudged["xtasks.authz"] = "it takes the credentials of two users"


def not_offered(seen: ProbeSession) -> Iterator[Note]:
    """Why a rule does not apply, where the extension is not declared."""
    if seen.opening is not None and not offers_extension(seen.capabilities):
        yield absent(f"the server does not declare {keys.TASKS}")


def _without(seen: ProbeSession, *methods: str) -> list[Exchange]:
    """Requests of a client that did not declare the extension, with an answer."""
    return [one for one in answered(seen.sent(*methods)) if not knows_extension(one)]


def _names_extension(exchange: Exchange) -> bool:
    data = (exchange.error or {}).get("data")
    required = data.get("requiredCapabilities") if isinstance(data, dict) else None
    return isinstance(required, dict) and offers_extension(required)


# -- who gets a task -------------------------------------------------------------------------------


@rule("xtasks.opt-in", reads=_PROBE)
def nobody_gets_a_task_unasked(seen: ProbeSession) -> Iterator[Note]:
    """No task for a request that does not declare the extension."""
    yield from not_offered(seen)
    became = {call_of(glimpse.where) for glimpse in created_tasks(seen)}
    for exchange in _without(seen, "tools/call"):
        if task_in(exchange) is not None:
            text = f"the call of {exchange.params.get('name')!r:.60} became a task, but its client"
            yield broken(exchange, f"{text} did not declare {keys.TASKS}")
        elif call_of(exchange) in became:
            yield kept(exchange)


@rule("xtasks.missing-capability-32021", reads=_PROBE)
def what_only_a_task_can_do_says_so(seen: ProbeSession) -> Iterator[Note]:
    """-32021 that names the extension, for a call that is only served as a task."""
    yield from not_offered(seen)
    for exchange in seen.tagged("extension-tasks/plain"):
        if exchange.code is None:
            # It is served without a task.
            continue
        if exchange.code != _MISSING_CAPABILITY:
            text = f"a call that is served as a task got {exchange.describe()} without one"
            yield unsettled(exchange, f"{text}: {_MISSING_CAPABILITY} if that is why, else any")
        elif _names_extension(exchange):
            yield kept(exchange)
        else:
            data = (exchange.error or {}).get("data")
            text = f"{_MISSING_CAPABILITY} with the data {data!r:.100}"
            yield broken(exchange, f"{text}; requiredCapabilities with {keys.TASKS} was due")


@rule("xtasks.non-declaring", reads=_PROBE)
def only_who_knows_tasks_may_ask(seen: ProbeSession) -> Iterator[Note]:
    """-32021 for what is asked about tasks without the extension."""
    yield from not_offered(seen)
    for exchange in seen.tagged("extension-tasks/undeclared"):
        is_held = exchange.method == "subscriptions/listen" and exchange.heard
        if is_held and exchange.answer is None:
            text = "task notifications are subscribed to without the extension"
            yield broken(exchange, f"{text}; {_MISSING_CAPABILITY} was due")
        elif exchange.code == _INVALID_PARAMS and exchange.params.get("taskId") == NO_SUCH_TASK:
            text = f"{exchange.method} got {exchange.describe()}: the task does not exist either"
            yield unsettled(exchange, f"{text}, and which error comes first is not said")
        else:
            what = f"{exchange.method} about a task without the extension"
            yield from expect_codes([exchange], what, (_MISSING_CAPABILITY,))


@rule("xtasks.result-removed", reads=_PROBE)
def the_older_tasks_are_gone(seen: ProbeSession) -> Iterator[Note]:
    """tasks/result is unknown, the parameter `task` is ignored, the capability is not declared."""
    found = seen.tagged("extension-tasks/removed")
    yield from expect_codes(found, "tasks/result, which is gone,", (_METHOD_NOT_FOUND,))
    if "tasks" in seen.capabilities:
        yield broken(seen.opening, f"the capability `tasks` is declared; {keys.TASKS} replaced it")
    for exchange in answered(seen.tagged("extension-tasks/with-param")):
        mine = call_of(exchange)
        plain = [one for one in seen.tagged("extension-tasks/plain") if call_of(one) == mine]
        if task_in(exchange) is not None:
            yield broken(exchange, "the parameter `task` made a call a task; it was to be ignored")
        elif plain and plain[-1].result is not None and exchange.code == _INVALID_PARAMS:
            text = f"the parameter `task` got {exchange.describe()}"
            yield broken(exchange, f"{text}; it was to be ignored")
        else:
            yield kept(exchange)


# -- requests about tasks --------------------------------------------------------------------------


@rule("xtasks.update-ack", reads=_PROBE)
def updates_and_cancellations_are_acknowledged(seen: ProbeSession) -> Iterator[Note]:
    """An empty result that is complete."""
    yield from not_offered(seen)
    known = [glimpse.id for glimpse in created_tasks(seen)]
    for exchange in answered(seen.sent("tasks/update", "tasks/cancel")):
        if exchange.params.get("taskId") not in known or not knows_extension(exchange):
            continue
        result = exchange.result
        if result is None:
            text = f"{exchange.method} got {exchange.describe()}; a result was due"
            if _is_open_after(seen, exchange):
                yield broken(exchange, text)
            else:
                yield unsettled(exchange, f"{text}, unless that is invalid of what has ended")
        elif extra := sorted(result.keys() - _EMPTY):
            text = f"the result of {exchange.method} has members: {', '.join(extra)[:100]}"
            yield broken(exchange, f"{text}; an empty one was due")
        elif result.get("resultType") != "complete":
            kind = result.get("resultType")
            yield broken(exchange, f"resultType is {kind!r:.60}; 'complete' was due")
        else:
            yield kept(exchange)


def _is_open_after(seen: ProbeSession, exchange: Exchange) -> bool:
    """Whether the task of a request had not ended when it came."""
    return any(
        glimpse.id == exchange.params.get("taskId")
        and glimpse.status in OPEN
        and glimpse.where.sent.n > exchange.sent.n
        for glimpse in glimpses(seen)
    )


@rule("xtasks.unknown-id-get", reads=_PROBE)
def unknown_tasks_are_refused(seen: ProbeSession) -> Iterator[Note]:
    """-32602 for tasks/get of an id that nobody gave out; the others only should."""
    yield from not_offered(seen)
    for exchange in answered(seen.tagged("extension-tasks/unknown")):
        what = f"{exchange.method} of a task that does not exist"
        if exchange.method == "tasks/get" or exchange.code == _INVALID_PARAMS:
            yield from expect_codes([exchange], what, (_INVALID_PARAMS,))
        else:
            text = f"{what} got {exchange.describe()}"
            yield unsettled(exchange, f"{text}; {_INVALID_PARAMS} should be, but need not")


@rule("xtasks.header-name", reads=_PROBE)
def the_header_names_the_task(seen: ProbeSession) -> Iterator[Note]:
    """A request whose Mcp-Name is another id than its taskId is refused."""
    yield from not_offered(seen)
    for exchange in seen.tagged("extension-tasks/name-mismatch"):
        named, id = exchange.sent.header("mcp-name"), exchange.params.get("taskId")
        if exchange.result is not None:
            text = f"tasks/get of {id!r:.60} with Mcp-Name: {named} is served"
            yield broken(exchange, f"{text}; it was to be refused with {_HEADER_MISMATCH}")
        elif exchange.error is not None or is_refused(exchange):
            yield kept(exchange)


@rule("xtasks.no-progress-on-listen", reads=_PROBE)
def streams_of_tasks_tell_of_tasks(seen: ProbeSession) -> Iterator[Note]:
    """Neither progress nor log messages where a client listens to a task."""
    yield from not_offered(seen)
    for exchange in seen.sent("subscriptions/listen"):
        wanted = exchange.params.get("notifications")
        if not isinstance(wanted, dict) or not wanted.get("taskIds"):
            continue
        told = [heard for heard in exchange.heard if heard.is_notification]
        strangers = [heard for heard in told if heard.method in _NOT_FOR_TASKS]
        for heard in strangers:
            yield broken(heard, f"{heard.method} came on the stream of a task")
        if told and not strangers:
            yield kept(exchange)
