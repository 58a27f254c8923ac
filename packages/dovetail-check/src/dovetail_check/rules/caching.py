"""server/utilities/caching."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from dovetail_check.exchanges import Exchange
from dovetail_check.noting import undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, broken, kept

__all__: list[str] = []

_HINTS = ("ttlMs", "cacheScope")
_SCOPES = ("public", "private")

# row, method, capability that it needs, probe that sends it
_CACHEABLE = (
    ("caching.discover", "server/discover", "", "walk"),
    ("caching.tools-list", "tools/list", "tools", "walk"),
    ("caching.prompts-list", "prompts/list", "prompts", "walk"),
    ("caching.resources-list", "resources/list", "resources", "walk"),
    ("caching.templates-list", "resources/templates/list", "resources", "walk"),
    ("caching.resources-read", "resources/read", "resources", "read-resources"),
)
_METHODS = tuple(method for _, method, _, _ in _CACHEABLE)


def _complete(seen: ProbeSession, *methods: str) -> Iterator[tuple[Exchange, dict[str, Any]]]:
    for exchange in seen.sent(*methods):
        result = exchange.result
        if result is not None and result.get("resultType", "complete") == "complete":
            yield exchange, result


def hints_are_there(seen: ProbeSession, method: str, capability: str) -> Iterator[Note]:
    """ttlMs and cacheScope, on every page."""
    if capability and not seen.has(capability):
        yield from undeclared(seen, capability)
        return
    for exchange, result in _complete(seen, method):
        missing = [name for name in _HINTS if name not in result]
        if missing:
            yield broken(exchange, f"the result of {method} has no {' and no '.join(missing)}")
        else:
            yield kept(exchange)


for _row, _method, _capability, _probe in _CACHEABLE:
    # caching.discover, caching.tools-list, caching.prompts-list, ...
    rule(_row, reads=(_probe,))(partial(hints_are_there, method=_method, capability=_capability))


@rule("caching.ttl-nonnegative", reads=("walk", "read-resources"))
def times_are_not_negative(seen: ProbeSession) -> Iterator[Note]:
    """ttlMs is a whole number from 0 on."""
    for exchange, result in _complete(seen, *_METHODS):
        if "ttlMs" not in result:
            continue
        ttl = result["ttlMs"]
        is_whole = isinstance(ttl, int) and not isinstance(ttl, bool)
        if (is_whole or (isinstance(ttl, float) and ttl.is_integer())) and ttl >= 0:
            yield kept(exchange)
        else:
            yield broken(exchange, f"ttlMs is {ttl!r:.60}; an integer from 0 on was due")


@rule("caching.scope-enum", reads=("walk", "read-resources"))
def scopes_are_known(seen: ProbeSession) -> Iterator[Note]:
    """public or private."""
    for exchange, result in _complete(seen, *_METHODS):
        if "cacheScope" not in result:
            continue
        if result["cacheScope"] in _SCOPES:
            yield kept(exchange)
        else:
            given = result["cacheScope"]
            yield broken(exchange, f"cacheScope is {given!r:.60}; public or private was due")


@rule("caching.scope-same-pages", reads=("walk",))
def pages_of_a_list_have_one_scope(seen: ProbeSession) -> Iterator[Note]:
    """Whatever the first page says holds for all."""
    for kind in ("tools", "prompts", "resources", "resourceTemplates"):
        pages = [page for page in seen.pages(kind) if page.result is not None]
        for page in pages[1:]:
            first = (pages[0].result or {}).get("cacheScope")
            scope = (page.result or {}).get("cacheScope")
            if scope == first:
                yield kept(page)
            else:
                yield broken(page, f"{kind}: a page is {scope!r:.40}, the first was {first!r:.40}")


@rule("caching.no-hints-on-input-required", reads=("read-resources", "tool-calls"))
def questions_are_not_cached(seen: ProbeSession) -> Iterator[Note]:
    """A result that asks back carries no hints."""
    for exchange in seen.exchanges:
        result = exchange.result
        if result is None or result.get("resultType") != "input_required":
            continue
        hints = [name for name in _HINTS if name in result]
        if hints:
            yield broken(exchange, f"a result that asks back has {' and '.join(hints)}")
        else:
            yield kept(exchange)


unjudged.update(
    {
        "caching.ttl-without-listchanged": "a permission: nothing to break",
        "caching.ttl-per-page": "a permission: nothing to break",
        "caching.public-aware": "nothing on the wire shows what a server knows",
        "caching.access-control": "nothing on the wire shows how access is controlled",
        "caching.not-access-control": "nothing on the wire shows what access relies on",
    }
)
