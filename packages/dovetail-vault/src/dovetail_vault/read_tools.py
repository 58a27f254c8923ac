"""Tools that read notes: read-note and get-note-metadata."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from msgspec import Meta

from dovetail import Param, ToolError, ToolResult
from dovetail_serverkit.answer_size import json_size
from dovetail_serverkit.tool_descriptions import READS
from dovetail_vault.answers import Reply, Vaults
from dovetail_vault.limits import DEFAULT_CHARS, MaxChars, Offset, cut
from dovetail_vault.note_views import (
    NoteText,
    ReadRequest,
    View,
    metadata_of,
    read_view,
    shorten_metadata,
)
from dovetail_vault.registration import Registrar
from dovetail_vault.results import Metadata, MetadataResult, NoteError
from dovetail_vault.search_request import next_offset
from dovetail_vault.vault import Vault

__all__ = ["add_read_tools"]

_MAX_PATHS = 50
# Characters that are enough for the remark on a note and some text.
_LEAST = 600
# Characters of JSON around a text.
_AROUND = 30
_MAX_PATH = 100


def add_read_tools(tools: Registrar, vaults: Vaults) -> None:
    """Register the tools."""

    def read_note(  # noqa: PLR0913 - the tool's own parameters, all optional
        path: Annotated[str | None, "Path of the note, or its name."] = None,
        view: Annotated[View, "full adds outline, tags and links to the text."] = "content",
        heading: Annotated[
            str | list[str] | None, "Only this section; a list includes its parent headings."
        ] = None,
        block: Annotated[str | None, "Only the block with this ^id."] = None,
        startLine: Annotated[int, Meta(ge=1)] | None = None,
        lineCount: Annotated[int, Meta(ge=1)] | None = None,
        maxChars: Annotated[MaxChars, "Length of the whole answer."] = DEFAULT_CHARS,
        paths: Annotated[list[str], Meta(max_length=_MAX_PATHS)] | None = None,
        vault: str | None = None,
    ) -> ToolResult:
        """Read a note as Markdown, or a part of it, or several notes.

        The last line has the etag, to be passed as ifMatch, and where to continue a long note.
        """
        reply = Reply(maxChars)
        chosen = vaults.pick(vault)
        wanted = [*([path] if path is not None else []), *(paths or [])]
        if not wanted:
            raise ToolError("Pass a note in `path`, or several in `paths`")
        if view == "section" and heading is None and block is None:
            raise ToolError("view 'section' requires `heading` or `block`")

        def read(text: str, room: int) -> NoteText:
            request = ReadRequest(
                view=view,
                heading=heading,
                block=block,
                start_line=startLine,
                line_count=lineCount,
                max_chars=room - 2 * _AROUND,
            )
            return read_view(chosen.open(chosen.resolve(text)), request)

        if len(wanted) == 1:
            note = read(wanted[0], reply.room)
            return reply.texts([note.text, note.remark])
        return reply.texts(_read_several(wanted, reply.room, read))

    tools.add("read-note", read_note, READS)

    def get_note_metadata(
        path: Annotated[str | None, "One note."] = None,
        batch: Annotated[bool, "All notes, or those of a folder."] = False,
        directory: str | None = None,
        limit: Annotated[int, Meta(ge=1, le=500)] = 50,
        offset: Offset = 0,
        maxChars: Annotated[MaxChars, Param(hidden=True)] = DEFAULT_CHARS,
        vault: str | None = None,
    ) -> ToolResult:
        """Return title, properties, tags, aliases and a preview of one note or many."""
        reply = Reply(maxChars)
        chosen = vaults.pick(vault)
        if (path is None) == (not batch):
            raise ToolError("Pass either `path` for one note, or batch=true for many")
        if path is not None:
            total, offset = 1, 0
            found: list[Metadata | NoteError] = [metadata_of(chosen.open(chosen.resolve(path)))]
        else:
            total, found = _collect_metadata(chosen, directory, limit, offset, maxChars)
        # The same data is sent twice, the second time with escapes.
        found = [
            shorten_metadata(one, reply.room // 3) if isinstance(one, Metadata) else one
            for one in found
        ]
        return reply.first(
            len(found),
            lambda number: MetadataResult(
                notes=[one for one in found[:number] if isinstance(one, Metadata)],
                errors=[one for one in found[:number] if isinstance(one, NoteError)],
                total=total,
                next_offset=next_offset(total, offset, number),
            ),
        )

    tools.add("get-note-metadata", get_note_metadata, READS, MetadataResult)


def _read_several(
    wanted: Sequence[str], room: int, read: Callable[[str, int], NoteText]
) -> list[str]:
    """Return a line and a text for each note; each gets an equal part of what is left."""
    blocks: list[str] = []
    for number, text in enumerate(wanted):
        left = len(wanted) - number
        if room < 2 * _LEAST and left > 1:
            blocks.append(f"{left} more notes do not fit into maxChars")
            break
        try:
            note = read(text, max(_LEAST, room // left))
        except ToolError as error:
            note = NoteText("", cut(f"{text[:_MAX_PATH]}: {error}", _LEAST))
        blocks += [f"=== {note.remark}", *([note.text] if note.text else [])]
        room -= note.size + 2 * _AROUND
    return blocks


def _collect_metadata(
    vault: Vault, directory: str | None, limit: int, offset: int, max_chars: int
) -> tuple[int, list[Metadata | NoteError]]:
    rows = vault.index.select(
        "WHERE path >= ? AND path < ? ORDER BY path", vault.folder_bounds(directory)
    )
    found: list[Metadata | NoteError] = []
    used = 0
    for row in rows[offset : offset + limit]:
        if used > max_chars:
            break
        try:
            one: Metadata | NoteError = metadata_of(vault.open(row.path.split("/")))
        except ToolError as error:
            one = NoteError(file=row.path, error=str(error))
        found.append(one)
        used += json_size(one)
    return len(rows), found
