"""server/utilities/logging: when log messages come, and where."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from dovetail.spec import keys
from dovetail_check import shapes
from dovetail_check.exchanges import Exchange, Heard
from dovetail_check.noting import answered, expect_codes, note_each, undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, broken, kept, unsettled

__all__: list[str] = []

_MESSAGE = "notifications/message"
_INVALID_PARAMS = (-32602,)
# Messages within a second that are more than anybody reads.
_MOST_A_SECOND = 100


def _rank(level: Any) -> int | None:
    return keys.LOG_LEVELS.get(level) if isinstance(level, str) else None


@rule("logging.capability")
def who_logs_declares_it(seen: ProbeSession) -> Iterator[Note]:
    """Messages come only where logging was declared."""
    messages = seen.notifications(_MESSAGE)
    if not messages:
        yield from undeclared(seen, "logging")
    for heard in messages:
        if seen.has("logging"):
            yield kept(heard)
        else:
            yield broken(heard, "a log message came, but logging is not declared")


@rule("logging.shape", reads=("set-levels", "log-levels"))
def messages_have_their_shape(seen: ProbeSession) -> Iterator[Note]:
    """One of eight levels, and data."""
    yield from undeclared(seen, "logging")

    def problem(params: Any) -> str | None:
        found = shapes.problems(params, "LoggingMessageNotificationParams", seen.revision)
        return f"a log message: {'; '.join(found[:3])}" if found else None

    messages = seen.notifications(_MESSAGE)
    yield from note_each([(heard, heard.message.get("params")) for heard in messages], problem)


@rule("logging.setlevel", reads=("set-levels",))
def levels_can_be_set(seen: ProbeSession) -> Iterator[Note]:
    """Each of the eight, with an empty result."""
    yield from undeclared(seen, "logging")
    for exchange in answered(seen.tagged("set-levels/level")):
        level = exchange.params.get("level")
        if exchange.result is None:
            yield broken(exchange, f"level {level} got {exchange.describe()}; a result was due")
        elif extra := sorted(exchange.result.keys() - {"_meta"}):
            yield broken(exchange, f"the result of logging/setLevel has {', '.join(extra)[:80]}")
        else:
            yield kept(exchange)


@rule("logging.min-level", reads=("set-levels",))
def quieter_messages_are_kept_back(seen: ProbeSession) -> Iterator[Note]:
    """Nothing below the level that was set comes for what was asked after it."""
    yield from undeclared(seen, "logging")
    for heard in seen.notifications(_MESSAGE):
        level = _level_in_force(seen, heard)
        rank, least = _rank(heard.params.get("level")), _rank(level)
        if rank is None or least is None:
            continue
        if rank < least:
            said = heard.params.get("level")
            yield broken(heard, f"a message of level {said} came, although {level} was set")
        else:
            yield kept(heard)


def _level_in_force(seen: ProbeSession, heard: Heard) -> Any:
    """The level that was set before the request that the message may belong to was sent."""
    before = heard.frame.n if heard.exchange is None else heard.exchange.sent.n
    level = None
    for exchange in seen.sent("logging/setLevel"):
        if exchange.line != heard.frame.line or exchange.result is None:
            continue
        assert exchange.answer is not None
        if exchange.answer.frame.n < before:
            level = exchange.params.get("level")
        elif exchange.sent.n < heard.frame.n:
            # It is being changed: either level may still hold.
            return None
    return level


@rule("logging.invalid-level-32602", reads=("set-levels",))
def unknown_levels_are_refused(seen: ProbeSession) -> Iterator[Note]:
    """-32602."""
    yield from undeclared(seen, "logging")
    found = seen.tagged("set-levels/invalid")
    yield from expect_codes(found, "a level that does not exist", _INVALID_PARAMS)


@rule("logging.rate-limit", reads=("set-levels", "log-levels"))
def messages_do_not_flood(seen: ProbeSession) -> Iterator[Note]:
    """No more within a second, on one line, than anybody reads."""
    by_line: dict[str, list[Heard]] = defaultdict(list)
    for heard in seen.notifications(_MESSAGE):
        by_line[heard.frame.line].append(heard)
    for messages in by_line.values():
        busiest = _busiest(messages)
        if len(busiest) > _MOST_A_SECOND:
            yield broken(busiest[0], f"{len(busiest)} log messages came within a second")
        else:
            yield kept(busiest[0], f"{len(busiest)} within a second at the most")


def _busiest(messages: list[Heard]) -> list[Heard]:
    best: list[Heard] = []
    start = 0
    for end, heard in enumerate(messages):
        while heard.frame.at - messages[start].frame.at >= 1:
            start += 1
        if end + 1 - start > len(best):
            best = messages[start : end + 1]
    return best


# -- the modern era: each request says what it wants -----------------------------------------------


def _wanted(exchange: Exchange) -> Any:
    """The level that a request asked for."""
    meta = exchange.params.get("_meta")
    return meta.get(keys.LOG_LEVEL) if isinstance(meta, dict) else None


def _open_at(seen: ProbeSession, heard: Heard) -> list[Exchange]:
    """The requests that a message can belong to: that of its stream, or all that were open."""
    if heard.exchange is not None:
        return [heard.exchange]
    return [
        exchange
        for exchange in seen.exchanges
        if exchange.line == heard.frame.line
        and exchange.id is not None
        and exchange.sent.n < heard.frame.n
        and (exchange.answer is None or exchange.answer.frame.n > heard.frame.n)
    ]


def _may_be_late(seen: ProbeSession, heard: Heard) -> bool:
    """Whether a request with logLevel was answered just before, and nothing was asked since."""
    if heard.exchange is not None:
        return False
    before = [
        (exchange, exchange.answer.frame.n)
        for exchange in seen.exchanges
        if exchange.line == heard.frame.line
        and exchange.answer is not None
        and exchange.answer.frame.n < heard.frame.n
    ]
    wanted = [n for exchange, n in before if _wanted(exchange) is not None]
    return bool(wanted) and not any(exchange.sent.n > max(wanted) for exchange, _ in before)


@rule("logging2.opt-in", reads=("tool-calls", "log-levels"))
def messages_come_only_where_they_are_wanted(seen: ProbeSession) -> Iterator[Note]:
    """No message for a request without logLevel."""
    for heard in seen.notifications(_MESSAGE):
        if any(_wanted(exchange) is not None for exchange in _open_at(seen, heard)):
            yield kept(heard)
        elif _may_be_late(seen, heard):
            yield unsettled(
                heard,
                "a log message came behind the answer to a request with logLevel: it may belong to "
                "that, too late, or to one that did not ask for it",
            )
        else:
            yield broken(heard, "a log message came for a request without logLevel")
    silent = [
        exchange
        for exchange in seen.sent("tools/call")
        if _wanted(exchange) is None and exchange.result is not None
    ]
    if silent:
        yield kept(silent[-1], f"{len(silent)} calls without logLevel")


@rule("logging2.level", reads=("log-levels",))
def messages_are_loud_enough(seen: ProbeSession) -> Iterator[Note]:
    """At or above the level that was asked for, and before the answer."""
    for heard in seen.notifications(_MESSAGE):
        asked = [rank for one in _open_at(seen, heard) if (rank := _rank(_wanted(one))) is not None]
        rank = _rank(heard.params.get("level"))
        if not asked or rank is None:
            continue
        answer = heard.exchange.answer if heard.exchange is not None else None
        if rank < min(asked):
            said = heard.params.get("level")
            yield broken(heard, f"a message of level {said} is below the level asked for")
        elif answer is not None and answer.frame.n < heard.frame.n:
            yield broken(heard, "a log message came behind the answer")
        else:
            yield kept(heard)


@rule("logging2.scoped", reads=("log-levels",))
def messages_stay_on_the_stream_of_their_request(seen: ProbeSession) -> Iterator[Note]:
    """None on a stream of changes."""
    for heard in seen.notifications(_MESSAGE):
        if heard.exchange is None:
            continue
        if heard.exchange.method == "subscriptions/listen":
            yield broken(heard, "a log message came on a subscriptions/listen stream")
        else:
            yield kept(heard)


@rule("logging2.invalid-level-32602", reads=("log-levels",))
def unknown_wanted_levels_are_refused(seen: ProbeSession) -> Iterator[Note]:
    """-32602."""
    found = seen.tagged("log-levels/invalid")
    yield from expect_codes(found, "a logLevel that does not exist", _INVALID_PARAMS)


@rule("logging2.deprecated")
def logging_is_on_its_way_out(seen: ProbeSession) -> Iterator[Note]:
    """Whether it is declared; nobody can see whether the server is new."""
    if seen.opening is None:
        return
    if seen.has("logging"):
        yield unsettled(
            seen.opening,
            "logging is declared, which is deprecated: new servers should not adopt it, old ones "
            "should migrate, and nothing shows which this is",
        )
    else:
        yield kept(seen.opening)


@rule("logging2.setlevel-removed", reads=("log-levels",))
def set_level_is_gone(seen: ProbeSession) -> Iterator[Note]:
    """-32601, as for any unknown method."""
    found = seen.tagged("log-levels/removed")
    yield from expect_codes(found, "logging/setLevel, which is gone,", (-32601,))


unjudged.update(
    {
        "logging.error.internal": "needs a configuration that fails",
        "logging.context": "only a reader can tell what is useful",
        "logging.validate-fields": "nothing on the wire shows what was validated",
        "logging.access": "nothing on the wire shows who reads the log",
    }
)
