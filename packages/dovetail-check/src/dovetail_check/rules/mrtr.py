"""basic/patterns/mrtr: what input_required looks like, and when it may come."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dovetail.spec.methods import methods_at
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.questions import (
    ASKS,
    INPUT_REQUIRED,
    input_requests,
    is_asking,
    lacking,
    questions_in,
)
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.reading import messages
from dovetail_check.verdicts import Note, broken, kept

__all__: list[str] = []

_ROUNDS = ("input-rounds",)
_PERMISSION = "a permission: there is nothing to break"

unjudged["mrtr.supported-methods"] = _PERMISSION
unjudged["mrtr.state-optional"] = _PERMISSION
unjudged["mrtr.ask-again"] = _PERMISSION
unjudged["mrtr.state-integrity-exempt"] = "what a forged state could do is not seen from outside"
unjudged["mrtr.state-principal"] = "it takes the credentials of two users"
unjudged["mrtr.state-expiry"] = "how soon a state expires is seen by waiting, longer than a check"
unjudged["mrtr.state-single-use"] = "which operation must happen once only its author knows"


def _asking(seen: ProbeSession) -> list[Exchange]:
    return [exchange for exchange in seen.exchanges if is_asking(exchange)]


@rule("mrtr.only-mrtr", reads=_ROUNDS)
def nothing_is_asked_by_a_request(seen: ProbeSession) -> Iterator[Note]:
    """No elicitation/create, sampling/createMessage or roots/list as a request of the server."""
    asked = [heard for heard in messages(seen) if heard.is_request and heard.method in ASKS]
    for heard in asked:
        yield broken(heard, f"a request of the server: {heard.method}; input_required was due")
    if not asked and seen.opening is not None:
        yield kept(seen.opening)


@rule("mrtr.other-methods")
def only_some_methods_ask_back(seen: ProbeSession) -> Iterator[Note]:
    """input_required only for tools/call, prompts/get, resources/read."""
    known = methods_at(seen.revision)
    wrong = [
        exchange
        for exchange in _asking(seen)
        if (spec := known.get(exchange.method or "")) is None or not spec.asks_back
    ]
    for exchange in wrong:
        yield broken(exchange, f"{exchange.method} was answered with {INPUT_REQUIRED}")
    if not wrong and seen.opening is not None:
        yield kept(seen.opening)


@rule("mrtr.has-content", reads=_ROUNDS)
def input_required_says_what_is_required(seen: ProbeSession) -> Iterator[Note]:
    """inputRequests, requestState, or both."""
    for exchange in _asking(seen):
        result = exchange.result or {}
        if "inputRequests" in result or "requestState" in result:
            yield kept(exchange)
        else:
            yield broken(
                exchange, f"{INPUT_REQUIRED} with {sorted(result)}: no inputRequests, no state"
            )


@rule("mrtr.keys-unique", reads=_ROUNDS)
def keys_are_unique(seen: ProbeSession) -> Iterator[Note]:
    """No key twice in the text of inputRequests."""
    for exchange in _asking(seen):
        if not input_requests(exchange) or exchange.answer is None:
            continue
        twice = _repeated_keys(exchange.answer.frame.data)
        if twice:
            yield broken(exchange, f"inputRequests has the key {twice[0]!r:.80} more than once")
        else:
            yield kept(exchange)


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
    """An object as it was written."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = pairs


@rule("mrtr.request-types", reads=_ROUNDS)
def only_three_things_are_asked(seen: ProbeSession) -> Iterator[Note]:
    """Each entry is a request to elicit, to sample or to list roots."""
    for exchange in _asking(seen):
        asked = (exchange.result or {}).get("inputRequests", {})
        if not isinstance(asked, dict):
            yield broken(exchange, f"inputRequests is {asked!r:.80}; a map of requests was due")
            continue
        for key, one in asked.items():
            problem = _type_problem(one)
            if problem is None:
                yield kept(exchange)
            else:
                yield broken(exchange, f"inputRequests[{key!r:.40}] {problem}")


def _type_problem(one: Any) -> str | None:
    if not isinstance(one, dict):
        return f"is {one!r:.80}; a request was due"
    method = one.get("method")
    if not isinstance(method, str) or method not in ASKS:
        return f"has the method {method!r:.60}; one of {', '.join(ASKS)} was due"
    if method != "roots/list" and not isinstance(one.get("params"), dict):
        return f"has the params {one.get('params')!r:.60}; an object was due"
    return None


@rule("mrtr.respects-capabilities", reads=_ROUNDS)
def only_what_was_declared_is_asked(seen: ProbeSession) -> Iterator[Note]:
    """Nothing that the capabilities of the request do not name."""
    for question in questions_in(seen):
        missing = lacking(question)
        if missing is None:
            yield kept(question.where)
        else:
            yield broken(
                question.where, f"{question.method} although the client did not declare {missing}"
            )
