"""basic/patterns/subscriptions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail.spec import keys
from dovetail_check.exchanges import Exchange, Heard
from dovetail_check.noting import expect_codes
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, absent, broken, kept

__all__: list[str] = []

_SUBSCRIPTIONS = ("subscriptions",)
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_UPDATED = "notifications/resources/updated"
_NO_METHOD = -32601
# The member of the filter that asks for a type of notification, and the capability behind it.
_FILTERS = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    _UPDATED: "resourceSubscriptions",
}
_CAPABILITIES = {
    "toolsListChanged": "tools.listChanged",
    "promptsListChanged": "prompts.listChanged",
    "resourcesListChanged": "resources.listChanged",
    "resourceSubscriptions": "resources.subscribe",
}

unjudged["subs.interleave"] = "a permission: there is nothing to break"
unjudged["subs.keepalive"] = "comments of a stream are no messages, and a check is over too soon"


def _listening(seen: ProbeSession) -> list[Exchange]:
    """Requests to listen that were not refused."""
    return [exchange for exchange in seen.sent("subscriptions/listen") if not _is_refused(exchange)]


def _is_refused(exchange: Exchange) -> bool:
    # An error may also be how a server says goodbye.
    return exchange.error is not None and _acknowledgement(exchange) is None


def _refused(seen: ProbeSession) -> Iterator[Note]:
    """Why there is nothing to see."""
    for exchange in seen.tagged("subscriptions/everything"):
        if _is_refused(exchange):
            yield absent(f"subscriptions/listen gets {exchange.describe()}")


def _told(exchange: Exchange) -> list[Heard]:
    """The notifications of a stream."""
    return [heard for heard in exchange.heard if heard.is_notification]


def _acknowledgement(exchange: Exchange) -> Heard | None:
    return next((heard for heard in _told(exchange) if heard.method == _ACKNOWLEDGED), None)


def _filter(exchange: Exchange) -> dict[str, Any]:
    wanted = exchange.params.get("notifications")
    return wanted if isinstance(wanted, dict) else {}


def _subscription_id(members: Any) -> Any:
    meta = members.get("_meta") if isinstance(members, dict) else None
    return meta.get(keys.SUBSCRIPTION_ID) if isinstance(meta, dict) else None


@rule("subs.ack-first", reads=_SUBSCRIPTIONS)
def the_acknowledgement_comes_first(seen: ProbeSession) -> Iterator[Note]:
    """notifications/subscriptions/acknowledged before anything else of the subscription."""
    yield from _refused(seen)
    for exchange in seen.tagged("subscriptions"):
        if exchange not in _listening(seen):
            continue
        first = exchange.heard[0] if exchange.heard else None
        if first is not None and first.method == _ACKNOWLEDGED:
            yield kept(first)
        elif first is not None:
            came = first.method or "a response"
            yield broken(first, f"{came!r:.80} came first; {_ACKNOWLEDGED} was due")
        else:
            yield broken(exchange, f"{exchange.describe()}; {_ACKNOWLEDGED} was due")


@rule("subs.nothing-before-ack", reads=_SUBSCRIPTIONS)
def nothing_precedes_the_acknowledgement(seen: ProbeSession) -> Iterator[Note]:
    """No notification of the subscription comes earlier."""
    yield from _refused(seen)
    for exchange in _listening(seen):
        told = _told(exchange)
        if told and told[0].method != _ACKNOWLEDGED:
            yield broken(told[0], f"{told[0].method!r:.80} came before {_ACKNOWLEDGED}")
        elif told:
            yield kept(told[0])


@rule("subs.ack-subset", reads=_SUBSCRIPTIONS)
def no_more_is_acknowledged_than_was_asked_for(seen: ProbeSession) -> Iterator[Note]:
    """What was asked for, and what the server declares."""
    yield from _refused(seen)
    for exchange in _listening(seen):
        heard = _acknowledgement(exchange)
        if heard is None:
            continue
        problem = _excess(seen, _filter(exchange), heard.params.get("notifications"))
        yield kept(heard) if problem is None else broken(heard, problem)


def _excess(seen: ProbeSession, wanted: dict[str, Any], agreed: Any) -> str | None:
    if not isinstance(agreed, dict):
        return f"notifications is {agreed!r:.60}; the part of the filter that is honoured was due"
    for name, value in agreed.items():
        if name not in _CAPABILITIES or not value:
            continue
        if not wanted.get(name):
            return f"{name} is acknowledged, but was not asked for"
        if not seen.has(_CAPABILITIES[name]):
            return f"{name} is acknowledged, but {_CAPABILITIES[name]} is not declared"
    given, asked = agreed.get("resourceSubscriptions"), wanted.get("resourceSubscriptions")
    for uri in given if isinstance(given, list) else ():
        if not isinstance(asked, list) or uri not in asked:
            return f"{uri!r:.80} is acknowledged, but was not asked for"
    return None


@rule("subs.id-on-all", reads=_SUBSCRIPTIONS)
def every_notification_names_its_subscription(seen: ProbeSession) -> Iterator[Note]:
    """The id of the request, in type and value."""
    yield from _refused(seen)
    for exchange in _listening(seen):
        for heard in _told(exchange):
            yield _named(heard, exchange.id)
    loose = seen.notifications(_ACKNOWLEDGED, *_FILTERS)
    for heard in loose:
        # Over stdio it is the id that tells which stream it belongs to.
        if heard.exchange is None and _listening(seen):
            named = _subscription_id(heard.params)
            yield broken(heard, f"{heard.method} names {named!r:.60}, which is no subscription")


def _named(heard: Heard, id: Any) -> Note:
    named = _subscription_id(heard.params)
    if named == id and type(named) is type(id):
        return kept(heard)
    return broken(heard, f"{heard.method} names the subscription {named!r:.60}; {id!r:.60} was due")


@rule("subs.only-requested", reads=_SUBSCRIPTIONS)
def only_what_was_asked_for_is_sent(seen: ProbeSession) -> Iterator[Note]:
    """No type of notification that the filter does not name."""
    yield from _refused(seen)
    for exchange in _listening(seen):
        wanted = _filter(exchange)
        unwanted = [
            heard
            for heard in _told(exchange)
            if heard.method in _FILTERS and not wanted.get(_FILTERS[heard.method])
        ]
        for heard in unwanted:
            yield broken(heard, f"{heard.method} came, but {wanted!r:.120} was asked for")
        if not unwanted and _acknowledgement(exchange) is not None:
            yield kept(exchange.sent)


@rule("subs.concurrent", reads=_SUBSCRIPTIONS)
def several_subscriptions_may_be_open(seen: ProbeSession) -> Iterator[Note]:
    """The second and third are acknowledged as the first was."""
    yield from _refused(seen)
    opened = [
        exchange
        for exchange in seen.tagged("subscriptions")
        if exchange.method == "subscriptions/listen"
    ]
    if not opened or _acknowledgement(opened[0]) is None:
        return
    for exchange in opened[1:]:
        if _acknowledgement(exchange) is not None:
            yield kept(exchange.sent)
        else:
            yield broken(exchange, f"while another one is open: {exchange.describe()}")


@rule("subs.graceful-result", reads=_SUBSCRIPTIONS)
def an_end_is_told_by_a_result(seen: ProbeSession) -> Iterator[Note]:
    """Where the server ended a stream that nobody closed, the request was answered first."""
    yield from _refused(seen)
    for exchange in _listening(seen):
        if _acknowledgement(exchange) is None:
            continue
        kinds = [frame.kind for frame in exchange.replies]
        if exchange.result is not None:
            named = _subscription_id(exchange.result)
            if named == exchange.id and type(named) is type(exchange.id):
                yield kept(exchange)
            else:
                yield broken(
                    exchange,
                    f"the result names the subscription {named!r:.60}; {exchange.id!r:.60} was due",
                )
        elif "ended" in kinds and "closed" not in kinds:
            yield broken(exchange, "the server ended the stream without a result")


@rule("subs.removed-subscribe", reads=_SUBSCRIPTIONS)
def the_old_way_to_subscribe_is_gone(seen: ProbeSession) -> Iterator[Note]:
    """resources/subscribe and resources/unsubscribe are unknown."""
    found = seen.tagged("subscriptions/removed")
    answered = [exchange for exchange in found if exchange.answer is not None]
    yield from expect_codes(answered, "a method that is gone", (_NO_METHOD,))
