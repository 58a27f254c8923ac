"""Notes that were found, as they are shown: the lines that say why, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from dovetail_vault.index import NoteRow
from dovetail_vault.lines import LineHit, show_matches
from dovetail_vault.results import FileMatches
from dovetail_vault.search_request import SearchRequest
from dovetail_vault.vault import Vault

__all__ = ["Shown", "show_notes"]


class Shown(NamedTuple):
    """What fits; whether something was left out of it; how many notes are gone by now."""

    files: list[FileMatches]
    truncated: bool
    gone: int


def show_notes(
    vault: Vault,
    request: SearchRequest,
    page: Sequence[tuple[int, int]],
    find: Callable[[NoteRow, str], list[LineHit]],
) -> Shown:
    """Notes by number, with their scores; `find` says which lines of a text are shown."""
    rows = vault.index.rows(number for number, _ in page)
    files, budget, truncated, gone = [], request.max_chars, False, 0
    for number, score in page:
        row = rows.get(number)
        text = None if row is None else vault.text_of(row.path)
        if row is None or text is None:
            gone += 1
            continue
        context = request.context_lines if request.include_context else None
        found = find(row, text)
        matches, used = show_matches(text, found, context, budget)
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
    return Shown(files, truncated, gone)
