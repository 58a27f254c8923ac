"""basic/utilities/ping."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule
from dovetail_check.verdicts import Note, broken, kept

__all__: list[str] = []

# Pings of the server on one line within the time below that are more than keeping in touch.
_MOST_PINGS = 10
_SECONDS = 10


@rule("ping.empty-result", reads=("ping",))
def ping_is_answered_with_an_empty_result(seen: ProbeSession) -> Iterator[Note]:
    """The result has no members, except perhaps `_meta`."""
    for exchange in seen.tagged("ping"):
        if exchange.result is None:
            yield broken(exchange, f"ping got {exchange.describe()}; a result was due")
        elif extra := sorted(exchange.result.keys() - {"_meta"}):
            yield broken(exchange, f"the result of ping has members: {', '.join(extra)}")
        else:
            yield kept(exchange)


@rule("ping.removed", reads=("removed-ping",))
def ping_is_unknown(seen: ProbeSession) -> Iterator[Note]:
    """-32601, as for any unknown method."""
    for exchange in seen.tagged("removed-ping"):
        if exchange.code == -32601:
            yield kept(exchange)
        else:
            yield broken(exchange, f"ping got {exchange.describe()}; -32601 was due")


@rule("ping.not-excessive")
def the_server_pings_now_and_then(seen: ProbeSession) -> Iterator[Note]:
    """Not more than once a second on the average."""
    pings = [heard for heard in seen.requests if heard.method == "ping"]
    for line in dict.fromkeys(heard.frame.line for heard in pings):
        mine = [heard for heard in pings if heard.frame.line == line]
        flood = [
            later
            for first, later in zip(mine, mine[_MOST_PINGS:], strict=False)
            if later.frame.at - first.frame.at < _SECONDS
        ]
        if flood:
            yield broken(flood[0], f"more than {_MOST_PINGS} pings within {_SECONDS} s")
        else:
            yield kept(mine[0])
