"""What the pages of tools, resources and prompts say alike about their lists."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

from dovetail_check.exchanges import Exchange
from dovetail_check.noting import undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, absent, broken, kept, unsettled

__all__: list[str] = []

# member of the result, method, what an item is known by
_KINDS = (
    ("tools", "tools/list", "name"),
    ("resources", "resources/list", "uri"),
    ("prompts", "prompts/list", "name"),
)


def capability_is_declared(seen: ProbeSession, kind: str, method: str) -> Iterator[Note]:
    """A list that has something in it belongs to a capability that was declared."""
    if seen.has(kind):
        yield kept(seen.opening)
    for exchange in seen.tagged(f"undeclared/{method}"):
        items = (exchange.result or {}).get(kind)
        if isinstance(items, list) and items:
            yield broken(exchange, f"{method} lists {len(items)}, but {kind} is not declared")
        else:
            yield absent(f"the server offers no {kind}")


def list_answers(seen: ProbeSession, kind: str, method: str) -> Iterator[Note]:
    """What is declared can be listed."""
    yield from undeclared(seen, kind)
    for page in seen.pages(kind):
        if isinstance((page.result or {}).get(kind), list):
            yield kept(page)
        else:
            yield broken(page, f"{method} got {page.describe()}; a list of {kind} was due")


def list_is_the_same_for_all(seen: ProbeSession, kind: str, key: str) -> Iterator[Note]:
    """The same items on another connection, and after other requests."""
    yield from undeclared(seen, kind)
    walks = _walks(seen, kind, key)
    if len(walks) < 3 or seen.notifications(f"notifications/{kind}/list_changed"):
        return
    before, after, elsewhere = (sorted(keys, key=repr) for _, keys in walks)
    last, _ = walks[2]
    if elsewhere not in (before, after):
        differing = [one for one in (*after, *elsewhere) if (one in after) != (one in elsewhere)]
        yield broken(last, f"another connection lists other {kind}: {differing[:5]} differ")
    elif before != after:
        yield unsettled(
            last,
            f"the list of {kind} changed during the check: allowed if it changed by itself, "
            "not allowed if other requests changed it",
        )
    else:
        yield kept(last)


def _walks(seen: ProbeSession, kind: str, key: str) -> list[tuple[Exchange, list[Any]]]:
    """The keys of each complete walk: first, again, and on a connection of its own."""
    found = []
    for tag in (f"walk/{kind}", f"walk-again/same/{kind}", f"cold/lists/{kind}"):
        pages = seen.tagged(tag)
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
    unjudged[f"{_kind}.list-changed"] = "needs a list that changes while the checker looks"


@rule("tools.list-order", reads=("walk-again", "cold"))
def tools_come_in_the_same_order(seen: ProbeSession) -> Iterator[Note]:
    """Three walks over the same tools, in one order."""
    yield from undeclared(seen, "tools")
    walks = _walks(seen, "tools", "name")
    for (_, before), (page, after) in pairwise(walks):
        if sorted(before, key=repr) != sorted(after, key=repr):
            continue
        if before != after:
            yield broken(page, f"the same tools came as {before[:8]} and then as {after[:8]}")
        else:
            yield kept(page)


_PERMISSION = "a permission: nothing to break"
for _row in ("tools.list-empty-ok", "resources.list-vary-ok", "prompts.list-vary-ok"):
    unjudged[_row] = _PERMISSION
