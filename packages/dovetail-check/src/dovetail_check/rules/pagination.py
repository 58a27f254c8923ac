"""server/utilities/pagination."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from dovetail_check.exchanges import Exchange
from dovetail_check.notes import answered, expect_codes
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.probes.walk import MAX_PAGES
from dovetail_check.rulebook import rule
from dovetail_check.verdicts import Note, ambiguous, not_applicable, satisfied, violated

__all__: list[str] = []

# member of the result, key of an item
_LISTS = (
    ("tools", "name"),
    ("prompts", "name"),
    ("resources", "uri"),
    ("resourceTemplates", "uriTemplate"),
)
_INTERNAL_ERROR = -32603
# So many empty pages in a row are an endless list.
_EMPTY_PAGES = 10


def _absence(session: ProbeSession) -> Iterator[Note]:
    declared = [kind for kind in ("tools", "prompts", "resources") if session.has(kind)]
    if session.opening is not None and not declared:
        yield not_applicable("the server has no lists")


def _keys(page: Exchange, member: str, key: str) -> list[Any]:
    items = (page.result or {}).get(member)
    found = items if isinstance(items, list) else []
    return [item.get(key) for item in found if isinstance(item, dict)]


@rule("pagination.walk", reads=("walk",))
def walks_end(session: ProbeSession) -> Iterator[Note]:
    """No cursor is returned twice, and none is rejected."""
    yield from _absence(session)
    for member, key in _LISTS:
        pages = session.pages(member)
        if not pages or pages[-1].is_silent:
            continue
        last = pages[-1]
        cursor = (last.result or {}).get("nextCursor")
        used = [page.params.get("cursor") for page in pages]
        if last.result is None:
            if len(pages) > 1:
                given = used[-1]
                yield violated(last, f"{member}: the cursor {given!r:.60} got {last.describe()}")
        elif cursor is None:
            yield satisfied(last)
        elif cursor in used:
            yield violated(
                last, f"{member}: the cursor {cursor!r:.60} was returned before, which is a loop"
            )
        elif len(pages) >= MAX_PAGES and not any(
            _keys(page, member, key) for page in pages[-_EMPTY_PAGES:]
        ):
            text = f"the last {_EMPTY_PAGES} of {len(pages)} pages are empty and have a nextCursor"
            yield violated(last, f"{member}: {text}; expected an end")
        elif len(pages) >= MAX_PAGES:
            yield ambiguous(
                last, f"{member}: no end after {len(pages)} pages: a long list or an endless one"
            )


@rule("pagination.no-duplicates", reads=("walk",))
def pages_do_not_overlap(session: ProbeSession) -> Iterator[Note]:
    """No item is on two pages."""
    yield from _absence(session)
    for member, key in _LISTS:
        pages = session.pages(member)
        if len(pages) < 2:
            continue
        often = Counter(one for page in pages for one in set(map(repr, _keys(page, member, key))))
        twice = sorted(one for one, times in often.items() if times > 1)
        if twice:
            yield violated(pages[-1], f"{member}: on more than one page: {', '.join(twice[:5])}")
        else:
            yield satisfied(pages[-1])


@rule("pagination.stable", reads=("cursors",))
def cursors_are_stable(session: ProbeSession) -> Iterator[Note]:
    """A cursor that is used twice returns the same page."""
    yield from _absence(session)
    is_paged = False
    for member, key in _LISTS:
        pages = session.tagged(f"cursors/again/{member}")
        is_paged = is_paged or bool(pages)
        for one, other in pairwise(answered(pages)):
            if other.result is None:
                yield violated(other, f"{member}: a cursor used twice got {other.describe()}")
            elif sorted(_keys(one, member, key), key=repr) != sorted(
                _keys(other, member, key), key=repr
            ):
                yield violated(other, f"{member}: a cursor used twice returned different pages")
            else:
                yield satisfied(other)
    if not is_paged and session.tagged("cursors"):
        yield not_applicable("no list has more than one page")


@rule("pagination.invalid-graceful", reads=("cursors",))
def invalid_cursors_do_no_harm(session: ProbeSession) -> Iterator[Note]:
    """An invalid cursor gets an answer other than an internal error."""
    yield from _absence(session)
    for exchange in session.tagged("cursors/invalid"):
        if exchange.is_silent:
            continue
        if exchange.answer is None or exchange.code == _INTERNAL_ERROR:
            yield violated(exchange, f"an invalid cursor got {exchange.describe()}")
        else:
            yield satisfied(exchange)


@rule("pagination.invalid-32602", reads=("cursors",))
def invalid_cursors_are_rejected(session: ProbeSession) -> Iterator[Note]:
    """An invalid cursor gets -32602."""
    yield from _absence(session)
    found = session.tagged("cursors/invalid")
    yield from expect_codes(found, "an invalid cursor", (-32602,))
