"""basic/index#statelessness."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule
from dovetail_check.rules.reading import as_json, changes_by_itself
from dovetail_check.verdicts import Note, broken, kept, unsettled

__all__: list[str] = []


@rule("base.stateless.no-prior-context", reads=("cold",))
def the_first_request_is_served(seen: ProbeSession) -> Iterator[Note]:
    """A list is served on a line where nothing came before."""
    for exchange in seen.tagged("cold/first"):
        if exchange.result is not None:
            yield kept(exchange)
        else:
            came = exchange.describe()
            yield broken(exchange, f"{exchange.method} as the first request got {came}")


@rule("base.stateless.no-affinity", reads=("cold",))
def another_line_goes_on(seen: ProbeSession) -> Iterator[Note]:
    """What one line began, another one may continue."""
    pages = {exchange.tag: exchange for exchange in seen.tagged("cold")}
    first, here, there = (pages.get(f"cold/{name}") for name in ("first", "page-one", "page-two"))
    if there is not None and there.result is None:
        yield broken(there, f"the cursor of another connection got {there.describe()}")
    elif there is not None:
        yield kept(there)
    elif first is not None and here is not None and here.result is not None:
        if first.result is None:
            yield broken(first, f"served on one connection, on another it got {first.describe()}")
        else:
            yield kept(first)


@rule("base.stateless.interleaving", reads=("many-clients",))
def many_clients_are_served_at_once(seen: ProbeSession) -> Iterator[Note]:
    """Requests of several clients on one line are all answered with results."""
    for exchange in seen.tagged("many-clients"):
        if exchange.result is None:
            yield broken(exchange, f"one of several at once got {exchange.describe()}")
        else:
            yield kept(exchange)


@rule("base.reqmeta.clientinfo-no-behaviour", reads=("many-clients",))
def everybody_sees_the_same(seen: ProbeSession) -> Iterator[Note]:
    """The list is the same whoever asks."""
    asked = [exchange for exchange in seen.tagged("many-clients") if exchange.result is not None]
    for exchange in asked[1:]:
        if as_json(exchange.result) == as_json(asked[0].result):
            yield kept(exchange)
        elif changes_by_itself(seen, asked[0]):
            yield unsettled(
                exchange, f"{exchange.method} differs, but it does so for one client too"
            )
        else:
            yield broken(exchange, f"{exchange.method} differs with the name of the client")
