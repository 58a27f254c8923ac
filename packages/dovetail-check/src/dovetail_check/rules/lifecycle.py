"""basic/lifecycle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.exchanges import Exchange, Heard
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.reading import is_message, messages
from dovetail_check.verdicts import Note, broken, kept, unsettled

__all__: list[str] = []

unjudged |= {
    "lifecycle.timeouts.set": "a request would have to stay unanswered for as long as the server "
    "waits, and nobody says how long that is",
    "lifecycle.timeouts.cancel": "a request would have to stay unanswered for as long as the "
    "server waits, and nobody says how long that is",
}

# What a client must have declared to be asked.
_NEEDED = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}
# What the server must have declared to tell.
_DECLARED = {
    "notifications/tools/list_changed": "tools.listChanged",
    "notifications/prompts/list_changed": "prompts.listChanged",
    "notifications/resources/list_changed": "resources.listChanged",
    "notifications/resources/updated": "resources.subscribe",
    "notifications/message": "logging",
}


@rule("lifecycle.init.first", reads=("unopened",))
def requests_before_the_opening(seen: ProbeSession) -> Iterator[Note]:
    """Told, not judged: the duty is the client's. Only an end of the server is a fault."""
    for exchange in seen.tagged("unopened/early"):
        if exchange.failure is not None and not seen.is_http:
            yield broken(exchange, f"a request before initialize: {exchange.failure}")
        else:
            yield kept(exchange, f"a request before initialize got {exchange.describe()}")


@rule("lifecycle.init.result")
def initialize_is_answered_in_full(seen: ProbeSession) -> Iterator[Note]:
    """protocolVersion, capabilities and serverInfo, each as the schema has it."""
    for exchange in seen.sent("initialize"):
        if exchange.result is None:
            continue
        found = shapes.result_problems(exchange.result, "initialize", seen.revision)
        problems = [problem for problem in found if not problem.startswith("serverInfo.")]
        if problems:
            yield broken(exchange, f"the result of initialize: {'; '.join(problems[:3])}")
        else:
            yield kept(exchange)


@rule("lifecycle.init.serverinfo-fields")
def server_info_has_name_and_version(seen: ProbeSession) -> Iterator[Note]:
    """Both are strings."""
    for exchange in seen.sent("initialize"):
        info = (exchange.result or {}).get("serverInfo")
        if not isinstance(info, dict):
            continue
        problems = shapes.problems(info, "Implementation", seen.revision)
        if problems:
            yield broken(exchange, f"serverInfo: {'; '.join(problems[:3])}")
        else:
            yield kept(exchange)


@rule("lifecycle.init.no-early-requests", reads=("unopened",))
def nothing_is_asked_before_initialized(seen: ProbeSession) -> Iterator[Note]:
    """Until the client says it is ready, the server asks for nothing but ping."""
    for exchange in seen.tagged("unopened/initialize"):
        if exchange.result is None:
            continue
        ready = [e for e in seen.tagged("unopened/initialized") if e.line == exchange.line]
        until = ready[0].sent.n if ready else float("inf")
        early = [
            heard
            for heard in seen.requests
            if heard.frame.line == exchange.line and heard.frame.n < until
        ]
        asked = [heard for heard in early if heard.method != "ping"]
        for heard in asked:
            yield broken(heard, f"{heard.method} came before notifications/initialized")
        if not asked:
            yield kept(exchange)


# lifecycle.operation.version (2025-11-25 basic/lifecycle): what was agreed on holds for every
# message. Whether it is JSON-RPC at all is another row.
@rule("lifecycle.operation.version")
def messages_have_the_shapes_of_the_revision(seen: ProbeSession) -> Iterator[Note]:
    """Results, requests and notifications are those of the revision that was agreed on."""
    for heard in messages(seen):
        if not isinstance(heard.value, dict) or _is_error(heard):
            continue
        found = shapes.message_problems(heard.value, _asked(heard), seen.revision)
        problems = [
            problem for problem in found if problem.startswith(("result", "params", "method "))
        ]
        if problems:
            what = heard.method or f"the result of {_asked(heard)}"
            yield broken(heard, f"{what}: {'; '.join(problems[:3])}")
        else:
            yield kept(heard)


def _is_error(heard: Heard) -> bool:
    return "method" not in heard.message and "result" not in heard.message


def _asked(heard: Heard) -> str | None:
    """The method that a response answers."""
    exchange = heard.exchange
    if exchange is None:
        return None
    if isinstance(exchange.request, list):
        id = heard.message.get("id")
        parts = [part for part in exchange.request if isinstance(part, dict)]
        methods = [part.get("method") for part in parts if part.get("id") == id]
        return methods[0] if methods and isinstance(methods[0], str) else None
    return exchange.method if isinstance(exchange.method, str) else None


@rule("lifecycle.operation.capabilities", reads=("progress",))
def only_what_was_negotiated_is_used(seen: ProbeSession) -> Iterator[Note]:
    """The server asks for what the client declared, and tells what itself declared."""
    faults = list(_undeclared(seen))
    yield from faults
    if not faults and seen.opening is not None:
        yield kept(seen.opening)


def _undeclared(seen: ProbeSession) -> Iterator[Note]:
    declared = _clients(seen)
    for heard in seen.heard:
        if not is_message(seen, heard):
            continue
        needed = _NEEDED.get(heard.method or "")
        client = declared.get(heard.frame.line)
        if heard.is_request and needed is not None and client is not None and needed not in client:
            yield broken(heard, f"{heard.method}, but the client did not declare {needed}")
        due = _DECLARED.get(heard.method or "")
        if heard.is_notification and due is not None and not seen.has(due):
            yield broken(heard, f"{heard.method}, but the server did not declare {due}")


def _clients(seen: ProbeSession) -> dict[str, dict[str, Any]]:
    """What the client declared, by line."""
    found: dict[str, dict[str, Any]] = {}
    for exchange in seen.sent("initialize"):
        declared = exchange.params.get("capabilities")
        found[exchange.line] = declared if isinstance(declared, dict) else {}
    return found


@rule("lifecycle.capability.truthful", reads=("walk", "undeclared"))
def capabilities_say_what_works(seen: ProbeSession) -> Iterator[Note]:
    """What is declared is served, what is not declared is not."""
    for kind in ("tools", "prompts", "resources"):
        if not seen.has(kind):
            continue
        for exchange in seen.pages(kind)[:1]:
            if exchange.result is None:
                came = exchange.describe()
                yield broken(exchange, f"{kind} is declared, but {exchange.method} got {came}")
            else:
                yield kept(exchange)
    for exchange in seen.tagged("undeclared"):
        yield _judge_undeclared(exchange)


def _judge_undeclared(exchange: Exchange) -> Note:
    if exchange.result is None:
        return kept(exchange)
    items = [value for value in exchange.result.values() if isinstance(value, list)]
    text = f"{exchange.method} is served, but its capability is not declared"
    if any(items) or not items:
        return broken(exchange, text)
    return unsettled(exchange, f"{text}; the list is empty, so that nothing is offered")
