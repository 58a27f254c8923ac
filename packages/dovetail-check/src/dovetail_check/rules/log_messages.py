"""server/utilities/logging: when log messages are sent, and on which stream."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from dovetail.spec import keys
from dovetail_check import shapes
from dovetail_check.exchanges import Exchange, Incoming
from dovetail_check.notes import answered, expect_codes, note_each, undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated

__all__: list[str] = []

_MESSAGE = "notifications/message"
_INVALID_PARAMS = (-32602,)
# More messages than this in one second count as a flood.
_MAX_A_SECOND = 100


def _rank(level: Any) -> int | None:
    return keys.LOG_LEVELS.get(level) if isinstance(level, str) else None


@rule("logging.capability")
def servers_that_log_declare_it(session: ProbeSession) -> Iterator[Note]:
    """A server that sends log messages declares logging."""
    messages = session.notifications(_MESSAGE)
    if not messages:
        yield from undeclared(session, "logging")
    for incoming in messages:
        if session.has("logging"):
            yield satisfied(incoming)
        else:
            yield violated(incoming, "a log message came, but logging is not declared")


@rule("logging.shape", reads=("set-levels", "log-levels"))
def messages_have_their_shape(session: ProbeSession) -> Iterator[Note]:
    """A message has one of the eight levels, and data."""
    yield from undeclared(session, "logging")

    def problem(params: Any) -> str | None:
        found = shapes.problems(params, "LoggingMessageNotificationParams", session.revision)
        return f"a log message: {'; '.join(found[:3])}" if found else None

    messages = session.notifications(_MESSAGE)
    yield from note_each(
        [(incoming, incoming.message.get("params")) for incoming in messages], problem
    )


@rule("logging.setlevel", reads=("set-levels",))
def levels_can_be_set(session: ProbeSession) -> Iterator[Note]:
    """Each of the eight levels can be set and gets an empty result."""
    yield from undeclared(session, "logging")
    for exchange in answered(session.tagged("set-levels/level")):
        level = exchange.params.get("level")
        if exchange.result is None:
            yield violated(exchange, f"level {level} got {exchange.describe()}; expected a result")
        elif extra := sorted(exchange.result.keys() - {"_meta"}):
            yield violated(exchange, f"the result of logging/setLevel has {', '.join(extra)[:80]}")
        else:
            yield satisfied(exchange)


@rule("logging.min-level", reads=("set-levels",))
def messages_below_the_level_are_not_sent(session: ProbeSession) -> Iterator[Note]:
    """No request sent after logging/setLevel gets messages below that level."""
    yield from undeclared(session, "logging")
    for incoming in session.notifications(_MESSAGE):
        level = _level_in_force(session, incoming)
        rank, least = _rank(incoming.params.get("level")), _rank(level)
        if rank is None or least is None:
            continue
        if rank < least:
            said = incoming.params.get("level")
            yield violated(incoming, f"got a message of level {said}, but the level is {level}")
        else:
            yield satisfied(incoming)


def _level_in_force(session: ProbeSession, incoming: Incoming) -> Any:
    """The level that was set before the request of the message was sent."""
    before = incoming.frame.n if incoming.exchange is None else incoming.exchange.sent.n
    level = None
    for exchange in session.sent("logging/setLevel"):
        if exchange.connection != incoming.frame.connection or exchange.result is None:
            continue
        assert exchange.answer is not None
        if exchange.answer.frame.n < before:
            level = exchange.params.get("level")
        elif exchange.sent.n < incoming.frame.n:
            # The level is being changed: either level may apply.
            return None
    return level


@rule("logging.invalid-level-32602", reads=("set-levels",))
def unknown_levels_are_rejected(session: ProbeSession) -> Iterator[Note]:
    """An unknown level gets -32602."""
    yield from undeclared(session, "logging")
    found = session.tagged("set-levels/invalid")
    yield from expect_codes(found, "an unknown level", _INVALID_PARAMS)


@rule("logging.rate-limit", reads=("set-levels", "log-levels"))
def messages_do_not_flood(session: ProbeSession) -> Iterator[Note]:
    """The number of messages per second on one connection is limited."""
    by_connection: dict[str, list[Incoming]] = defaultdict(list)
    for incoming in session.notifications(_MESSAGE):
        by_connection[incoming.frame.connection].append(incoming)
    for messages in by_connection.values():
        busiest = _busiest(messages)
        if len(busiest) > _MAX_A_SECOND:
            yield violated(
                busiest[0],
                f"{len(busiest)} log messages within a second; the limit is {_MAX_A_SECOND}",
            )
        else:
            yield satisfied(busiest[0], f"at most {len(busiest)} within a second")


def _busiest(messages: list[Incoming]) -> list[Incoming]:
    best: list[Incoming] = []
    start = 0
    for end, incoming in enumerate(messages):
        while incoming.frame.at - messages[start].frame.at >= 1:
            start += 1
        if end + 1 - start > len(best):
            best = messages[start : end + 1]
    return best


# -- the modern era: each request names its level --------------------------------------------------


def _wanted(exchange: Exchange) -> Any:
    """The level that a request asked for."""
    meta = exchange.params.get("_meta")
    return meta.get(keys.LOG_LEVEL) if isinstance(meta, dict) else None


def _open_at(session: ProbeSession, incoming: Incoming) -> list[Exchange]:
    """The requests that a message can belong to: that of its stream, or all unanswered ones."""
    if incoming.exchange is not None:
        return [incoming.exchange]
    return [
        exchange
        for exchange in session.exchanges
        if exchange.connection == incoming.frame.connection
        and exchange.id is not None
        and exchange.sent.n < incoming.frame.n
        and (exchange.answer is None or exchange.answer.frame.n > incoming.frame.n)
    ]


def _may_be_late(session: ProbeSession, incoming: Incoming) -> bool:
    """Whether a request with logLevel was answered just before, and no other was sent since."""
    if incoming.exchange is not None:
        return False
    before = [
        (exchange, exchange.answer.frame.n)
        for exchange in session.exchanges
        if exchange.connection == incoming.frame.connection
        and exchange.answer is not None
        and exchange.answer.frame.n < incoming.frame.n
    ]
    wanted = [n for exchange, n in before if _wanted(exchange) is not None]
    return bool(wanted) and not any(exchange.sent.n > max(wanted) for exchange, _ in before)


@rule("logging2.opt-in", reads=("tool-calls", "log-levels"))
def messages_are_sent_only_on_request(session: ProbeSession) -> Iterator[Note]:
    """A request without logLevel gets no log messages."""
    for incoming in session.notifications(_MESSAGE):
        if any(_wanted(exchange) is not None for exchange in _open_at(session, incoming)):
            yield satisfied(incoming)
        elif _may_be_late(session, incoming):
            yield ambiguous(
                incoming,
                "a log message came after the response to a request with logLevel: it belongs "
                "either to that request, too late, or to one without logLevel",
            )
        else:
            yield violated(incoming, "a log message came for a request without logLevel")
    silent = [
        exchange
        for exchange in session.sent("tools/call")
        if _wanted(exchange) is None and exchange.result is not None
    ]
    if silent:
        yield satisfied(silent[-1], f"{len(silent)} calls without logLevel")


@rule("logging2.level", reads=("log-levels",))
def messages_have_the_requested_level(session: ProbeSession) -> Iterator[Note]:
    """Messages are at or above the requested level and come before the response."""
    for incoming in session.notifications(_MESSAGE):
        asked = [
            rank for one in _open_at(session, incoming) if (rank := _rank(_wanted(one))) is not None
        ]
        rank = _rank(incoming.params.get("level"))
        if not asked or rank is None:
            continue
        answer = incoming.exchange.answer if incoming.exchange is not None else None
        if rank < min(asked):
            said = incoming.params.get("level")
            yield violated(incoming, f"a message of level {said} is below the requested level")
        elif answer is not None and answer.frame.n < incoming.frame.n:
            yield violated(incoming, "a log message came after the response")
        else:
            yield satisfied(incoming)


@rule("logging2.scoped", reads=("log-levels",))
def messages_stay_on_the_stream_of_their_request(session: ProbeSession) -> Iterator[Note]:
    """No log message comes on a subscriptions/listen stream."""
    for incoming in session.notifications(_MESSAGE):
        if incoming.exchange is None:
            continue
        if incoming.exchange.method == "subscriptions/listen":
            yield violated(incoming, "a log message came on a subscriptions/listen stream")
        else:
            yield satisfied(incoming)


@rule("logging2.invalid-level-32602", reads=("log-levels",))
def unknown_requested_levels_are_rejected(session: ProbeSession) -> Iterator[Note]:
    """An unknown logLevel gets -32602."""
    found = session.tagged("log-levels/invalid")
    yield from expect_codes(found, "an unknown logLevel", _INVALID_PARAMS)


@rule("logging2.deprecated")
def logging_is_deprecated(session: ProbeSession) -> Iterator[Note]:
    """Ambiguous if logging is declared: only new servers must not adopt it."""
    if session.opening is None:
        return
    if session.has("logging"):
        yield ambiguous(
            session.opening,
            "logging is declared, which is deprecated: new servers should not adopt it, existing "
            "servers should migrate",
        )
    else:
        yield satisfied(session.opening)


@rule("logging2.setlevel-removed", reads=("log-levels",))
def set_level_is_removed(session: ProbeSession) -> Iterator[Note]:
    """logging/setLevel gets -32601, like any unknown method."""
    found = session.tagged("log-levels/removed")
    yield from expect_codes(found, "logging/setLevel, which this revision removed,", (-32601,))


unjudged.update(
    {
        "logging.error.internal": "needs a server configuration that fails",
        "logging.context": "needs a human to judge what is useful",
        "logging.validate-fields": "not visible on the wire: what was validated",
        "logging.access": "not visible on the wire: who can read the log",
    }
)
