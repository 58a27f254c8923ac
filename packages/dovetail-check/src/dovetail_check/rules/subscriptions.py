"""basic/patterns/subscriptions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail.spec import keys
from dovetail_check.escaping import shown
from dovetail_check.exchanges import Exchange, Incoming
from dovetail_check.notes import expect_codes
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, not_applicable, satisfied, violated

__all__: list[str] = []

_SUBSCRIPTIONS = ("subscriptions",)
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_UPDATED = "notifications/resources/updated"
_NO_METHOD = -32601
# The filter member for each notification, and the capability for each filter member.
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

unjudged["subs.interleave"] = "a permission: nothing to violate"
unjudged["subs.keepalive"] = "needs a stream that stays open for longer than a check runs"


def _listening(session: ProbeSession) -> list[Exchange]:
    """subscriptions/listen requests that were not rejected."""
    return [
        exchange for exchange in session.sent("subscriptions/listen") if not _is_rejected(exchange)
    ]


def _is_rejected(exchange: Exchange) -> bool:
    # An error after the acknowledgement ends a stream that was accepted.
    return exchange.error is not None and _acknowledgement(exchange) is None


def _absence(session: ProbeSession) -> Iterator[Note]:
    """Not applicable if subscriptions/listen is rejected."""
    for exchange in session.tagged("subscriptions/everything"):
        if _is_rejected(exchange):
            yield not_applicable(f"subscriptions/listen got {exchange.describe()}")


def _notifications(exchange: Exchange) -> list[Incoming]:
    """The notifications of a stream."""
    return [incoming for incoming in exchange.incoming if incoming.is_notification]


def _acknowledgement(exchange: Exchange) -> Incoming | None:
    return next(
        (incoming for incoming in _notifications(exchange) if incoming.method == _ACKNOWLEDGED),
        None,
    )


def _filter(exchange: Exchange) -> dict[str, Any]:
    wanted = exchange.params.get("notifications")
    return wanted if isinstance(wanted, dict) else {}


def _subscription_id(members: Any) -> Any:
    meta = members.get("_meta") if isinstance(members, dict) else None
    return meta.get(keys.SUBSCRIPTION_ID) if isinstance(meta, dict) else None


@rule("subs.ack-first", reads=_SUBSCRIPTIONS)
def the_acknowledgement_comes_first(session: ProbeSession) -> Iterator[Note]:
    """notifications/subscriptions/acknowledged is the first message of a subscription."""
    yield from _absence(session)
    for exchange in session.tagged("subscriptions"):
        if exchange not in _listening(session):
            continue
        first = exchange.incoming[0] if exchange.incoming else None
        if first is not None and first.method == _ACKNOWLEDGED:
            yield satisfied(first)
        elif first is not None:
            got = first.method or "a response"
            yield violated(first, f"{shown(got)} came first; expected {_ACKNOWLEDGED}")
        else:
            yield violated(exchange, f"got {exchange.describe()}; expected {_ACKNOWLEDGED}")


@rule("subs.nothing-before-ack", reads=_SUBSCRIPTIONS)
def nothing_precedes_the_acknowledgement(session: ProbeSession) -> Iterator[Note]:
    """No notification of the subscription comes before the acknowledgement."""
    yield from _absence(session)
    for exchange in _listening(session):
        told = _notifications(exchange)
        if told and told[0].method != _ACKNOWLEDGED:
            yield violated(told[0], f"{told[0].method!r:.80} came before {_ACKNOWLEDGED}")
        elif told:
            yield satisfied(told[0])


@rule("subs.ack-subset", reads=_SUBSCRIPTIONS)
def the_acknowledgement_is_a_subset(session: ProbeSession) -> Iterator[Note]:
    """Only what the client requested and the server declares is acknowledged."""
    yield from _absence(session)
    for exchange in _listening(session):
        incoming = _acknowledgement(exchange)
        if incoming is None:
            continue
        problem = _excess(session, _filter(exchange), incoming.params.get("notifications"))
        yield satisfied(incoming) if problem is None else violated(incoming, problem)


def _excess(session: ProbeSession, wanted: dict[str, Any], agreed: Any) -> str | None:
    if not isinstance(agreed, dict):
        return f"notifications is {shown(agreed)}; expected the accepted part of the filter"
    for name, value in agreed.items():
        if name not in _CAPABILITIES or not value:
            continue
        if not wanted.get(name):
            return f"{name} is acknowledged, but was not requested"
        if not session.has(_CAPABILITIES[name]):
            return f"{name} is acknowledged, but {_CAPABILITIES[name]} is not declared"
    given, asked = agreed.get("resourceSubscriptions"), wanted.get("resourceSubscriptions")
    for uri in given if isinstance(given, list) else ():
        if not isinstance(asked, list) or uri not in asked:
            return f"{uri!r:.80} is acknowledged, but was not requested"
    return None


@rule("subs.id-on-all", reads=_SUBSCRIPTIONS)
def every_notification_names_its_subscription(session: ProbeSession) -> Iterator[Note]:
    """Each notification has the id of the request, in type and value."""
    yield from _absence(session)
    for exchange in _listening(session):
        for incoming in _notifications(exchange):
            yield _named(incoming, exchange.id)
    unmatched = session.notifications(_ACKNOWLEDGED, *_FILTERS)
    for incoming in unmatched:
        # Over stdio only the id shows which stream a notification belongs to.
        if incoming.exchange is None and _listening(session):
            named = _subscription_id(incoming.params)
            yield violated(
                incoming, f"{incoming.method} names {named!r:.60}, which is not a subscription"
            )


def _named(incoming: Incoming, id: Any) -> Note:
    named = _subscription_id(incoming.params)
    if named == id and type(named) is type(id):
        return satisfied(incoming)
    return violated(
        incoming, f"{incoming.method} names the subscription {named!r:.60}; expected {id!r:.60}"
    )


@rule("subs.only-requested", reads=_SUBSCRIPTIONS)
def only_requested_notifications_are_sent(session: ProbeSession) -> Iterator[Note]:
    """The filter names every type of notification that is sent."""
    yield from _absence(session)
    for exchange in _listening(session):
        wanted = _filter(exchange)
        unwanted = [
            incoming
            for incoming in _notifications(exchange)
            if incoming.method in _FILTERS and not wanted.get(_FILTERS[incoming.method])
        ]
        for incoming in unwanted:
            yield violated(incoming, f"got {incoming.method}, but the filter is {shown(wanted)}")
        if not unwanted and _acknowledgement(exchange) is not None:
            yield satisfied(exchange.sent)


@rule("subs.concurrent", reads=_SUBSCRIPTIONS)
def several_subscriptions_may_be_open(session: ProbeSession) -> Iterator[Note]:
    """The second and third subscription are acknowledged like the first."""
    yield from _absence(session)
    opened = [
        exchange
        for exchange in session.tagged("subscriptions")
        if exchange.method == "subscriptions/listen"
    ]
    if not opened or _acknowledgement(opened[0]) is None:
        return
    for exchange in opened[1:]:
        if _acknowledgement(exchange) is not None:
            yield satisfied(exchange.sent)
        else:
            yield violated(exchange, f"with another subscription open: {exchange.describe()}")


@rule("subs.graceful-result", reads=_SUBSCRIPTIONS)
def the_server_ends_streams_with_a_result(session: ProbeSession) -> Iterator[Note]:
    """If the server ends a stream, it sends the result of the request first."""
    yield from _absence(session)
    for exchange in _listening(session):
        if _acknowledgement(exchange) is None:
            continue
        kinds = [frame.kind for frame in exchange.replies]
        if exchange.result is not None:
            named = _subscription_id(exchange.result)
            if named == exchange.id and type(named) is type(exchange.id):
                yield satisfied(exchange)
            else:
                yield violated(
                    exchange,
                    f"the result names subscription {named!r:.60}; expected {exchange.id!r:.60}",
                )
        elif "ended" in kinds and "closed" not in kinds:
            yield violated(exchange, "the server ended the stream without a result")


@rule("subs.removed-subscribe", reads=_SUBSCRIPTIONS)
def legacy_subscribe_is_removed(session: ProbeSession) -> Iterator[Note]:
    """resources/subscribe and resources/unsubscribe are unknown methods."""
    found = session.tagged("subscriptions/removed")
    answered = [exchange for exchange in found if exchange.answer is not None]
    yield from expect_codes(answered, "a removed method", (_NO_METHOD,))
