"""The tool list-tags, and renaming a tag in all notes."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from dovetail import Param, ToolError, ToolResult
from dovetail_serverkit.tool_descriptions import READS
from dovetail_vault.answers import Reply, Vaults
from dovetail_vault.limits import DEFAULT_CHARS, MaxChars, Offset
from dovetail_vault.registration import Registrar
from dovetail_vault.results import NoteError, Rewritten, TagCount, TagList
from dovetail_vault.search_request import next_offset
from dovetail_vault.tag_renaming import check_tag, rename_tag
from dovetail_vault.vault import OpenedNote, Vault
from dovetail_vault.words import fold

__all__ = ["add_tag_tools", "count_tags", "rename_everywhere"]

# Levels of a nested tag that are counted.
_MAX_LEVELS = 20


def add_tag_tools(tools: Registrar, vaults: Vaults) -> None:
    """Register the tool."""

    def list_tags(
        prefix: str | None = None,
        limit: Annotated[int, Meta(ge=1, le=5000)] = 500,
        offset: Offset = 0,
        maxChars: Annotated[MaxChars, Param(hidden=True)] = DEFAULT_CHARS,
        vault: str | None = None,
    ) -> ToolResult:
        """List all tags with their number of notes."""
        reply = Reply(maxChars)
        tags = count_tags(vaults.pick(vault), prefix)
        page = tags[offset : offset + limit]
        return reply.first(
            len(page),
            lambda number: TagList(
                tags=page[:number],
                total=len(tags),
                next_offset=next_offset(len(tags), offset, number),
            ),
        )

    tools.add("list-tags", list_tags, READS, TagList)


def count_tags(vault: Vault, prefix: str | None = None) -> list[TagCount]:
    """Return tags with their number of notes, the most used first."""
    rows = vault.index.query(
        "SELECT folded, min(tag), count(DISTINCT note) FROM tags GROUP BY folded"
    )
    notes: dict[str, set[int]] = {}
    for folded, note in vault.index.query("SELECT folded, note FROM tags WHERE instr(folded, '/')"):
        parts = folded.split("/")
        for end in range(1, min(len(parts), _MAX_LEVELS)):
            notes.setdefault("/".join(parts[:end]), set()).add(note)
    known = {folded: (tag, count) for folded, tag, count in rows}
    wanted = fold((prefix or "").lstrip("#"))
    counted = []
    for folded in known.keys() | notes.keys():
        if not folded.startswith(wanted):
            continue
        tag, count = known.get(folded, (folded, 0))
        total = count
        if folded in notes:
            own = vault.index.query("SELECT note FROM tags WHERE folded = ?", (folded,))
            total = len(notes[folded] | {note for (note,) in own})
        counted.append(TagCount(tag=tag, count=count, total=None if total == count else total))
    return sorted(counted, key=lambda one: (-(one.total or one.count), fold(one.tag)))


def rename_everywhere(
    vault: Vault, old: str, new: str, dry_run: bool
) -> tuple[list[Rewritten], list[NoteError]]:
    """Rename a tag and its nested tags; return the changed notes, and those that failed."""
    old, new = check_tag(old), check_tag(new)
    if fold(new).startswith(f"{fold(old)}/"):
        raise ToolError(f"Cannot rename {old!r} to its own nested tag {new!r}")
    key = fold(old)
    rows = vault.index.query(
        "SELECT DISTINCT notes.path FROM tags JOIN notes ON notes.id = tags.note "
        "WHERE folded = ? OR (folded >= ? AND folded < ?) ORDER BY notes.path",
        (key, f"{key}/", f"{key}0"),
    )
    renamed, failed = [], []
    for (path,) in rows:
        try:
            count = _rename_in(vault, path, old, new, dry_run)
        except ToolError as error:
            failed.append(NoteError(file=path, error=str(error)))
            continue
        if count:
            renamed.append(Rewritten(path=path, count=count))
    return renamed, failed


def _rename_in(vault: Vault, path: str, old: str, new: str, dry_run: bool) -> int:
    counted = 0

    def change(before: OpenedNote | None) -> str:
        nonlocal counted
        assert before is not None
        text, counted = rename_tag(path, before.text, old, new)
        return text

    if dry_run:
        change(vault.open(path.split("/")))
    else:
        vault.change(path.split("/"), change)
    return counted
