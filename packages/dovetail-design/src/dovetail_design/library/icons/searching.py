"""Search for icons: names before tags, prefixes before synonyms."""

from __future__ import annotations

from functools import cache, lru_cache

from dovetail_design.library.icons.catalogue import Icon, load_icons
from dovetail_design.library.ranking import rank

__all__ = ["search_icons"]


@cache
def _words() -> dict[Icon, list[str]]:
    return {icon: icon.words for icon in load_icons().values()}


def search_icons(query: str) -> list[Icon]:
    """Return all matching icons, best first; every icon for an empty query."""
    return list(_search(query.strip().lower()))


# Cached, because the pages of a result are requested one by one.
@lru_cache(maxsize=32)
def _search(query: str) -> tuple[Icon, ...]:
    return tuple(rank(query, _words()))
