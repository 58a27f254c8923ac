"""The tool list-tags: lists tags with counts, and renames a tag in all notes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from dovetail import Server, ToolError, ToolResult
from dovetail_serverkit.tool_descriptions import EDITS, READS, schema_of
from dovetail_vault.answers import Stopwatch, Vaults, paginate
from dovetail_vault.results import MetadataError, Rewritten, TagCount, TagList
from dovetail_vault.tag_renaming import check_tag, rename_tag
from dovetail_vault.vault import OpenedNote, Vault
from dovetail_vault.words import fold

__all__ = ["add_tag_tools", "count_tags"]

# Levels of a nested tag that are counted.
_MAX_LEVELS = 20
_Offset = Annotated[int, Meta(ge=0, le=10_000_000)]
_Limit = Annotated[int, Meta(ge=1, le=5000)]
_VaultName = Annotated[str | None, "Name of the vault; default: the first one."]
_Prefix = Annotated[str | None, "Only tags with this prefix."]


@dataclass
class TagRenaming:
    """A tag to rename, together with its nested tags.

    Attributes:
        old: The current tag, with or without #.
        new: The new name.
    """

    old: str
    new: str


def add_tag_tools(server: Server, vaults: Vaults, *, read_only: bool) -> None:
    """Register the tool; if read-only, without the rename option."""

    def list_tags(
        prefix: _Prefix = None,
        limit: _Limit = 500,
        offset: _Offset = 0,
        vault: _VaultName = None,
    ) -> ToolResult:
        """List all tags with their number of notes."""
        return _answer(vaults.pick(vault), prefix, limit, offset)

    def list_or_rename_tags(
        prefix: _Prefix = None,
        rename: Annotated[TagRenaming | None, "Rename a tag in all notes first."] = None,
        dryRun: Annotated[bool, "Report the changes without making them."] = False,
        limit: _Limit = 500,
        offset: _Offset = 0,
        vault: _VaultName = None,
    ) -> ToolResult:
        """List all tags with their number of notes. Can rename a tag in the whole vault."""
        return _answer(vaults.pick(vault), prefix, limit, offset, rename, dryRun)

    server.tools.add(
        list_tags if read_only else list_or_rename_tags,
        name="list-tags",
        title="Tags",
        annotations=READS if read_only else EDITS,
        output_schema=schema_of(TagList),
    )


def _answer(
    vault: Vault,
    prefix: str | None,
    limit: int,
    offset: int,
    rename: TagRenaming | None = None,
    dry_run: bool = False,
) -> ToolResult:
    watch = Stopwatch("list-tags")
    renamed: list[Rewritten] = []
    failed: list[MetadataError] = []
    if rename is not None:
        renamed, failed = _rename(vault, check_tag(rename.old), check_tag(rename.new), dry_run)
    tags = count_tags(vault, prefix)
    page = tags[offset : offset + limit]
    result = TagList(
        tags=page,
        count=len(page),
        renamed=renamed,
        failed=failed,
        dry_run=dry_run,
        pagination=paginate(len(tags), len(page), limit, offset),
    )
    return watch.answer(result, vault)


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
        counted.append(TagCount(tag=tag, count=count, total=total))
    return sorted(counted, key=lambda one: (-one.total, fold(one.tag)))


def _rename(
    vault: Vault, old: str, new: str, dry_run: bool
) -> tuple[list[Rewritten], list[MetadataError]]:
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
            failed.append(MetadataError(file=path, error=str(error)))
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
