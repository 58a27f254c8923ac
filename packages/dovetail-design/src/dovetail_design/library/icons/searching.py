"""Finding icons by words: names before tags, beginnings before synonyms."""

from __future__ import annotations

from functools import cache, lru_cache

from dovetail_design.library.icons.catalogue import Icon, load_icons
from dovetail_design.library.ranking import rank

__all__ = ["search_icons"]


@cache
def _words() -> dict[Icon, list[str]]:
    return {icon: icon.words for icon in load_icons().values()}


def search_icons(query: str) -> list[Icon]:
    """All icons that fit, best first; every icon for an empty query. The caller pages."""
    return list(_search(query.strip().lower()))


# The last few answers are kept, since the pages of one are asked for one by one.
@lru_cache(maxsize=32)
def _search(query: str) -> tuple[Icon, ...]:
    return tuple(rank(query, _words()))
