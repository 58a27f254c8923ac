"""Notes that several rules share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, TypeVar

from dovetail_check import shapes
from dovetail_check.exchanges import Exchange, Incoming
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.verdicts import Note, not_applicable, satisfied, violated

__all__ = [
    "answered",
    "expect_codes",
    "expect_error",
    "note_each",
    "offered",
    "page_problems",
    "undeclared",
]

T = TypeVar("T")


def undeclared(session: ProbeSession, capability: str) -> Iterator[Note]:
    """Yield "not applicable" if the server does not declare a capability."""
    if session.opening is not None and not session.has(capability):
        yield not_applicable(f"the server does not declare {capability}")


def offered(session: ProbeSession, kind: str) -> Iterator[tuple[Exchange, dict[str, Any]]]:
    """The items of a list, each with the exchange that returned its page."""
    for page in session.pages(kind):
        items = (page.result or {}).get(kind)
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict):
                yield page, item


# Members of a page that other requirements are about.
_OTHERS = ("resultType", "ttlMs", "cacheScope", "_meta")


def page_problems(session: ProbeSession, kind: str, method: str) -> Iterator[Note]:
    """Yield "violated" for pages of a list that do not match the schema, apart from their items."""
    for page in session.pages(kind):
        if page.result is None:
            continue
        found = shapes.result_problems(page.result, method, session.revision)
        mine = [one for one in found if not one.startswith((f"{kind}[", *_OTHERS))]
        if mine:
            yield violated(page, f"the result of {method}: {'; '.join(mine[:3])}")


def note_each(
    found: Iterable[tuple[Exchange | Incoming, T]], find_problem: Callable[[T], str | None]
) -> Iterator[Note]:
    """Yield "violated" for items with a problem and "satisfied" for the others."""
    for where, item in found:
        problem = find_problem(item)
        yield satisfied(where) if problem is None else violated(where, problem)


def answered(exchanges: Iterable[Exchange]) -> Iterator[Exchange]:
    """The exchanges with a response. A missing response has its own requirement."""
    for exchange in exchanges:
        if exchange.answer is not None:
            yield exchange


def expect_codes(
    exchanges: Iterable[Exchange], what: str, codes: Collection[int]
) -> Iterator[Note]:
    """Expect an error with one of these codes."""
    expected = " or ".join(map(str, codes))
    for exchange in answered(exchanges):
        if exchange.code in codes:
            yield satisfied(exchange)
        else:
            yield violated(exchange, f"{what} got {exchange.describe()}; expected {expected}")


def expect_error(exchanges: Iterable[Exchange], what: str) -> Iterator[Note]:
    """Expect an error with any code."""
    for exchange in answered(exchanges):
        if exchange.error is not None:
            yield satisfied(exchange)
        else:
            yield violated(exchange, f"{what} got {exchange.describe()}; expected an error")
