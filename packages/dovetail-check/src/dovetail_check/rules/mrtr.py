"""basic/patterns/mrtr: the form of input_required, and when it is allowed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dovetail.spec.methods import methods_at
from dovetail_check.escaping import shown
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.questions import (
    ASKS,
    INPUT_REQUIRED,
    input_requests,
    is_asking,
    missing_capability,
    questions_in,
)
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.reading import messages
from dovetail_check.verdicts import Note, satisfied, violated

__all__: list[str] = []

_ROUNDS = ("input-rounds",)
_PERMISSION = "a permission: nothing to violate"

unjudged["mrtr.supported-methods"] = _PERMISSION
unjudged["mrtr.state-optional"] = _PERMISSION
unjudged["mrtr.ask-again"] = _PERMISSION
unjudged["mrtr.state-integrity-exempt"] = "not visible from outside: what a forged state could do"
unjudged["mrtr.state-principal"] = "needs the credentials of two users"
unjudged["mrtr.state-expiry"] = "needs to wait for the state to expire, longer than a check runs"
unjudged["mrtr.state-single-use"] = "only the author knows which operations must happen only once"


def _asking(session: ProbeSession) -> list[Exchange]:
    return [exchange for exchange in session.exchanges if is_asking(exchange)]


@rule("mrtr.only-mrtr", reads=_ROUNDS)
def input_is_not_requested_by_server_requests(session: ProbeSession) -> Iterator[Note]:
    """The server sends no elicitation/create, sampling/createMessage or roots/list request."""
    asked = [
        incoming
        for incoming in messages(session)
        if incoming.is_request and incoming.method in ASKS
    ]
    for incoming in asked:
        yield violated(
            incoming, f"the server sent the request {incoming.method}; expected input_required"
        )
    if not asked and session.opening is not None:
        yield satisfied(session.opening)


@rule("mrtr.other-methods")
def only_some_methods_require_input(session: ProbeSession) -> Iterator[Note]:
    """Only tools/call, prompts/get and resources/read return input_required."""
    known = methods_at(session.revision)
    wrong = [
        exchange
        for exchange in _asking(session)
        if (spec := known.get(exchange.method or "")) is None or not spec.asks_back
    ]
    for exchange in wrong:
        yield violated(exchange, f"{exchange.method} returned {INPUT_REQUIRED}")
    if not wrong and session.opening is not None:
        yield satisfied(session.opening)


@rule("mrtr.has-content", reads=_ROUNDS)
def input_required_has_content(session: ProbeSession) -> Iterator[Note]:
    """input_required has inputRequests, requestState, or both."""
    for exchange in _asking(session):
        result = exchange.result or {}
        if "inputRequests" in result or "requestState" in result:
            yield satisfied(exchange)
        else:
            yield violated(
                exchange,
                f"{INPUT_REQUIRED} has {sorted(result)}; expected inputRequests or requestState",
            )


@rule("mrtr.keys-unique", reads=_ROUNDS)
def keys_are_unique(session: ProbeSession) -> Iterator[Note]:
    """No key occurs twice in the JSON text of inputRequests."""
    for exchange in _asking(session):
        if not input_requests(exchange) or exchange.answer is None:
            continue
        twice = _repeated_keys(exchange.answer.frame.data)
        if twice:
            yield violated(exchange, f"inputRequests has the key {twice[0]!r:.80} more than once")
        else:
            yield satisfied(exchange)


def _repeated_keys(data: bytes) -> list[str]:
    found: list[str] = []

    def read(pairs: list[tuple[str, Any]]) -> Any:
        for name, value in pairs:
            if name == "inputRequests" and isinstance(value, _Pairs):
                names = [key for key, _ in value.pairs]
                found.extend(key for key in names if names.count(key) > 1)
        return _Pairs(pairs)

    try:
        json.loads(data, object_pairs_hook=read)
    except (ValueError, RecursionError):
        return []
    return found


class _Pairs:
    """A JSON object with all its pairs, including repeated keys."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = pairs


@rule("mrtr.request-types", reads=_ROUNDS)
def input_requests_have_known_methods(session: ProbeSession) -> Iterator[Note]:
    """Each entry is elicitation/create, sampling/createMessage or roots/list."""
    for exchange in _asking(session):
        asked = (exchange.result or {}).get("inputRequests", {})
        if not isinstance(asked, dict):
            yield violated(exchange, f"inputRequests is {shown(asked)}; expected a map of requests")
            continue
        for key, one in asked.items():
            problem = _type_problem(one)
            if problem is None:
                yield satisfied(exchange)
            else:
                yield violated(exchange, f"inputRequests[{key!r:.40}] {problem}")


def _type_problem(one: Any) -> str | None:
    if not isinstance(one, dict):
        return f"is {shown(one)}; expected a request"
    method = one.get("method")
    if not isinstance(method, str) or method not in ASKS:
        return f"has the method {method!r:.60}; expected one of {', '.join(ASKS)}"
    if method != "roots/list" and not isinstance(one.get("params"), dict):
        return f"has the params {shown(one.get('params'))}; expected an object"
    return None


@rule("mrtr.respects-capabilities", reads=_ROUNDS)
def input_requests_respect_capabilities(session: ProbeSession) -> Iterator[Note]:
    """Each input request needs only capabilities that the client's request declares."""
    for question in questions_in(session):
        missing = missing_capability(question)
        if missing is None:
            yield satisfied(question.where)
        else:
            yield violated(
                question.where, f"{question.method}, but the client did not declare {missing}"
            )
