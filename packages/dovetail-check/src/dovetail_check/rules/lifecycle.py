"""basic/lifecycle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.exchanges import Exchange, Incoming
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.reading import is_message, messages
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated

__all__: list[str] = []

unjudged |= {
    "lifecycle.timeouts.set": "needs a server request that stays unanswered for longer than the "
    "server's timeout, which is unknown",
    "lifecycle.timeouts.cancel": "needs a server request that stays unanswered for longer than "
    "the server's timeout, which is unknown",
}

# Server requests, and the client capability that each requires.
_NEEDED = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}
# Server notifications, and the server capability that each requires.
_DECLARED = {
    "notifications/tools/list_changed": "tools.listChanged",
    "notifications/prompts/list_changed": "prompts.listChanged",
    "notifications/resources/list_changed": "resources.listChanged",
    "notifications/resources/updated": "resources.subscribe",
    "notifications/message": "logging",
}


@rule("lifecycle.init.first", reads=("unopened",))
def requests_before_the_opening(session: ProbeSession) -> Iterator[Note]:
    """The requirement is the client's, so the reaction is only reported. A crash is a violation."""
    for exchange in session.tagged("unopened/early"):
        if exchange.failure is not None and not session.is_http:
            yield violated(exchange, f"after a request before initialize: {exchange.failure}")
        else:
            yield satisfied(exchange, f"a request before initialize got {exchange.describe()}")


@rule("lifecycle.init.result")
def initialize_result_is_complete(session: ProbeSession) -> Iterator[Note]:
    """protocolVersion, capabilities and serverInfo match the schema."""
    for exchange in session.sent("initialize"):
        if exchange.result is None:
            continue
        found = shapes.result_problems(exchange.result, "initialize", session.revision)
        problems = [problem for problem in found if not problem.startswith("serverInfo.")]
        if problems:
            yield violated(exchange, f"the result of initialize: {'; '.join(problems[:3])}")
        else:
            yield satisfied(exchange)


@rule("lifecycle.init.serverinfo-fields")
def server_info_has_name_and_version(session: ProbeSession) -> Iterator[Note]:
    """serverInfo has the strings name and version."""
    for exchange in session.sent("initialize"):
        info = (exchange.result or {}).get("serverInfo")
        if not isinstance(info, dict):
            continue
        problems = shapes.problems(info, "Implementation", session.revision)
        if problems:
            yield violated(exchange, f"serverInfo: {'; '.join(problems[:3])}")
        else:
            yield satisfied(exchange)


@rule("lifecycle.init.no-early-requests", reads=("unopened",))
def no_requests_before_initialized(session: ProbeSession) -> Iterator[Note]:
    """Before notifications/initialized the server sends no request except ping."""
    for exchange in session.tagged("unopened/initialize"):
        if exchange.result is None:
            continue
        ready = [
            e for e in session.tagged("unopened/initialized") if e.connection == exchange.connection
        ]
        until = ready[0].sent.n if ready else float("inf")
        early = [
            incoming
            for incoming in session.requests
            if incoming.frame.connection == exchange.connection and incoming.frame.n < until
        ]
        asked = [incoming for incoming in early if incoming.method != "ping"]
        for incoming in asked:
            yield violated(incoming, f"{incoming.method} came before notifications/initialized")
        if not asked:
            yield satisfied(exchange)


# lifecycle.operation.version (2025-11-25 basic/lifecycle): every message follows the negotiated
# version. Another row judges whether it is JSON-RPC.
@rule("lifecycle.operation.version")
def messages_have_the_shapes_of_the_revision(session: ProbeSession) -> Iterator[Note]:
    """Results, requests and notifications match the schema of the negotiated revision."""
    for incoming in messages(session):
        if not isinstance(incoming.value, dict) or _is_error(incoming):
            continue
        found = shapes.message_problems(incoming.value, _asked(incoming), session.revision)
        problems = [
            problem for problem in found if problem.startswith(("result", "params", "method "))
        ]
        if problems:
            what = incoming.method or f"the result of {_asked(incoming)}"
            yield violated(incoming, f"{what}: {'; '.join(problems[:3])}")
        else:
            yield satisfied(incoming)


def _is_error(incoming: Incoming) -> bool:
    return "method" not in incoming.message and "result" not in incoming.message


def _asked(incoming: Incoming) -> str | None:
    """The method that a response answers."""
    exchange = incoming.exchange
    if exchange is None:
        return None
    if isinstance(exchange.request, list):
        id = incoming.message.get("id")
        parts = [part for part in exchange.request if isinstance(part, dict)]
        methods = [part.get("method") for part in parts if part.get("id") == id]
        return methods[0] if methods and isinstance(methods[0], str) else None
    return exchange.method if isinstance(exchange.method, str) else None


@rule("lifecycle.operation.capabilities", reads=("progress",))
def only_what_was_negotiated_is_used(session: ProbeSession) -> Iterator[Note]:
    """The server uses only capabilities that the client or the server itself declared."""
    violations = list(_undeclared(session))
    yield from violations
    if not violations and session.opening is not None:
        yield satisfied(session.opening)


def _undeclared(session: ProbeSession) -> Iterator[Note]:
    declared = _clients(session)
    for incoming in session.incoming:
        if not is_message(session, incoming):
            continue
        needed = _NEEDED.get(incoming.method or "")
        client = declared.get(incoming.frame.connection)
        if (
            incoming.is_request
            and needed is not None
            and client is not None
            and needed not in client
        ):
            yield violated(incoming, f"{incoming.method}, but the client did not declare {needed}")
        own = _DECLARED.get(incoming.method or "")
        if incoming.is_notification and own is not None and not session.has(own):
            yield violated(incoming, f"{incoming.method}, but the server did not declare {own}")


def _clients(session: ProbeSession) -> dict[str, dict[str, Any]]:
    """The capabilities that the client declared, by connection."""
    found: dict[str, dict[str, Any]] = {}
    for exchange in session.sent("initialize"):
        declared = exchange.params.get("capabilities")
        found[exchange.connection] = declared if isinstance(declared, dict) else {}
    return found


@rule("lifecycle.capability.truthful", reads=("walk", "undeclared"))
def capabilities_are_truthful(session: ProbeSession) -> Iterator[Note]:
    """Declared capabilities work, and methods of undeclared ones do not."""
    for kind in ("tools", "prompts", "resources"):
        if not session.has(kind):
            continue
        for exchange in session.pages(kind)[:1]:
            if exchange.result is None:
                got = exchange.describe()
                yield violated(exchange, f"{kind} is declared, but {exchange.method} got {got}")
            else:
                yield satisfied(exchange)
    for exchange in session.tagged("undeclared"):
        yield _judge_undeclared(exchange)


def _judge_undeclared(exchange: Exchange) -> Note:
    if exchange.result is None:
        return satisfied(exchange)
    items = [value for value in exchange.result.values() if isinstance(value, list)]
    text = f"{exchange.method} succeeds, but its capability is not declared"
    if any(items) or not items:
        return violated(exchange, text)
    return ambiguous(exchange, f"{text}; the list is empty, so nothing is offered")
