"""basic/index: messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.exchanges import NO_JSON, Exchange, Heard
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.reading import (
    errors_in,
    id_key,
    loose_answers,
    messages,
    sent_ids,
)
from dovetail_check.shapes.by_method import REQUESTS
from dovetail_check.verdicts import Note, broken, kept, unsettled

__all__: list[str] = []

unjudged |= {
    "base.result.free-form": "a permission: nothing to break; no rule minds unknown members",
    "base.error.data": "a permission: nothing to break",
    "base.auth.http-conform": "the rows of the authorization pages are judged one by one",
}

# What was sent without being a request, so that its id may have gone unread.
_UNREADABLE = ("garbage", "batch", "batch-removed")


@rule("base.core-components", reads=("ids",))
def opening_and_requests_are_answered(seen: ProbeSession) -> Iterator[Note]:
    """After the opening, requests that are well-formed get answers."""
    if seen.opening is None:
        return
    asked = [exchange for exchange in seen.tagged("ids") if exchange.id is not None]
    silent = [exchange for exchange in asked if exchange.answer is None]
    if asked and len(silent) == len(asked):
        yield broken(silent[0], f"{silent[0].method} got {silent[0].describe()} after the opening")
    elif asked:
        yield kept(seen.opening)


@rule("base.jsonrpc.valid")
def every_message_is_json_rpc(seen: ProbeSession) -> Iterator[Note]:
    """Version, id, method, result and error as JSON-RPC has them."""
    for heard in messages(seen):
        if heard.value is NO_JSON:
            yield broken(heard, f"no JSON: {heard.frame.data[:80]!r}")
        elif problems := _problems(seen, heard):
            yield broken(heard, f"no message of JSON-RPC 2.0: {'; '.join(problems[:3])}")
        else:
            yield kept(heard)


def _problems(seen: ProbeSession, heard: Heard) -> list[str]:
    problems = shapes.envelope_problems(heard.value, seen.revision)
    # http.origin.403 (2025-11-25 basic/transports): a body that refuses may go without an id, as
    # may the one for a notification that is not accepted.
    is_refusal = heard.frame.status is not None and heard.frame.status >= 400
    return [problem for problem in problems if not (is_refusal and problem == "id: missing")]


# base.response.id-echo (2025-11-25 basic/index): the same id, in type and value.
@rule("base.response.id-echo", reads=("ids",))
def answers_have_the_id_of_the_request(seen: ProbeSession) -> Iterator[Note]:
    """Each answer has the id that was sent; none has an id that never was."""
    for exchange in seen.exchanges:
        if not _has_id(exchange) or exchange.tag.partition("/")[0] in _UNREADABLE:
            continue
        answer = exchange.answer
        # A foreign Origin is refused before anything is read.
        if answer is not None and exchange.status != 403:
            yield _judge_id(exchange, answer.message.get("id"))
    yield from _strange_ids(seen)


def _judge_id(exchange: Exchange, id: Any) -> Note:
    if id == exchange.id and type(id) is type(exchange.id):
        return kept(exchange)
    text = f"the answer has the id {id!r}; {exchange.id!r} was sent"
    if id is None and exchange.status is not None and exchange.status >= 400:
        # The transports let such a body go without an id, but say so of other input only.
        return unsettled(exchange, f"{text}; status {exchange.status} may mean it went unread")
    return broken(exchange, text)


def _strange_ids(seen: ProbeSession) -> Iterator[Note]:
    known = sent_ids(seen)
    for heard in messages(seen):
        id = heard.message.get("id")
        is_stray = heard.exchange is None and heard.is_response and id is not None
        if is_stray and id_key(id) not in known:
            yield broken(heard, f"a response with the id {id!r}, which no request had")


def _has_id(exchange: Exchange) -> bool:
    return exchange.id is not None and exchange.method is not None


@rule("base.response.result-or-error")
def responses_have_one_of_result_and_error(seen: ProbeSession) -> Iterator[Note]:
    """Never both, never neither."""
    for heard in messages(seen):
        members = heard.message
        if "method" in members or not members:
            continue
        found = [name for name in ("result", "error") if name in members]
        if len(found) == 1:
            yield kept(heard)
        else:
            came = "both a result and an error" if found else "neither a result nor an error"
            yield broken(heard, f"a response with {came}; one of them was due")


@rule("base.result.is-object")
def results_are_objects(seen: ProbeSession) -> Iterator[Note]:
    """The member `result` holds a JSON object."""
    for heard in messages(seen):
        if heard.is_response and "result" in heard.message:
            result = heard.message["result"]
            if isinstance(result, dict):
                yield kept(heard)
            else:
                yield broken(heard, f"the result is {result!r:.60}; an object was due")


# -- requests and notifications of the server ------------------------------------------------------

_REQUEST_METHODS = frozenset(name.removesuffix("?") for name in REQUESTS)


@rule("base.request.id-present")
def requests_of_the_server_have_ids(seen: ProbeSession) -> Iterator[Note]:
    """A string or an integer; without one a request would be a notification."""
    for heard in messages(seen):
        id = heard.message.get("id")
        if heard.is_request and (isinstance(id, str) or _is_integer(id)):
            yield kept(heard)
        elif heard.is_request and id is not None:
            yield broken(
                heard, f"{heard.method} has the id {id!r:.60}; a string or integer was due"
            )
        elif heard.is_notification and heard.method in _REQUEST_METHODS:
            yield broken(heard, f"{heard.method} is a request, but it came without an id")


def _is_integer(id: Any) -> bool:
    is_number = isinstance(id, int | float) and not isinstance(id, bool)
    return is_number and id == id // 1


@rule("base.request.id-not-null")
def requests_of_the_server_have_no_null_id(seen: ProbeSession) -> Iterator[Note]:
    """JSON-RPC would allow null."""
    for heard in seen.requests:
        if heard.message["id"] is None:
            yield broken(heard, f"{heard.method} has the id null")
        else:
            yield kept(heard)


@rule("base.request.id-unique")
def requests_of_the_server_have_new_ids(seen: ProbeSession) -> Iterator[Note]:
    """No id is used twice on one line."""
    used: Counter[tuple[str, tuple[str, str]]] = Counter()
    for heard in seen.requests:
        key = heard.frame.line, id_key(heard.message["id"])
        used[key] += 1
        if used[key] > 1:
            yield broken(heard, f"{heard.method} has the id {heard.message['id']!r} of another one")
        else:
            yield kept(heard)


@rule("base.notification.no-id")
def notifications_have_no_id(seen: ProbeSession) -> Iterator[Note]:
    """What is called notifications/... tells and does not ask."""
    for heard in messages(seen):
        if heard.method is not None and heard.method.startswith("notifications/"):
            if "id" in heard.message:
                id = heard.message["id"]
                yield broken(heard, f"{heard.method} has the id {id!r}; none was due")
            else:
                yield kept(heard)


@rule("base.notification.no-reply", reads=("notices", "cancellations"))
def notifications_are_not_answered(seen: ProbeSession) -> Iterator[Note]:
    """No response, known or unknown; an HTTP error may have a body without an id."""
    sent = [*seen.tagged("notices"), *seen.tagged("cancellations")]
    for exchange in sent:
        if exchange.id is not None or exchange.method is None:
            continue
        answers = [*(h for h in exchange.heard if h.is_response), *loose_answers(seen, exchange)]
        if not answers or _is_refusal(exchange):
            yield kept(exchange)
        else:
            yield broken(answers[0], f"{exchange.method} got {answers[0].message!r:.120}")


def _is_refusal(exchange: Exchange) -> bool:
    """A server that cannot accept input may say so in a body without an id."""
    answer = exchange.answer
    is_error = exchange.status is not None and exchange.status >= 400
    return is_error and answer is not None and answer.message.get("id") is None


# base.error.id-omitted-if-unreadable (2025-11-25 basic/index): only then.
@rule("base.error.id-omitted-if-unreadable", reads=("garbage",))
def only_unreadable_requests_get_errors_without_id(seen: ProbeSession) -> Iterator[Note]:
    """An error without an id answers what could not be read."""
    for heard, _ in errors_in(seen):
        if heard.message.get("id") is not None or heard.exchange is None:
            continue
        exchange = heard.exchange
        if exchange.status == 403:
            continue
        if _has_id(exchange) and exchange.tag.partition("/")[0] not in _UNREADABLE:
            yield broken(heard, f"an error without an id; {exchange.id!r} was sent")
        else:
            yield kept(heard)
