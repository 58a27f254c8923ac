"""Tools that find notes: search-vault, search-by-title, search-by-tags, list-notes."""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from typing import Annotated, Any, Literal

from msgspec import Meta

from dovetail import Server, ToolResult
from dovetail_serverkit.tool_descriptions import READS, schema_of
from dovetail_vault.answers import Stopwatch, Vaults, paginate, parse_time
from dovetail_vault.index import NoteRow
from dovetail_vault.paths import split_folder_path
from dovetail_vault.results import (
    Listed,
    NoteRef,
    Pagination,
    SearchResult,
    TaggedNote,
    TagMatches,
    TitleMatch,
    TitleMatches,
    TreeEntry,
)
from dovetail_vault.search_request import SearchRequest
from dovetail_vault.titles import rank_title
from dovetail_vault.vault import Vault
from dovetail_vault.words import fold

__all__ = ["add_search_tools"]

_Offset = Annotated[int, Meta(ge=0, le=10_000_000)]
_Limit = Annotated[int, Meta(ge=1, le=1000)]
_VaultName = Annotated[str | None, "Name of the vault; default: the first one."]

_SEARCH = (
    "Search the text of all notes. A term matches anywhere, also inside words. Operators: AND/&&, "
    'OR/||, NOT/-, "quotes" for exact phrases, parentheses; fields title: content: tag: path:. '
    "NOT binds tighter than AND, AND tighter than OR; a space between terms means AND "
    "(`interpreted` in the result shows the parsed query). mode=regex takes one RE2 expression, "
    "matched line by line. mode=semantic searches by meaning, with plain text without operators; "
    "mode=hybrid ranks by meaning and words. `mode` in the result is the mode that was used. "
    "Results are ranked and paged; `pagination.total` counts all matching notes."
)


def add_search_tools(server: Server, vaults: Vaults) -> None:
    """Register the tools."""

    @server.tool(
        name="search-vault",
        title="Search the vault",
        description=_SEARCH,
        annotations=READS,
        output_schema=schema_of(SearchResult),
    )
    def search_vault(  # noqa: PLR0913 - the tool's own parameters, all but one optional
        query: Annotated[str, Meta(min_length=1, max_length=10_000)],
        path: Annotated[str | None, "Only notes in this folder."] = None,
        caseSensitive: bool = False,
        includeContext: bool = True,
        contextLines: Annotated[int, Meta(ge=0, le=10)] = 2,
        limit: Annotated[int, Meta(ge=1, le=500)] = 100,
        offset: _Offset = 0,
        mode: Literal["text", "regex", "semantic", "hybrid"] = "text",
        sort: Literal["relevance", "modified", "path"] = "relevance",
        frontmatter: Annotated[
            dict[str, Any] | None, "Only notes with these property values."
        ] = None,
        modifiedAfter: Annotated[str | None, "Date or date-time, inclusive."] = None,
        modifiedBefore: Annotated[str | None, "Date or date-time, exclusive."] = None,
        maxChars: Annotated[int, Meta(ge=100, le=1_000_000)] = 60_000,
        vault: _VaultName = None,
    ) -> ToolResult:
        watch = Stopwatch("search-vault")
        result = vaults.search(
            vault,
            SearchRequest(
                query=query,
                folder=split_folder_path(path or ""),
                mode=mode,
                case_sensitive=caseSensitive,
                context_lines=contextLines,
                include_context=includeContext,
                limit=limit,
                offset=offset,
                sort=sort,
                frontmatter=tuple((frontmatter or {}).items()),
                modified_after_ns=parse_time(modifiedAfter, "modifiedAfter"),
                modified_before_ns=parse_time(modifiedBefore, "modifiedBefore"),
                max_chars=maxChars,
            ),
        )
        notes = [(file.path, file.title) for file in result.files]
        return watch.answer(result, vaults.pick(vault), notes)

    @server.tool(
        name="search-by-title",
        title="Find notes by title",
        annotations=READS,
        output_schema=schema_of(TitleMatches),
    )
    def search_by_title(
        query: Annotated[str, Meta(min_length=1, max_length=1000)],
        path: Annotated[str | None, "Only notes in this folder."] = None,
        caseSensitive: bool = False,
        limit: _Limit = 100,
        offset: _Offset = 0,
        fuzzy: Annotated[bool, "Also find similar titles."] = False,
        vault: _VaultName = None,
    ) -> ToolResult:
        """Find notes by title, file name or alias, the best match first."""
        watch = Stopwatch("search-by-title")
        chosen = vaults.pick(vault)
        rows = _below(chosen, path)
        aliases: dict[int, list[str]] = {}
        for note, alias in chosen.index.query("SELECT note, alias FROM aliases"):
            aliases.setdefault(note, []).append(alias)
        found = []
        for row in rows:
            names = (row.title, row.path.rpartition("/")[2].removesuffix(".md"))
            score = rank_title(query, (*names, *aliases.get(row.id, ())), caseSensitive, fuzzy)
            if score > 0:
                found.append((score, row))
        found.sort(key=lambda pair: (-pair[0], pair[1].path))
        page = found[offset : offset + limit]
        result = TitleMatches(
            results=[
                TitleMatch(
                    file=row.path,
                    title=row.title,
                    line=row.title_line,
                    score=round(score, 3),
                    uri=chosen.uri_of(row.path),
                )
                for score, row in page
            ],
            count=len(page),
            files_searched=len(rows),
            pagination=paginate(len(found), len(page), limit, offset),
        )
        return watch.answer(result, chosen, [(row.path, row.title) for _, row in page])

    @server.tool(
        name="search-by-tags",
        title="Find notes by tags",
        annotations=READS,
        output_schema=schema_of(TagMatches),
    )
    def search_by_tags(
        tags: Annotated[
            list[Annotated[str, Meta(min_length=1)]], Meta(min_length=1, max_length=50)
        ],
        directory: Annotated[str | None, "Only notes in this folder."] = None,
        caseSensitive: bool = False,
        match: Literal["all", "any"] = "all",
        includeNested: Annotated[
            bool, "Also match nested tags: project matches project/home."
        ] = False,
        limit: _Limit = 100,
        offset: _Offset = 0,
        vault: _VaultName = None,
    ) -> ToolResult:
        """Find notes with all of these tags, or any of them. The `#` is optional."""
        watch = Stopwatch("search-by-tags")
        chosen = vaults.pick(vault)
        index = chosen.index
        sets = []
        column = "tag" if caseSensitive else "folded"
        for tag in tags:
            wanted = tag.lstrip("#").rstrip("/")
            wanted = wanted if caseSensitive else fold(wanted)
            nested = f" OR ({column} >= ? AND {column} < ?)" if includeNested else ""
            bounds = (f"{wanted}/", f"{wanted}0") if includeNested else ()
            sets.append(
                {
                    note
                    for (note,) in index.query(
                        f"SELECT note FROM tags WHERE {column} = ?{nested}", (wanted, *bounds)
                    )
                }
            )
        numbers = set.intersection(*sets) if match == "all" else set.union(*sets)
        rows = [row for row in _below(chosen, directory) if row.id in numbers]
        page = rows[offset : offset + limit]
        result = TagMatches(
            notes=[
                TaggedNote(
                    path=row.path,
                    title=row.title,
                    uri=chosen.uri_of(row.path),
                    tags=_tags_of(chosen, row),
                )
                for row in page
            ],
            count=len(page),
            pagination=paginate(len(rows), len(page), limit, offset),
        )
        return watch.answer(result, chosen, [(row.path, row.title) for row in page])

    @server.tool(
        name="list-notes",
        title="List notes",
        annotations=READS,
        output_schema=schema_of(Listed),
    )
    def list_notes(  # noqa: PLR0913 - the tool's own parameters, all optional
        directory: Annotated[str | None, "The folder; default: the whole vault."] = None,
        limit: _Limit = 100,
        offset: _Offset = 0,
        depth: Annotated[int, Meta(ge=1, le=100)] | None = None,
        glob: Annotated[str, Meta(max_length=200)] | None = None,
        sort: Literal["path", "modified", "size"] = "path",
        since: Annotated[str | None, "Only notes modified since this date or date-time."] = None,
        view: Literal["flat", "tree"] = "flat",
        vault: _VaultName = None,
    ) -> ToolResult:
        """List the notes of a folder, or with view=tree its subfolders with note counts."""
        watch = Stopwatch("list-notes")
        chosen = vaults.pick(vault)
        after = parse_time(since, "since")
        if depth is None and glob is None and after is None and (sort, view) == ("path", "flat"):
            # The common case must not read every row of a large vault.
            total, page = _page_below(chosen, directory, limit, offset)
            return watch.answer(
                _listed(chosen, page, [], paginate(total, len(page), limit, offset)),
                chosen,
                [(row.path, row.title) for row in page],
            )
        prefix = len(split_folder_path(directory or ""))
        rows = _filter(
            _below(chosen, directory), after, None if depth is None else prefix + depth, glob
        )
        if sort != "path":
            key = "mtime_ns" if sort == "modified" else "size"
            rows.sort(key=lambda row: (-getattr(row, key), row.path))
        folders = _tree(rows, prefix) if view == "tree" else []
        shown = folders if view == "tree" else rows
        page = rows[offset : offset + limit] if view == "flat" else []
        folder_page = folders[offset : offset + limit]
        pages = paginate(len(shown), len(page) or len(folder_page), limit, offset)
        result = _listed(chosen, page, folder_page, pages)
        return watch.answer(result, chosen, [(row.path, row.title) for row in page])


def _listed(
    vault: Vault, page: list[NoteRow], folders: list[TreeEntry], pages: Pagination
) -> Listed:
    return Listed(
        notes=[row.path for row in page],
        details=[_reference(vault, row) for row in page],
        folders=folders,
        count=len(page) or len(folders),
        indexing=not vault.is_complete,
        pagination=pages,
    )


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


def _bounds(folder: str | None) -> tuple[str, str]:
    """Return the bounds of paths below a folder: first inclusive, second exclusive."""
    prefix = "".join(f"{part}/" for part in split_folder_path(folder or ""))
    return (prefix, f"{prefix[:-1]}0") if prefix else ("", "\U0010ffff")


def _page_below(
    vault: Vault, folder: str | None, limit: int, offset: int
) -> tuple[int, list[NoteRow]]:
    bounds = _bounds(folder)
    [(total,)] = vault.index.query(
        "SELECT count(*) FROM notes WHERE path >= ? AND path < ?", bounds
    )
    rows = vault.index.select(
        "WHERE path >= ? AND path < ? ORDER BY path LIMIT ? OFFSET ?", (*bounds, limit, offset)
    )
    return total, rows


def _below(vault: Vault, folder: str | None) -> list[NoteRow]:
    return vault.index.select("WHERE path >= ? AND path < ? ORDER BY path", _bounds(folder))


def _tags_of(vault: Vault, row: NoteRow) -> list[str]:
    return [tag for (tag,) in vault.index.query("SELECT tag FROM tags WHERE note = ?", (row.id,))]


def _reference(vault: Vault, row: NoteRow) -> NoteRef:
    return NoteRef(
        path=row.path,
        title=row.title,
        uri=vault.uri_of(row.path),
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
