"""Notes that many rules make alike."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, TypeVar

from dovetail_check.exchanges import Exchange, Heard
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.verdicts import Note, absent, broken, kept

__all__ = ["answered", "expect_codes", "expect_error", "note_each", "offered", "undeclared"]

T = TypeVar("T")


def undeclared(seen: ProbeSession, capability: str) -> Iterator[Note]:
    """Why a rule does not apply, where a capability was not declared."""
    if seen.opening is not None and not seen.has(capability):
        yield absent(f"the server does not declare {capability}")


def offered(seen: ProbeSession, kind: str) -> Iterator[tuple[Exchange, dict[str, Any]]]:
    """Every item of a list that was walked, with the page it was on."""
    for page in seen.pages(kind):
        items = (page.result or {}).get(kind)
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict):
                yield page, item


def note_each(
    found: Iterable[tuple[Exchange | Heard, T]], find_problem: Callable[[T], str | None]
) -> Iterator[Note]:
    """Broken where a problem is found, kept where there is none."""
    for where, item in found:
        problem = find_problem(item)
        yield kept(where) if problem is None else broken(where, problem)


def answered(exchanges: Iterable[Exchange]) -> Iterator[Exchange]:
    """Without those that got nothing: a slow server shows nothing, and silence has its own row."""
    for exchange in exchanges:
        if exchange.answer is not None:
            yield exchange


def expect_codes(
    exchanges: Iterable[Exchange], what: str, codes: Collection[int]
) -> Iterator[Note]:
    """An error with one of these codes was due."""
    due = " or ".join(map(str, codes))
    for exchange in answered(exchanges):
        if exchange.code in codes:
            yield kept(exchange)
        else:
            yield broken(exchange, f"{what} got {exchange.describe()}; {due} was due")


def expect_error(exchanges: Iterable[Exchange], what: str) -> Iterator[Note]:
    """Some error was due, whatever its code."""
    for exchange in answered(exchanges):
        if exchange.error is not None:
            yield kept(exchange)
        else:
            yield broken(exchange, f"{what} got {exchange.describe()}; an error was due")
