"""basic/index#statelessness."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail.spec import keys
from dovetail_check.escaping import shown
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule
from dovetail_check.rules.reading import as_json, changes_by_itself
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated

__all__: list[str] = []


@rule("base.stateless.no-prior-context", reads=("cold",))
def the_first_request_needs_no_context(session: ProbeSession) -> Iterator[Note]:
    """A list succeeds as the first request on a new connection."""
    for exchange in session.tagged("cold/first"):
        if exchange.result is not None:
            yield satisfied(exchange)
        else:
            got = exchange.describe()
            yield violated(
                exchange, f"{exchange.method} as the first request got {got}; expected a result"
            )


@rule("base.stateless.no-affinity", reads=("cold",))
def requests_are_not_bound_to_a_connection(session: ProbeSession) -> Iterator[Note]:
    """A cursor from one connection works on another."""
    pages = {exchange.tag: exchange for exchange in session.tagged("cold")}
    first, here, there = (pages.get(f"cold/{name}") for name in ("first", "page-one", "page-two"))
    if there is not None and there.result is None:
        yield violated(there, f"a cursor from another connection got {there.describe()}")
    elif there is not None:
        yield satisfied(there)
    elif first is not None and here is not None and here.result is not None:
        if first.result is None:
            yield violated(first, f"succeeded on one connection, got {first.describe()} on another")
        else:
            yield satisfied(first)


@rule("base.stateless.interleaving", reads=("many-clients",))
def concurrent_clients_are_supported(session: ProbeSession) -> Iterator[Note]:
    """Concurrent requests of several clients on one connection all get results."""
    for exchange in session.tagged("many-clients"):
        if exchange.result is None:
            yield violated(
                exchange, f"one of several concurrent requests got {exchange.describe()}"
            )
        else:
            yield satisfied(exchange)


@rule("base.reqmeta.clientinfo-no-behaviour", reads=("many-clients",))
def client_info_does_not_change_results(session: ProbeSession) -> Iterator[Note]:
    """The list is the same for every clientInfo."""
    sent = session.tagged("many-clients")
    asked = [exchange for exchange in sent if exchange.result is not None]
    for exchange in sent if asked else ():
        if exchange.result is None:
            info = (exchange.params.get("_meta") or {}).get(keys.CLIENT_INFO)
            got = f"{exchange.method} with clientInfo {shown(info)} got {exchange.describe()}"
            yield violated(exchange, f"{got}, with another clientInfo a result")
    for exchange in asked[1:]:
        if as_json(exchange.result) == as_json(asked[0].result):
            yield satisfied(exchange)
        elif changes_by_itself(session, asked[0]):
            yield ambiguous(
                exchange, f"the result of {exchange.method} differs, but also for one client"
            )
        else:
            yield violated(exchange, f"the result of {exchange.method} depends on clientInfo")
