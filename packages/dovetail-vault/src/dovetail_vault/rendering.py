"""Render the notes of a result with their matching lines, within a size limit."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dovetail_serverkit.answer_size import json_size
from dovetail_vault.index import NoteRow
from dovetail_vault.lines import LineHit, render_matches
from dovetail_vault.results import FileMatches
from dovetail_vault.search_request import SearchRequest
from dovetail_vault.vault import Vault

__all__ = ["Rendered", "render_notes"]

# Characters of a property that is shown.
_MAX_VALUE = 200


class Rendered(NamedTuple):
    """The rendered notes, and how many notes no longer exist."""

    files: list[FileMatches]
    missing: int


def render_notes(
    vault: Vault,
    request: SearchRequest,
    page: Sequence[int],
    find: Callable[[NoteRow, str], list[LineHit]],
) -> Rendered:
    """Render notes by number; `find` returns the lines of a text to show."""
    rows = vault.index.rows(page)
    files, budget, missing = [], request.max_chars, 0
    for number in page:
        row = rows.get(number)
        text = None if row is None else vault.text_of(row.path)
        if row is None or text is None:
            missing += 1
            continue
        found = find(row, text)
        matches, used = render_matches(text, found, request.context_lines, budget)
        budget -= used
        files.append(
            FileMatches(
                path=row.path,
                matches=matches,
                more_matches=len(found) - len(matches),
                properties=_compared(row, request),
            )
        )
    return Rendered(files, missing)


def _compared(row: NoteRow, request: SearchRequest) -> dict[str, Any]:
    """Return the properties that the request's conditions compare."""
    if not request.conditions:
        return {}
    values = json.loads(row.frontmatter)
    wanted = {condition.key: values.get(condition.key) for condition in request.conditions}
    return {
        key: value
        for key, value in wanted.items()
        if value is not None and json_size(value) <= _MAX_VALUE
    }
