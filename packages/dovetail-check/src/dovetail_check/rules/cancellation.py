"""basic/utilities/cancellation, basic/patterns/cancellation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check.escaping import shown
from dovetail_check.exchanges import Exchange, Incoming
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.reading import still_answers, unmatched_responses
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated

__all__: list[str] = []

_SLOW = "needs a request that runs long enough to be cancelled; "
unjudged |= {
    "cancel.may-ignore": "a permission: nothing to violate",
    "cancel.stop": _SLOW + "the checker does not know one",
    "cancel.server-listen-teardown": "needs a server that ends a stream by itself; the "
    "specification pages disagree about how",
}


def _cancelled(session: ProbeSession) -> list[Incoming]:
    return session.notifications("notifications/cancelled")


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) and type(one) is type(other)


def _requests_before(session: ProbeSession, incoming: Incoming) -> list[Incoming]:
    """Earlier server requests on the same connection with the id that it cancels."""
    return [
        request
        for request in session.requests
        if _same(request.message["id"], incoming.params.get("requestId"))
        and request.frame.connection == incoming.frame.connection
        and request.frame.n < incoming.frame.n
    ]


@rule("cancel.own-direction")
def the_server_cancels_its_own_requests(session: ProbeSession) -> Iterator[Note]:
    """The cancelled request was sent on the same connection and is still unanswered."""
    for incoming in _cancelled(session):
        id = incoming.params.get("requestId")
        asked = _requests_before(session, incoming)
        if not asked:
            yield violated(incoming, f"cancels {id!r:.60}, which is not a request of the server")
        elif _is_answered(session, incoming, id):
            yield ambiguous(
                incoming, f"cancels {id!r:.60}, which was already answered: perhaps a race"
            )
        else:
            yield satisfied(incoming)


def _is_answered(session: ProbeSession, incoming: Incoming, id: Any) -> bool:
    return any(
        exchange.tag == "answer"
        and exchange.connection == incoming.frame.connection
        and exchange.sent.n < incoming.frame.n
        and _same(exchange.id, id)
        for exchange in session.exchanges
    )


@rule("cancel.task-uses-tasks-cancel")
def tasks_are_cancelled_by_tasks_cancel(session: ProbeSession) -> Iterator[Note]:
    """A request that was sent as a task is cancelled by tasks/cancel."""
    for incoming in _cancelled(session):
        for request in _requests_before(session, incoming):
            if "task" in request.params:
                yield violated(
                    incoming, f"{request.method} was sent as a task; expected tasks/cancel"
                )
            else:
                yield satisfied(incoming)


@rule("cancel.server-only-listen")
def the_server_cancels_only_subscriptions(session: ProbeSession) -> Iterator[Note]:
    """The cancelled id belongs to a subscriptions/listen of the client."""
    listening = [exchange.id for exchange in session.sent("subscriptions/listen")]
    for incoming in _cancelled(session):
        id = incoming.params.get("requestId")
        if any(_same(id, known) for known in listening):
            yield satisfied(incoming)
        else:
            yield violated(incoming, f"cancels {id!r:.60}, which is not a subscriptions/listen")


@rule("cancel.no-response", reads=("tool-calls", "cancel-call"))
def cancelled_calls_get_no_response(session: ProbeSession) -> Iterator[Note]:
    """A slow tool is called and cancelled; no response follows that of a later request."""
    later = session.tagged("cancel-call/cancelled")
    for exchange in session.tagged("cancel-call/call"):
        fences = [fence for fence in session.tagged("fence") if _follows(fence, later)]
        passed = fences[0].answer if fences else None
        if not later or passed is None:
            continue
        answer = exchange.answer
        if answer is None:
            yield satisfied(exchange)
        elif answer.frame.n > passed.frame.n:
            # The response is neither in flight nor finished when the server reads the cancellation.
            text = "after the response to a request that was sent after its cancellation"
            yield violated(
                exchange,
                f"a cancelled call got {exchange.describe()} {text}; expected none, unless it "
                "cannot be cancelled",
            )


def _follows(fence: Exchange, later: list[Exchange]) -> bool:
    return any(fence.connection == one.connection and fence.sent.n > one.sent.n for one in later)


@rule("cancel.race", reads=("cancellations",))
def late_cancellations_do_no_harm(session: ProbeSession) -> Iterator[Note]:
    """After the cancellation of a finished request, the server still responds."""
    for exchange in session.tagged("cancellations/finished"):
        alive = still_answers(session, exchange)
        if alive is False:
            yield violated(exchange, "the server stopped responding after a late cancellation")
        elif alive:
            yield satisfied(exchange)


@rule("cancel.invalid-ignored", reads=("cancellations",))
def invalid_cancellations_are_ignored(session: ProbeSession) -> Iterator[Note]:
    """Unknown, finished or malformed: no response, and the server still responds to others."""
    for variant in ("finished", "unknown", "malformed"):
        for exchange in session.tagged(f"cancellations/{variant}"):
            answers = [h for h in exchange.incoming if h.is_response]
            answers += unmatched_responses(session, exchange)
            status = exchange.status
            if still_answers(session, exchange) is False:
                yield violated(
                    exchange, f"the server stopped responding after a cancellation: {variant}"
                )
            elif status is not None and status >= 400:
                text = f"{variant}: status {status}; it should be ignored, but a transport may"
                yield ambiguous(exchange, f"{text} reject input that it cannot accept")
            elif answers:
                yield violated(
                    exchange, f"{variant}: got {shown(answers[0].message)}; expected no response"
                )
            else:
                yield satisfied(exchange)
