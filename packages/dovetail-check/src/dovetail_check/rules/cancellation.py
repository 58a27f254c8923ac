"""basic/utilities/cancellation, basic/patterns/cancellation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check.exchanges import Heard
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.reading import lived_on, loose_answers
from dovetail_check.verdicts import Note, broken, kept, unsettled

__all__: list[str] = []

_SLOW = "a request would have to run long enough to be cancelled; what a stranger's tool does is "
unjudged |= {
    "cancel.may-ignore": "a permission: nothing to break",
    "cancel.stop": _SLOW + "not known",
    "cancel.no-response": _SLOW + "not known, and an answer may have crossed the notification",
    "cancel.server-listen-teardown": "the server would have to end a stream by itself; the pages "
    "contradict each other about how",
}


def _cancelled(seen: ProbeSession) -> list[Heard]:
    return seen.notifications("notifications/cancelled")


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) and type(one) is type(other)


def _requests_before(seen: ProbeSession, heard: Heard) -> list[Heard]:
    """What the server had asked on that line under the id that it cancels."""
    return [
        request
        for request in seen.requests
        if _same(request.message["id"], heard.params.get("requestId"))
        and request.frame.line == heard.frame.line
        and request.frame.n < heard.frame.n
    ]


@rule("cancel.own-direction")
def the_server_cancels_its_own_requests(seen: ProbeSession) -> Iterator[Note]:
    """Those it sent on the same line, and that had no answer yet."""
    for heard in _cancelled(seen):
        id = heard.params.get("requestId")
        asked = _requests_before(seen, heard)
        if not asked:
            yield broken(heard, f"it cancels {id!r:.60}, which is no request of the server")
        elif _is_answered(seen, heard, id):
            yield unsettled(heard, f"it cancels {id!r:.60}, which was answered: perhaps a race")
        else:
            yield kept(heard)


def _is_answered(seen: ProbeSession, heard: Heard, id: Any) -> bool:
    return any(
        exchange.tag == "answer"
        and exchange.line == heard.frame.line
        and exchange.sent.n < heard.frame.n
        and _same(exchange.id, id)
        for exchange in seen.exchanges
    )


@rule("cancel.task-uses-tasks-cancel")
def tasks_are_cancelled_otherwise(seen: ProbeSession) -> Iterator[Note]:
    """A request that was sent as a task is cancelled by tasks/cancel."""
    for heard in _cancelled(seen):
        for request in _requests_before(seen, heard):
            if "task" in request.params:
                yield broken(heard, f"{request.method} was sent as a task; tasks/cancel was due")
            else:
                yield kept(heard)


@rule("cancel.server-only-listen")
def the_server_cancels_only_subscriptions(seen: ProbeSession) -> Iterator[Note]:
    """What it names is a subscriptions/listen that the client sent."""
    listening = [exchange.id for exchange in seen.sent("subscriptions/listen")]
    for heard in _cancelled(seen):
        id = heard.params.get("requestId")
        if any(_same(id, known) for known in listening):
            yield kept(heard)
        else:
            yield broken(heard, f"it cancels {id!r:.60}, which is no subscriptions/listen")


@rule("cancel.race", reads=("cancellations",))
def late_cancellations_do_no_harm(seen: ProbeSession) -> Iterator[Note]:
    """A finished request is cancelled, and the next one is answered."""
    for exchange in seen.tagged("cancellations/finished"):
        alive = lived_on(seen, exchange)
        if alive is False:
            yield broken(exchange, "nothing is answered after a cancellation that came too late")
        elif alive:
            yield kept(exchange)


@rule("cancel.invalid-ignored", reads=("cancellations",))
def invalid_cancellations_are_ignored(seen: ProbeSession) -> Iterator[Note]:
    """Unknown, finished or malformed: no answer, and the server lives on."""
    for variant in ("finished", "unknown", "malformed"):
        for exchange in seen.tagged(f"cancellations/{variant}"):
            answers = [h for h in exchange.heard if h.is_response]
            answers += loose_answers(seen, exchange)
            status = exchange.status
            if lived_on(seen, exchange) is False:
                yield broken(exchange, f"nothing is answered after a cancellation: {variant}")
            elif status is not None and status >= 400:
                text = f"{variant}: status {status}. Ignored it should be; a transport may refuse"
                yield unsettled(exchange, f"{text} what it cannot accept")
            elif answers:
                yield broken(exchange, f"{variant}: it got {answers[0].message!r:.100}")
            else:
                yield kept(exchange)
