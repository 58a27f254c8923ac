"""basic/index: messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.escaping import shown
from dovetail_check.exchanges import NO_JSON, Exchange, Incoming
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.reading import (
    errors_in,
    id_key,
    messages,
    sent_ids,
    unmatched_responses,
)
from dovetail_check.shapes.by_method import REQUESTS
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated

__all__: list[str] = []

unjudged |= {
    "base.result.free-form": "a permission: nothing to violate; rules ignore unknown members",
    "base.error.data": "a permission: nothing to violate",
    "base.auth.http-conform": "covered by the individual rows of the authorization pages",
}

# Probes that send something other than a single request: the server may not find the id.
_UNREADABLE = ("garbage", "batch", "batch-removed")
# Requests that a server answers by itself, without a tool or a handler that may take long.
_PROMPT = (
    *("ids", "errors", "cursors", "meta-keys", "set-levels"),
    *("complete/unknown", "complete/missing", "prompt-refusals/unknown"),
    *("resource-refusals/unknown", "resource-refusals/malformed"),
    *("tool-refusals/unknown", "tool-refusals/malformed"),
)
# Seconds in which a response without an id may belong to an earlier message.
_RECENT = 10.0


@rule("base.core-components", reads=tuple(dict.fromkeys(tag.partition("/")[0] for tag in _PROMPT)))
def opening_and_requests_are_answered(session: ProbeSession) -> Iterator[Note]:
    """Requests after the opening exchange get answers, if no tool or handler runs for them."""
    if session.opening is None:
        return
    asked = [exchange for exchange in session.tagged("ids") if exchange.id is not None]
    ignored = [exchange for exchange in session.tagged(*_PROMPT) if _is_ignored(session, exchange)]
    if asked and all(exchange.answer is None for exchange in asked):
        yield violated(asked[0], f"{asked[0].method} got {asked[0].describe()}; expected an answer")
    for exchange in ignored:
        what = f"{exchange.method} ({exchange.tag}, id {shown(exchange.id)})"
        yield violated(exchange, f"{what} got no answer, but later requests did")
    if asked and not ignored:
        yield satisfied(session.opening)


def _is_ignored(session: ProbeSession, exchange: Exchange) -> bool:
    """Whether a request was never answered, unlike a later one on the same connection."""
    is_failure = exchange.failure is not None or (exchange.status or 200) >= 300
    return (
        exchange.answer is None
        and not is_failure
        and any(
            later.answer is not None
            and later.connection == exchange.connection
            and later.sent.n > exchange.sent.n
            for later in session.exchanges
        )
    )


@rule("base.jsonrpc.valid")
def every_message_is_json_rpc(session: ProbeSession) -> Iterator[Note]:
    """Version, id, method, result and error follow JSON-RPC 2.0."""
    for incoming in messages(session):
        if incoming.value is NO_JSON:
            yield violated(incoming, f"not JSON: {incoming.frame.data[:80]!r}")
        elif problems := _problems(session, incoming):
            yield violated(incoming, f"not a JSON-RPC 2.0 message: {'; '.join(problems[:3])}")
        else:
            yield satisfied(incoming)


def _problems(session: ProbeSession, incoming: Incoming) -> list[str]:
    problems = shapes.envelope_problems(incoming.value, session.revision)
    # http.origin.403 (2025-11-25 basic/transports): an error body may omit the id, and so may
    # the body for a notification that is not accepted.
    is_error = incoming.frame.status is not None and incoming.frame.status >= 400
    return [problem for problem in problems if not (is_error and problem == "id: missing")]


# base.response.id-echo (2025-11-25 basic/index): the same id, in type and value.
@rule("base.response.id-echo", reads=("ids",))
def answers_have_the_id_of_the_request(session: ProbeSession) -> Iterator[Note]:
    """Each response repeats the id of its request; none has an unknown id or comes twice."""
    for exchange in session.exchanges:
        if not _has_id(exchange) or exchange.tag.partition("/")[0] in _UNREADABLE:
            continue
        answer = exchange.answer
        # A request with a foreign Origin is rejected before its body is read.
        if answer is not None and exchange.status != 403:
            yield _judge_id(exchange, answer.message.get("id"))
    yield from _unknown_ids(session)
    yield from _repeated(session)


def _repeated(session: ProbeSession) -> Iterator[Note]:
    """Second responses to a request: on its stream, or on stdio after the first one."""
    answered: dict[tuple[str, tuple[str, str]], Exchange] = {}
    for exchange in session.exchanges:
        if not _has_id(exchange) or exchange.is_replay or exchange.answer is None:
            continue
        key = id_key(exchange.id)
        answered[exchange.connection, key] = exchange
        same = [one for one in exchange.incoming if _answers(one, key)]
        if len(same) > 1:
            yield violated(same[1], f"a second response to {exchange.method} came")
    for incoming in messages(session):
        found = answered.get((incoming.frame.connection, id_key(incoming.message.get("id"))))
        if found is None or incoming.exchange is not None or not incoming.is_response:
            continue
        if found.answer is not None and found.answer.frame.n < incoming.frame.n:
            yield violated(incoming, f"a second response to {found.method} came")


def _answers(incoming: Incoming, key: tuple[str, str]) -> bool:
    return incoming.is_response and id_key(incoming.message.get("id")) == key


def _judge_id(exchange: Exchange, id: Any) -> Note:
    if id == exchange.id and type(id) is type(exchange.id):
        return satisfied(exchange)
    text = f"the response has the id {id!r}, the request had {exchange.id!r}"
    if id is None and exchange.status is not None and exchange.status >= 400:
        # The transports page allows an error body without an id, but only for other input.
        return ambiguous(exchange, f"{text}; status {exchange.status} may mean it was not read")
    return violated(exchange, text)


def _unknown_ids(session: ProbeSession) -> Iterator[Note]:
    known = sent_ids(session)
    for incoming in messages(session):
        id = incoming.message.get("id")
        if incoming.exchange is not None or not incoming.is_response:
            continue
        if id is None and _has_readable_id(session, incoming):
            yield violated(incoming, "a response has no id, but the request before it had one")
        elif id is not None and id_key(id) not in known:
            yield violated(incoming, f"a response has the id {id!r}, which no request had")


def _has_readable_id(session: ProbeSession, incoming: Incoming) -> bool:
    """Whether all unanswered requests before an unmatched response have ids and are readable."""
    before = [
        exchange
        for exchange in session.exchanges
        if exchange.connection == incoming.frame.connection
        and exchange.sent.n < incoming.frame.n
        and exchange.answer is None
        and exchange.sent.at > incoming.frame.at - _RECENT
    ]
    return bool(before) and all(
        _has_id(exchange) and exchange.tag.partition("/")[0] not in _UNREADABLE
        for exchange in before
    )


def _has_id(exchange: Exchange) -> bool:
    return exchange.id is not None and exchange.method is not None


@rule("base.response.result-or-error")
def responses_have_one_of_result_and_error(session: ProbeSession) -> Iterator[Note]:
    """Exactly one of the two."""
    for incoming in messages(session):
        members = incoming.message
        if "method" in members or not members:
            continue
        found = [name for name in ("result", "error") if name in members]
        if len(found) == 1:
            yield satisfied(incoming)
        else:
            got = "both result and error" if found else "neither result nor error"
            yield violated(incoming, f"a response has {got}; expected exactly one of them")


@rule("base.result.is-object")
def results_are_objects(session: ProbeSession) -> Iterator[Note]:
    """The member `result` holds a JSON object."""
    for incoming in messages(session):
        if incoming.is_response and "result" in incoming.message:
            result = incoming.message["result"]
            if isinstance(result, dict):
                yield satisfied(incoming)
            else:
                yield violated(incoming, f"the result is {shown(result)}; expected an object")


# -- requests and notifications of the server ------------------------------------------------------

_REQUEST_METHODS = frozenset(name.removesuffix("?") for name in REQUESTS)


@rule("base.request.id-present")
def requests_of_the_server_have_ids(session: ProbeSession) -> Iterator[Note]:
    """A string or an integer. Without an id the request would be a notification."""
    for incoming in messages(session):
        id = incoming.message.get("id")
        if incoming.is_request and (isinstance(id, str) or _is_integer(id)):
            yield satisfied(incoming)
        elif incoming.is_request and id is not None:
            yield violated(
                incoming, f"{incoming.method} has the id {id!r:.60}; expected a string or integer"
            )
        elif incoming.is_notification and incoming.method in _REQUEST_METHODS:
            yield violated(incoming, f"{incoming.method} is a request, but it came without an id")


def _is_integer(id: Any) -> bool:
    is_number = isinstance(id, int | float) and not isinstance(id, bool)
    return is_number and id == id // 1


@rule("base.request.id-not-null")
def requests_of_the_server_have_no_null_id(session: ProbeSession) -> Iterator[Note]:
    """MCP forbids null, which JSON-RPC allows."""
    for incoming in session.requests:
        if incoming.message["id"] is None:
            yield violated(incoming, f"{incoming.method} has the id null")
        else:
            yield satisfied(incoming)


@rule("base.request.id-unique")
def requests_of_the_server_have_new_ids(session: ProbeSession) -> Iterator[Note]:
    """No id is used twice on one connection; a new process may use the ids of the old one."""
    used: Counter[tuple[int, tuple[str, str]]] = Counter()
    starts = [frame for frame in session.frames if frame.kind == "started"]
    for incoming in session.requests:
        place, number = incoming.frame.connection, incoming.frame.n
        before = [one.n for one in starts if one.connection == place and one.n < number]
        key = max(before, default=-1), id_key(incoming.message["id"])
        used[key] += 1
        if used[key] > 1:
            yield violated(incoming, f"{incoming.method} reuses the id {incoming.message['id']!r}")
        else:
            yield satisfied(incoming)


@rule("base.notification.no-id")
def notifications_have_no_id(session: ProbeSession) -> Iterator[Note]:
    """A method under notifications/ has no id."""
    for incoming in messages(session):
        if incoming.method is not None and incoming.method.startswith("notifications/"):
            if "id" in incoming.message:
                id = incoming.message["id"]
                yield violated(incoming, f"{incoming.method} has the id {id!r}; expected no id")
            else:
                yield satisfied(incoming)


@rule("base.notification.no-reply", reads=("notices", "cancellations"))
def notifications_are_not_answered(session: ProbeSession) -> Iterator[Note]:
    """Known or unknown, they get no response. An HTTP error may have a body without an id."""
    sent = [*session.tagged("notices"), *session.tagged("cancellations")]
    for exchange in sent:
        if exchange.id is not None or exchange.method is None:
            continue
        answers = [
            *(h for h in exchange.incoming if h.is_response),
            *unmatched_responses(session, exchange),
        ]
        if not answers or _is_rejection(exchange):
            yield satisfied(exchange)
        else:
            yield violated(
                answers[0],
                f"{exchange.method} got {shown(answers[0].message)}; expected no response",
            )


def _is_rejection(exchange: Exchange) -> bool:
    """Whether the server rejected the input with an HTTP error body without an id."""
    answer = exchange.answer
    is_error = exchange.status is not None and exchange.status >= 400
    return is_error and answer is not None and answer.message.get("id") is None


# base.error.id-omitted-if-unreadable (2025-11-25 basic/index): only then.
@rule("base.error.id-omitted-if-unreadable", reads=("garbage",))
def only_unreadable_requests_get_errors_without_id(session: ProbeSession) -> Iterator[Note]:
    """Only requests whose id cannot be read get an error without an id."""
    for incoming, _ in errors_in(session):
        if incoming.message.get("id") is not None or incoming.exchange is None:
            continue
        exchange = incoming.exchange
        if exchange.status == 403:
            continue
        if _has_id(exchange) and exchange.tag.partition("/")[0] not in _UNREADABLE:
            yield violated(
                incoming, f"an error without an id; the request had the id {exchange.id!r}"
            )
        else:
            yield satisfied(incoming)
