"""server/utilities/pagination."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from dovetail_check.exchanges import Exchange
from dovetail_check.noting import answered, expect_codes
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.probes.walk import MOST_PAGES
from dovetail_check.rulebook import rule
from dovetail_check.verdicts import Note, absent, broken, kept, unsettled

__all__: list[str] = []

# member of the result, what an item is known by
_LISTS = (
    ("tools", "name"),
    ("prompts", "name"),
    ("resources", "uri"),
    ("resourceTemplates", "uriTemplate"),
)
_INTERNAL_ERROR = -32603


def _absence(seen: ProbeSession) -> Iterator[Note]:
    declared = [kind for kind in ("tools", "prompts", "resources") if seen.has(kind)]
    if seen.opening is not None and not declared:
        yield absent("the server has no lists")


def _keys(page: Exchange, member: str, key: str) -> list[Any]:
    items = (page.result or {}).get(member)
    found = items if isinstance(items, list) else []
    return [item.get(key) for item in found if isinstance(item, dict)]


@rule("pagination.walk", reads=("walk",))
def walks_come_to_an_end(seen: ProbeSession) -> Iterator[Note]:
    """No cursor twice, and none that is refused."""
    yield from _absence(seen)
    for member, _ in _LISTS:
        pages = seen.pages(member)
        if not pages or pages[-1].is_silent:
            continue
        last = pages[-1]
        cursor = (last.result or {}).get("nextCursor")
        used = [page.params.get("cursor") for page in pages]
        if last.result is None:
            if len(pages) > 1:
                given = used[-1]
                yield broken(last, f"{member}: the cursor {given!r:.60} got {last.describe()}")
        elif cursor is None:
            yield kept(last)
        elif cursor in used:
            yield broken(last, f"{member}: the cursor {cursor!r:.60} was given out before: a loop")
        elif len(pages) >= MOST_PAGES:
            yield unsettled(last, f"{member}: no end after {len(pages)} pages: long, or endless")


@rule("pagination.no-duplicates", reads=("walk",))
def pages_do_not_overlap(seen: ProbeSession) -> Iterator[Note]:
    """No item on two pages."""
    yield from _absence(seen)
    for member, key in _LISTS:
        pages = seen.pages(member)
        if len(pages) < 2:
            continue
        often = Counter(one for page in pages for one in set(map(repr, _keys(page, member, key))))
        twice = sorted(one for one, times in often.items() if times > 1)
        if twice:
            yield broken(pages[-1], f"{member}: on more than one page are {', '.join(twice[:5])}")
        else:
            yield kept(pages[-1])


@rule("pagination.stable", reads=("cursors",))
def cursors_are_stable(seen: ProbeSession) -> Iterator[Note]:
    """A cursor that is used twice leads to the same page."""
    yield from _absence(seen)
    is_paged = False
    for member, key in _LISTS:
        pages = seen.tagged(f"cursors/again/{member}")
        is_paged = is_paged or bool(pages)
        for one, other in pairwise(answered(pages)):
            if other.result is None:
                yield broken(other, f"{member}: a cursor used twice got {other.describe()}")
            elif _keys(one, member, key) != _keys(other, member, key):
                yield broken(other, f"{member}: a cursor used twice led to different pages")
            else:
                yield kept(other)
    if not is_paged and seen.tagged("cursors"):
        yield absent("no list has more than one page")


@rule("pagination.invalid-graceful", reads=("cursors",))
def invalid_cursors_do_no_harm(seen: ProbeSession) -> Iterator[Note]:
    """An answer, and not that of an accident."""
    yield from _absence(seen)
    for exchange in seen.tagged("cursors/invalid"):
        if exchange.is_silent:
            continue
        if exchange.answer is None or exchange.code == _INTERNAL_ERROR:
            yield broken(exchange, f"a cursor that nobody gave out got {exchange.describe()}")
        else:
            yield kept(exchange)


@rule("pagination.invalid-32602", reads=("cursors",))
def invalid_cursors_are_refused(seen: ProbeSession) -> Iterator[Note]:
    """-32602."""
    yield from _absence(seen)
    found = seen.tagged("cursors/invalid")
    yield from expect_codes(found, "a cursor that nobody gave out", (-32602,))
