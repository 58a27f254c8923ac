"""server/utilities/caching."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from dovetail_check.escaping import shown
from dovetail_check.exchanges import Exchange
from dovetail_check.notes import undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, satisfied, violated

__all__: list[str] = []

_HINTS = ("ttlMs", "cacheScope")
_SCOPES = ("public", "private")

# row, method, required capability, probe that sends it
_CACHEABLE = (
    ("caching.discover", "server/discover", "", "walk"),
    ("caching.tools-list", "tools/list", "tools", "walk"),
    ("caching.prompts-list", "prompts/list", "prompts", "walk"),
    ("caching.resources-list", "resources/list", "resources", "walk"),
    ("caching.templates-list", "resources/templates/list", "resources", "walk"),
    ("caching.resources-read", "resources/read", "resources", "read-resources"),
)
_METHODS = tuple(method for _, method, _, _ in _CACHEABLE)


def _complete(session: ProbeSession, *methods: str) -> Iterator[tuple[Exchange, dict[str, Any]]]:
    for exchange in session.sent(*methods):
        result = exchange.result
        if result is not None and result.get("resultType", "complete") == "complete":
            yield exchange, result


def hints_are_there(session: ProbeSession, method: str, capability: str) -> Iterator[Note]:
    """Every page has ttlMs and cacheScope."""
    if capability and not session.has(capability):
        yield from undeclared(session, capability)
        return
    for exchange, result in _complete(session, method):
        missing = [name for name in _HINTS if name not in result]
        if missing:
            yield violated(exchange, f"the result of {method} lacks {' and '.join(missing)}")
        else:
            yield satisfied(exchange)


for _row, _method, _capability, _probe in _CACHEABLE:
    # caching.discover, caching.tools-list, caching.prompts-list, ...
    rule(_row, reads=(_probe,))(partial(hints_are_there, method=_method, capability=_capability))


@rule("caching.ttl-nonnegative", reads=("walk", "read-resources"))
def times_are_not_negative(session: ProbeSession) -> Iterator[Note]:
    """ttlMs is an integer of 0 or more."""
    for exchange, result in _complete(session, *_METHODS):
        if "ttlMs" not in result:
            continue
        ttl = result["ttlMs"]
        is_whole = isinstance(ttl, int) and not isinstance(ttl, bool)
        if (is_whole or (isinstance(ttl, float) and ttl.is_integer())) and ttl >= 0:
            yield satisfied(exchange)
        else:
            yield violated(exchange, f"ttlMs is {shown(ttl)}; expected an integer >= 0")


@rule("caching.scope-enum", reads=("walk", "read-resources"))
def scopes_are_known(session: ProbeSession) -> Iterator[Note]:
    """cacheScope is public or private."""
    for exchange, result in _complete(session, *_METHODS):
        if "cacheScope" not in result:
            continue
        if result["cacheScope"] in _SCOPES:
            yield satisfied(exchange)
        else:
            given = result["cacheScope"]
            yield violated(exchange, f"cacheScope is {shown(given)}; expected public or private")


@rule("caching.scope-same-pages", reads=("walk",))
def pages_of_a_list_have_one_scope(session: ProbeSession) -> Iterator[Note]:
    """All pages of a list have the cacheScope of the first."""
    for kind in ("tools", "prompts", "resources", "resourceTemplates"):
        pages = [page for page in session.pages(kind) if page.result is not None]
        for page in pages[1:]:
            first = (pages[0].result or {}).get("cacheScope")
            scope = (page.result or {}).get("cacheScope")
            if scope == first:
                yield satisfied(page)
            else:
                yield violated(
                    page, f"{kind}: a page has cacheScope {scope!r:.40}, the first {first!r:.40}"
                )


@rule("caching.no-hints-on-input-required", reads=("read-resources", "tool-calls"))
def input_required_results_have_no_hints(session: ProbeSession) -> Iterator[Note]:
    """A result with input_required has neither ttlMs nor cacheScope."""
    for exchange in session.exchanges:
        result = exchange.result
        if result is None or result.get("resultType") != "input_required":
            continue
        hints = [name for name in _HINTS if name in result]
        if hints:
            yield violated(exchange, f"a result with input_required has {' and '.join(hints)}")
        else:
            yield satisfied(exchange)


unjudged.update(
    {
        "caching.ttl-without-listchanged": "a permission: nothing to violate",
        "caching.ttl-per-page": "a permission: nothing to violate",
        "caching.public-aware": "not visible on the wire: what the server knows",
        "caching.access-control": "not visible on the wire: how access is controlled",
        "caching.not-access-control": "not visible on the wire: what access control relies on",
    }
)
