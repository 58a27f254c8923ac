"""Render the notes of a result with their matching lines, within a size limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from dovetail_vault.index import NoteRow
from dovetail_vault.lines import LineHit, render_matches
from dovetail_vault.results import FileMatches
from dovetail_vault.search_request import SearchRequest
from dovetail_vault.vault import Vault

__all__ = ["Rendered", "render_notes"]


class Rendered(NamedTuple):
    """The rendered notes, whether matches were left out, and how many notes no longer exist."""

    files: list[FileMatches]
    truncated: bool
    missing: int


def render_notes(
    vault: Vault,
    request: SearchRequest,
    page: Sequence[tuple[int, int]],
    find: Callable[[NoteRow, str], list[LineHit]],
) -> Rendered:
    """Render notes by number and score; `find` returns the lines of a text to show."""
    rows = vault.index.rows(number for number, _ in page)
    files, budget, truncated, missing = [], request.max_chars, False, 0
    for number, score in page:
        row = rows.get(number)
        text = None if row is None else vault.text_of(row.path)
        if row is None or text is None:
            missing += 1
            continue
        context = request.context_lines if request.include_context else None
        found = find(row, text)
        matches, used = render_matches(text, found, context, budget)
        truncated = truncated or len(matches) < len(found)
        budget -= used
        files.append(
            FileMatches(
                path=row.path,
                title=row.title,
                uri=vault.uri_of(row.path),
                score=score,
                match_count=len(found),
                matches=matches,
                size=row.size,
                modified=vault.date_of(row.mtime_ns),
                etag=row.etag,
            )
        )
    return Rendered(files, truncated, missing)
