"""Tools that read notes: read-note and get-note-metadata."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from dovetail import Server, ToolError, ToolResult
from dovetail_serverkit.tool_descriptions import READS, schema_of
from dovetail_vault.answers import Stopwatch, Vaults, paginate
from dovetail_vault.note_views import ReadRequest, View, metadata_of, read_view
from dovetail_vault.paths import split_folder_path
from dovetail_vault.results import MetadataError, MetadataResult, NoteRead, ReadResult
from dovetail_vault.vault import Vault

__all__ = ["add_read_tools"]

_Offset = Annotated[int, Meta(ge=0, le=10_000_000)]
_VaultName = Annotated[str | None, "Name of the vault; default: the first one."]
_MAX_PATHS = 50
# Characters after which a page of metadata ends.
_MAX_BATCH = 1_000_000


def add_read_tools(server: Server, vaults: Vaults) -> None:
    """Register the tools."""

    @server.tool(
        name="read-note",
        title="Read notes",
        annotations=READS,
        output_schema=schema_of(ReadResult),
    )
    def read_note(  # noqa: PLR0913 - the tool's own parameters, all optional
        path: Annotated[str | None, "Path of the note, or its name."] = None,
        view: Annotated[View, "full adds properties, outline, tags and links."] = "content",
        heading: Annotated[
            str | list[str] | None, "Only this section; a list includes its parent headings."
        ] = None,
        block: Annotated[str | None, "Only the block with this ^id."] = None,
        startLine: Annotated[int, Meta(ge=1)] | None = None,
        lineCount: Annotated[int, Meta(ge=1)] | None = None,
        maxChars: Annotated[int, Meta(ge=1, le=5_000_000)] = 60_000,
        paths: Annotated[list[str], Meta(max_length=_MAX_PATHS)] | None = None,
        vault: _VaultName = None,
    ) -> ToolResult:
        """Read a note, a part of it, or several notes at once (`paths`).

        Long notes are truncated to maxChars; continue with startLine=nextStartLine. Pass the etag
        as ifMatch to write-note and edit-note.
        """
        watch = Stopwatch("read-note")
        chosen = vaults.pick(vault)
        wanted = [*([path] if path is not None else []), *(paths or [])]
        if not wanted:
            raise ToolError("Pass a note in `path`, or several in `paths`")
        if view == "section" and heading is None and block is None:
            raise ToolError("view 'section' requires `heading` or `block`")
        request = ReadRequest(
            view=view,
            heading=heading,
            block=block,
            start_line=startLine,
            line_count=lineCount,
            max_chars=max(1, maxChars // len(wanted)),
        )
        if len(wanted) == 1:
            notes = [read_view(chosen, chosen.open(chosen.resolve(wanted[0])), request)]
        else:
            notes = [_read_or_error(chosen, text, request) for text in wanted]
        shown = [(note.path, note.title) for note in notes if note.error is None]
        return watch.answer(ReadResult(notes=notes), chosen, shown)

    @server.tool(
        name="get-note-metadata",
        title="Properties of notes",
        annotations=READS,
        output_schema=schema_of(MetadataResult),
    )
    def get_note_metadata(
        path: Annotated[str | None, "One note."] = None,
        batch: Annotated[bool, "All notes, or those of a folder."] = False,
        directory: str | None = None,
        limit: Annotated[int, Meta(ge=1, le=500)] = 50,
        offset: _Offset = 0,
        vault: _VaultName = None,
    ) -> ToolResult:
        """Return title, properties, tags, aliases and a preview of one note or many."""
        watch = Stopwatch("get-note-metadata")
        chosen = vaults.pick(vault)
        if (path is None) == (not batch):
            raise ToolError("Pass either `path` for one note, or batch=true for many")
        if path is not None:
            opened = chosen.open(chosen.resolve(path))
            result = MetadataResult(
                notes=[metadata_of(chosen, opened)],
                count=1,
                errors=[],
                pagination=paginate(1, 1, limit, 0),
            )
        else:
            result = _collect_metadata(chosen, directory or "", limit, offset)
        return watch.answer(result, chosen, [(note.path, note.title) for note in result.notes])


def _collect_metadata(vault: Vault, directory: str, limit: int, offset: int) -> MetadataResult:
    prefix = "".join(f"{part}/" for part in split_folder_path(directory))
    rows = vault.index.select(
        "WHERE path >= ? AND path < ? ORDER BY path",
        (prefix, f"{prefix[:-1]}0" if prefix else "\U0010ffff"),
    )
    page = rows[offset : offset + limit]
    notes, errors, used = [], [], 0
    for number, row in enumerate(page):
        if used > _MAX_BATCH:
            # The next page continues here.
            page = page[:number]
            break
        try:
            notes.append(metadata_of(vault, vault.open(row.path.split("/"))))
        except ToolError as error:
            errors.append(MetadataError(file=row.path, error=str(error)))
        else:
            used += len(msgspec.json.encode(notes[-1]))
    return MetadataResult(
        notes=notes,
        count=len(notes),
        errors=errors,
        pagination=paginate(len(rows), len(page), limit, offset),
    )


def _read_or_error(vault: Vault, text: str, request: ReadRequest) -> NoteRead:
    try:
        return read_view(vault, vault.open(vault.resolve(text)), request)
    except ToolError as error:
        return NoteRead(
            path=text[:1000],
            title="",
            uri="",
            size=0,
            modified="",
            etag="",
            encoding="",
            error=str(error),
        )
