"""The arguments of search-vault, and its filters."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from dovetail_vault.bitsets import from_numbers
from dovetail_vault.index import Index

__all__ = ["SearchRequest", "allowed_notes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """The arguments of search-vault."""

    query: str
    folder: tuple[str, ...] = ()
    mode: str = "text"
    case_sensitive: bool = False
    context_lines: int = 2
    include_context: bool = True
    limit: int = 100
    offset: int = 0
    sort: str = "relevance"
    frontmatter: tuple[tuple[str, Any], ...] = ()
    modified_after_ns: int | None = None
    modified_before_ns: int | None = None
    max_chars: int = 60_000


def allowed_notes(index: Index, request: SearchRequest) -> int:
    """Return the set of notes that pass the filters; call it inside `reading`."""
    allowed = index.live
    if request.folder:
        prefix = "/".join(request.folder)
        bounds = (f"{prefix}/", f"{prefix}0")
        allowed &= index.numbers("WHERE path >= ? AND path < ?", bounds)
    if request.modified_after_ns is not None:
        allowed &= index.numbers("WHERE mtime_ns >= ?", (request.modified_after_ns,))
    if request.modified_before_ns is not None:
        allowed &= index.numbers("WHERE mtime_ns < ?", (request.modified_before_ns,))
    for key, value in request.frontmatter:
        rows = index.query(
            "SELECT id, frontmatter FROM notes WHERE instr(frontmatter, ?)",
            (json.dumps(key, ensure_ascii=False),),
        )
        allowed &= from_numbers([n for n, text in rows if _has_value(json.loads(text), key, value)])
    return allowed


def _has_value(values: dict[str, Any], key: str, wanted: Any) -> bool:
    if key not in values:
        return False
    value = values[key]
    if isinstance(value, list) and not isinstance(wanted, list):
        return any(_equal(item, wanted) for item in value)
    return _equal(value, wanted)


def _equal(value: Any, wanted: Any) -> bool:
    if isinstance(value, str) and isinstance(wanted, str):
        return value.casefold() == wanted.casefold()
    return bool(value == wanted) and isinstance(value, bool) == isinstance(wanted, bool)
