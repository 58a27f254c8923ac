"""basic/utilities/ping."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule
from dovetail_check.verdicts import Note, satisfied, violated

__all__: list[str] = []

# More pings than this on one connection within _SECONDS are excessive.
_MAX_PINGS = 10
_SECONDS = 10


@rule("ping.empty-result", reads=("ping",))
def ping_is_answered_with_an_empty_result(session: ProbeSession) -> Iterator[Note]:
    """The result has no members, except perhaps `_meta`."""
    for exchange in session.tagged("ping"):
        if exchange.result is None:
            yield violated(exchange, f"ping got {exchange.describe()}; expected a result")
        elif extra := sorted(exchange.result.keys() - {"_meta"}):
            yield violated(exchange, f"the result of ping has members: {', '.join(extra)}")
        else:
            yield satisfied(exchange)


@rule("ping.removed", reads=("removed-ping",))
def ping_is_unknown(session: ProbeSession) -> Iterator[Note]:
    """ping gets -32601, like any unknown method."""
    for exchange in session.tagged("removed-ping"):
        if exchange.code == -32601:
            yield satisfied(exchange)
        else:
            yield violated(exchange, f"ping got {exchange.describe()}; expected -32601")


@rule("ping.not-excessive")
def the_server_does_not_ping_excessively(session: ProbeSession) -> Iterator[Note]:
    """No more than one ping per second on average."""
    pings = [incoming for incoming in session.requests if incoming.method == "ping"]
    for connection in dict.fromkeys(incoming.frame.connection for incoming in pings):
        mine = [incoming for incoming in pings if incoming.frame.connection == connection]
        flood = [
            later
            for first, later in zip(mine, mine[_MAX_PINGS:], strict=False)
            if later.frame.at - first.frame.at < _SECONDS
        ]
        if flood:
            yield violated(flood[0], f"more than {_MAX_PINGS} pings within {_SECONDS} s")
        else:
            yield satisfied(mine[0])
