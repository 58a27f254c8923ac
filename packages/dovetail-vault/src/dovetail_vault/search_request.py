"""The arguments of search-vault, and its filters."""

from __future__ import annotations

import json
from dataclasses import dataclass

from dovetail_vault.bitsets import from_numbers
from dovetail_vault.index import Index
from dovetail_vault.limits import DEFAULT_CHARS
from dovetail_vault.property_filters import Condition, holds

__all__ = ["SearchRequest", "allowed_notes", "next_offset"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """The arguments of search-vault."""

    query: str = ""
    # The bounds of paths, as of `Vault.folder_bounds`.
    paths: tuple[str, str] | None = None
    mode: str = "text"
    case_sensitive: bool = False
    context_lines: int = 0
    limit: int = 100
    offset: int = 0
    sort: str = "relevance"
    conditions: tuple[Condition, ...] = ()
    modified_after_ns: int | None = None
    modified_before_ns: int | None = None
    max_chars: int = DEFAULT_CHARS


def allowed_notes(index: Index, request: SearchRequest) -> int:
    """Return the set of notes that pass the filters; call it inside `reading`."""
    allowed = index.live
    if request.paths is not None:
        allowed &= index.numbers("WHERE path >= ? AND path < ?", request.paths)
    if request.modified_after_ns is not None:
        allowed &= index.numbers("WHERE mtime_ns >= ?", (request.modified_after_ns,))
    if request.modified_before_ns is not None:
        allowed &= index.numbers("WHERE mtime_ns < ?", (request.modified_before_ns,))
    for condition in request.conditions:
        allowed &= _fulfilling(index, condition)
    return allowed


def _fulfilling(index: Index, condition: Condition) -> int:
    rows = index.query(
        "SELECT id, frontmatter FROM notes WHERE instr(frontmatter, ?)",
        (json.dumps(condition.key, ensure_ascii=False),),
    )
    wanted = condition._replace(operator=condition.operator.replace("!=", "="))
    found = from_numbers(
        [n for n, text in rows if holds(wanted, json.loads(text).get(condition.key))]
    )
    # A note without the property does not have the value either.
    return index.live & ~found if condition.operator == "!=" else found


def next_offset(total: int, offset: int, shown: int) -> int | None:
    """Return the offset of the next page; None if this is the last one."""
    return offset + shown if offset + shown < total else None
