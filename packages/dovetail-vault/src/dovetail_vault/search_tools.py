"""Tools that find notes: search-vault, search-by-title, search-by-tags, list-notes."""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta
from msgspec.structs import replace

from dovetail import Param, ToolResult
from dovetail_serverkit.tool_descriptions import READS
from dovetail_vault.answers import Reply, Vaults, parse_time
from dovetail_vault.index import NoteRow
from dovetail_vault.limits import LIST_CHARS, MaxChars, Offset, cut
from dovetail_vault.property_filters import Condition, parse_conditions
from dovetail_vault.registration import Registrar
from dovetail_vault.results import (
    FileMatches,
    Listed,
    NoteRef,
    SearchResult,
    TaggedNote,
    TagMatches,
    TitleMatch,
    TitleMatches,
    TreeEntry,
)
from dovetail_vault.search_request import SearchRequest, next_offset
from dovetail_vault.titles import nearest_names, rank_title
from dovetail_vault.vault import Vault
from dovetail_vault.words import fold

__all__ = ["add_search_tools"]

_Limit = Annotated[int, Meta(ge=1, le=1000)]
_Folder = Annotated[str | None, "Only notes in this folder."]
_Unlisted = Param(hidden=True)
_CONTEXT = 2
# Characters of the parsed query, and of a suggested name, as JSON.
_MAX_INTERPRETED = 100
_MAX_SHOWN = 50

_SEARCH = (
    "Search the text of all notes. A term matches anywhere, also inside words; a space means AND. "
    'Operators: AND, OR, NOT or -, "exact phrase", parentheses; fields title: content: tag: path:. '
    "`where` compares properties; without a query it finds all notes that fit. mode=regex takes "
    "one RE2 expression, matched line by line; semantic and hybrid rank plain text by meaning."
)


def add_search_tools(tools: Registrar, vaults: Vaults) -> None:
    """Register the tools."""

    def search_vault(  # noqa: PLR0913 - the tool's own parameters, all optional
        query: Annotated[str, Meta(max_length=10_000)] = "",
        path: _Folder = None,
        where: Annotated[str | None, "Like: due < 2026-12-01 AND status != done"] = None,
        mode: Literal["text", "regex", "semantic", "hybrid"] = "text",
        sort: Literal["relevance", "modified", "path"] = "relevance",
        contextLines: Annotated[int, Meta(ge=0, le=10)] = 0,
        includeContext: Annotated[bool | None, _Unlisted] = None,
        caseSensitive: bool = False,
        limit: Annotated[int, Meta(ge=1, le=500)] = 100,
        offset: Offset = 0,
        frontmatter: Annotated[dict[str, Any] | None, _Unlisted] = None,
        modifiedAfter: Annotated[str | None, "Date or date-time, inclusive."] = None,
        modifiedBefore: Annotated[str | None, "Exclusive."] = None,
        maxChars: Annotated[MaxChars, "Length of the whole answer."] = LIST_CHARS,
        vault: str | None = None,
    ) -> ToolResult:
        reply = Reply(maxChars)
        chosen = vaults.pick(vault)
        conditions = parse_conditions(where or "")
        conditions += [Condition(key, "=", value) for key, value in (frontmatter or {}).items()]
        lines = max(contextLines, _CONTEXT) if includeContext else contextLines
        result = vaults.search(
            vault,
            SearchRequest(
                query=query.strip(),
                paths=chosen.folder_bounds(path) if path else None,
                mode=mode,
                case_sensitive=caseSensitive,
                context_lines=0 if includeContext is False else lines,
                limit=limit,
                offset=offset,
                sort=sort,
                conditions=tuple(conditions),
                modified_after_ns=parse_time(modifiedAfter, "modifiedAfter"),
                modified_before_ns=parse_time(modifiedBefore, "modifiedBefore"),
                max_chars=maxChars,
            ),
        )
        result.interpreted = cut(result.interpreted, _MAX_INTERPRETED)
        count = sum(map(_units, result.files))
        return reply.first(count, lambda number: _first_lines(result, number, offset))

    tools.add("search-vault", search_vault, READS, SearchResult, _SEARCH)

    def search_by_title(
        query: Annotated[str, Meta(min_length=1, max_length=1000)],
        path: _Folder = None,
        caseSensitive: bool = False,
        limit: _Limit = 100,
        offset: Offset = 0,
        fuzzy: Annotated[bool, "Also find similar titles."] = False,
        maxChars: Annotated[MaxChars, _Unlisted] = LIST_CHARS,
        vault: str | None = None,
    ) -> ToolResult:
        """Find notes by title, file name or alias, the best match first."""
        reply = Reply(maxChars)
        chosen = vaults.pick(vault)
        names = _names_of(chosen, _below(chosen, path))
        found = []
        for row, known in names:
            score = rank_title(query, known, caseSensitive, fuzzy)
            if score > 0:
                found.append((score, row))
        found.sort(key=lambda pair: (-pair[0], pair[1].path))
        page = [_title_match(row) for _, row in found[offset : offset + limit]]
        similar = nearest_names(query, (row.title for row, _ in names)) if not found else []
        return reply.first(
            len(page),
            lambda number: TitleMatches(
                results=page[:number],
                total=len(found),
                next_offset=next_offset(len(found), offset, number),
                suggestions=[cut(name, _MAX_SHOWN) for name in similar],
            ),
        )

    tools.add("search-by-title", search_by_title, READS, TitleMatches)

    def search_by_tags(  # noqa: PLR0913 - the tool's own parameters, all but one optional
        tags: Annotated[
            list[Annotated[str, Meta(min_length=1)]], Meta(min_length=1, max_length=50)
        ],
        directory: _Folder = None,
        caseSensitive: bool = False,
        match: Literal["all", "any"] = "all",
        includeNested: Annotated[bool, "project also matches project/home."] = False,
        limit: _Limit = 100,
        offset: Offset = 0,
        maxChars: Annotated[MaxChars, _Unlisted] = LIST_CHARS,
        vault: str | None = None,
    ) -> ToolResult:
        """Find notes with all of these tags, or any of them. The `#` is optional."""
        reply = Reply(maxChars)
        chosen = vaults.pick(vault)
        sets = [_tagged(chosen, tag, caseSensitive, includeNested) for tag in tags]
        numbers = set.intersection(*sets) if match == "all" else set.union(*sets)
        rows = [row for row in _below(chosen, directory) if row.id in numbers]
        page = [
            TaggedNote(path=row.path, tags=_tags_of(chosen, row))
            for row in rows[offset : offset + limit]
        ]
        unknown = [tag.lstrip("#") for tag, found in zip(tags, sets, strict=True) if not found]
        return reply.first(
            len(page),
            lambda number: TagMatches(
                notes=page[:number],
                total=len(rows),
                next_offset=next_offset(len(rows), offset, number),
                suggestions=_similar_tags(chosen, unknown[0]) if unknown else [],
            ),
        )

    tools.add("search-by-tags", search_by_tags, READS, TagMatches)

    def list_notes(  # noqa: PLR0913 - the tool's own parameters, all optional
        directory: Annotated[str | None, "The folder; default: the whole vault."] = None,
        limit: _Limit = 100,
        offset: Offset = 0,
        depth: Annotated[int, Meta(ge=1, le=100)] | None = None,
        glob: Annotated[str, Meta(max_length=200)] | None = None,
        sort: Literal["path", "modified", "size"] = "path",
        since: Annotated[str | None, "Modified since this date or date-time."] = None,
        view: Annotated[
            Literal["flat", "details", "tree"],
            "details adds title, size, date and etag; tree counts the notes of folders.",
        ] = "flat",
        maxChars: Annotated[MaxChars, _Unlisted] = LIST_CHARS,
        vault: str | None = None,
    ) -> ToolResult:
        """List the notes of a folder and its subfolders."""
        reply = Reply(maxChars)
        chosen = vaults.pick(vault)
        after = parse_time(since, "since")
        bounds = chosen.folder_bounds(directory)
        if depth is None and glob is None and after is None and sort == "path" and view != "tree":
            # The common case must not read every row of a large vault.
            total, page = _page_between(chosen, bounds, limit, offset)
        else:
            level = bounds[0].count("/")
            rows = _filter(
                _between(chosen, bounds), after, None if depth is None else level + depth, glob
            )
            if view == "tree":
                folders = _tree(rows, level)
                page_of_folders = folders[offset : offset + limit]
                return reply.first(
                    len(page_of_folders),
                    lambda number: Listed(
                        notes=[],
                        folders=page_of_folders[:number],
                        total=len(folders),
                        next_offset=next_offset(len(folders), offset, number),
                        indexing=not chosen.is_complete,
                    ),
                )
            if sort != "path":
                key = "mtime_ns" if sort == "modified" else "size"
                rows.sort(key=lambda row: (-getattr(row, key), row.path))
            total, page = len(rows), rows[offset : offset + limit]
        details = [_reference(chosen, row) for row in page] if view == "details" else []
        return reply.first(
            len(page),
            lambda number: Listed(
                notes=[] if details else [row.path for row in page[:number]],
                details=details[:number],
                total=total,
                next_offset=next_offset(total, offset, number),
                indexing=not chosen.is_complete,
            ),
        )

    tools.add("list-notes", list_notes, READS, Listed)


def _units(file: FileMatches) -> int:
    return max(1, len(file.matches))


def _first_lines(result: SearchResult, count: int, offset: int) -> SearchResult:
    """Return the result with its first matching lines only; a note without lines counts as one."""
    files: list[FileMatches] = []
    for file in result.files:
        if count <= 0:
            return replace(result, files=files, next_offset=offset + len(files))
        hidden = max(0, len(file.matches) - count)
        if hidden:
            more = file.more_matches + hidden
            file = replace(file, matches=file.matches[:count], more_matches=more)
        files.append(file)
        count -= _units(file) + hidden
    return replace(result, files=files)


def _names_of(vault: Vault, rows: Sequence[NoteRow]) -> list[tuple[NoteRow, list[str]]]:
    """Return notes with their title, file name and aliases."""
    aliases: dict[int, list[str]] = {}
    for note, alias in vault.index.query("SELECT note, alias FROM aliases"):
        aliases.setdefault(note, []).append(alias)
    return [(row, [row.title, _stem(row), *aliases.get(row.id, ())]) for row in rows]


def _stem(row: NoteRow) -> str:
    return row.path.rpartition("/")[2].removesuffix(".md")


def _title_match(row: NoteRow) -> TitleMatch:
    return TitleMatch(file=row.path, title="" if row.title == _stem(row) else row.title)


def _tagged(vault: Vault, tag: str, case_sensitive: bool, nested: bool) -> set[int]:
    wanted = tag.lstrip("#").rstrip("/")
    column, wanted = ("tag", wanted) if case_sensitive else ("folded", fold(wanted))
    bounds = (f"{wanted}/", f"{wanted}0") if nested else ("", "")
    rows = vault.index.query(
        f"SELECT note FROM tags WHERE {column} = ? OR ({column} >= ? AND {column} < ?)",
        (wanted, *bounds),
    )
    return {note for (note,) in rows}


def _similar_tags(vault: Vault, tag: str) -> list[str]:
    rows = vault.index.query("SELECT DISTINCT tag FROM tags")
    return [cut(name, _MAX_SHOWN) for name in nearest_names(tag, (name for (name,) in rows))]


def _filter(
    rows: list[NoteRow], after: int | None, most_folders: int | None, glob: str | None
) -> list[NoteRow]:
    matches = re.compile(fnmatch.translate(glob or "*")).match
    return [
        row
        for row in rows
        if (after is None or row.mtime_ns >= after)
        and (most_folders is None or row.path.count("/") < most_folders)
        and (matches(row.path) or matches(row.path.rpartition("/")[2]))
    ]


def _page_between(
    vault: Vault, bounds: tuple[str, str], limit: int, offset: int
) -> tuple[int, list[NoteRow]]:
    [(total,)] = vault.index.query(
        "SELECT count(*) FROM notes WHERE path >= ? AND path < ?", bounds
    )
    rows = vault.index.select(
        "WHERE path >= ? AND path < ? ORDER BY path LIMIT ? OFFSET ?",
        (*bounds, limit, min(offset, total)),
    )
    return total, rows


def _between(vault: Vault, bounds: tuple[str, str]) -> list[NoteRow]:
    return vault.index.select("WHERE path >= ? AND path < ? ORDER BY path", bounds)


def _below(vault: Vault, folder: str | None) -> list[NoteRow]:
    return _between(vault, vault.folder_bounds(folder))


def _tags_of(vault: Vault, row: NoteRow) -> list[str]:
    return [tag for (tag,) in vault.index.query("SELECT tag FROM tags WHERE note = ?", (row.id,))]


def _reference(vault: Vault, row: NoteRow) -> NoteRef:
    return NoteRef(
        path=row.path,
        title=row.title,
        size=row.size,
        modified=vault.date_of(row.mtime_ns),
        etag=row.etag,
    )


def _tree(rows: list[NoteRow], prefix: int) -> list[TreeEntry]:
    counts: Counter[str] = Counter()
    for row in rows:
        parts = row.path.split("/")
        for end in range(prefix, len(parts)):
            counts["/".join(parts[:end])] += 1
    return [TreeEntry(folder=folder, notes=counts[folder]) for folder in sorted(counts)]
