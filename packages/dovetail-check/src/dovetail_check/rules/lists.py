"""Rules that the pages of tools, resources and prompts share about their lists."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

from dovetail_check.exchanges import Exchange
from dovetail_check.notes import undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, ambiguous, not_applicable, satisfied, violated

__all__: list[str] = []

# member of the result, method, key of an item
_KINDS = (
    ("tools", "tools/list", "name"),
    ("resources", "resources/list", "uri"),
    ("prompts", "prompts/list", "name"),
)


def capability_is_declared(session: ProbeSession, kind: str, method: str) -> Iterator[Note]:
    """A server with a list that is not empty declares the capability."""
    if session.has(kind):
        yield satisfied(session.opening)
    for exchange in session.tagged(f"undeclared/{method}"):
        items = (exchange.result or {}).get(kind)
        if isinstance(items, list) and items:
            yield violated(
                exchange, f"{method} lists {len(items)} items, but {kind} is not declared"
            )
        else:
            yield not_applicable(f"the server offers no {kind}")


def list_answers(session: ProbeSession, kind: str, method: str) -> Iterator[Note]:
    """The list of a declared capability works."""
    yield from undeclared(session, kind)
    for page in session.pages(kind):
        if isinstance((page.result or {}).get(kind), list):
            yield satisfied(page)
        else:
            yield violated(page, f"{method} got {page.describe()}; expected a list of {kind}")


def list_is_the_same_for_all(session: ProbeSession, kind: str, key: str) -> Iterator[Note]:
    """The list is the same on another connection and after other requests."""
    yield from undeclared(session, kind)
    walks = _walks(session, kind, key)
    if len(walks) < 3 or session.notifications(f"notifications/{kind}/list_changed"):
        return
    # The first time and the next time on two connections.
    often = _walks(session, kind, key, _TWICE)
    shown = [sorted(keys, key=repr) for _, keys in often]
    if len(shown) == 4 and all(one != other for one, other in pairwise(shown)):
        text = f"the list of {kind} differs each time that it is requested"
        yield violated(often[1][0], f"{text}, four times in a row on two connections")
        return
    before, after, elsewhere = (sorted(keys, key=repr) for _, keys in walks)
    last, _ = walks[2]
    if elsewhere not in (before, after):
        differing = [one for one in (*after, *elsewhere) if (one in after) != (one in elsewhere)]
        yield violated(last, f"another connection lists different {kind}: {differing[:5]}")
    elif before != after:
        yield ambiguous(
            last,
            f"the list of {kind} changed during the check: a violation if other requests "
            "changed it",
        )
    else:
        yield satisfied(last)


_USUAL = ("walk", "walk-again/same", "cold/lists")
_TWICE = ("cold/one/first", "cold/one/again", "cold/two/first", "cold/two/again")


def _walks(
    session: ProbeSession, kind: str, key: str, tags: tuple[str, ...] = _USUAL
) -> list[tuple[Exchange, list[Any]]]:
    """The item keys of each complete walk: first, repeated, and on a new connection."""
    found = []
    for tag in tags:
        pages = session.tagged(f"{tag}/{kind}")
        lists = [(page.result or {}).get(kind) for page in pages]
        whole = [items for items in lists if isinstance(items, list)]
        if pages and len(whole) == len(lists) and "nextCursor" not in (pages[-1].result or {}):
            items = [item for part in whole for item in part if isinstance(item, dict)]
            found.append((pages[-1], [item.get(key) for item in items]))
    return found


for _kind, _method, _key in _KINDS:
    # tools.capability, resources.capability, prompts.capability
    rule(f"{_kind}.capability", reads=("undeclared",))(
        partial(capability_is_declared, kind=_kind, method=_method)
    )
    # tools.list-answers, resources.list-answers, prompts.list-answers
    rule(f"{_kind}.list-answers", reads=("walk",))(
        partial(list_answers, kind=_kind, method=_method)
    )
    # tools.list-not-per-connection, resources.list-not-per-connection, ...
    rule(f"{_kind}.list-not-per-connection", reads=("walk-again", "cold"))(
        partial(list_is_the_same_for_all, kind=_kind, key=_key)
    )
    unjudged[f"{_kind}.list-changed"] = "needs a list that changes during the check"


@rule("tools.list-order", reads=("walk-again", "cold"))
def tools_come_in_the_same_order(session: ProbeSession) -> Iterator[Note]:
    """Three walks over the same tools return the same order."""
    yield from undeclared(session, "tools")
    walks = _walks(session, "tools", "name")
    for (_, before), (page, after) in pairwise(walks):
        if sorted(before, key=repr) != sorted(after, key=repr):
            continue
        if before != after:
            yield violated(page, f"the same tools are listed as {before[:8]}, then as {after[:8]}")
        else:
            yield satisfied(page)


_PERMISSION = "a permission: nothing to violate"
for _row in ("tools.list-empty-ok", "resources.list-vary-ok", "prompts.list-vary-ok"):
    unjudged[_row] = _PERMISSION
