"""Tools that change notes: write-note, edit-note, move-note, delete-note."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta

from dovetail import Context, Server, ToolError, ToolResult
from dovetail_serverkit.tool_descriptions import EDITS, schema_of
from dovetail_vault.answers import Stopwatch, Vaults
from dovetail_vault.editing import Edit, append_under, apply_edits, diff_of, newline_of
from dovetail_vault.frontmatter import set_keys
from dovetail_vault.link_resolution import Resolver
from dovetail_vault.move_plan import Move, MovePlan
from dovetail_vault.paths import split_note_path
from dovetail_vault.results import (
    AppliedEdit,
    Broken,
    Deleted,
    Edited,
    MetadataError,
    Moved,
    Rewritten,
    Written,
)
from dovetail_vault.vault import OpenedNote, Vault

__all__ = ["add_write_tools"]

_VaultName = Annotated[str | None, "Name of the vault; default: the first one."]
_IfMatch = Annotated[str | None, "Etag of the version you read; fails if the note has changed."]
_Mode = Literal["create", "overwrite", "append", "prepend"]
_MAX_LISTED = 50

_MOVE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "from": {"type": "string", "description": "Path of the note, or its name."},
        "to": {"type": "string", "description": "The new path."},
        "updateLinks": {
            "type": "boolean",
            "default": True,
            "description": "Rewrite links to the note so that they still work.",
        },
        "dryRun": {
            "type": "boolean",
            "default": False,
            "description": "Report the changes without making them.",
        },
        "vault": {"type": ["string", "null"], "description": "Name of the vault."},
    },
    "required": ["from", "to"],
    "additionalProperties": False,
}


@dataclass
class Confirmation:
    """The user's answer.

    Attributes:
        confirm: Yes, delete it.
    """

    confirm: bool = True


def add_write_tools(server: Server, vaults: Vaults) -> None:
    """Register the tools."""

    @server.tool(
        name="write-note",
        title="Write a note",
        annotations=EDITS,
        output_schema=schema_of(Written),
    )
    def write_note(
        path: Annotated[str, "Path of the note; missing folders are created."],
        content: str,
        mode: Annotated[
            _Mode, "create fails if the note exists; append and prepend keep its text."
        ] = "create",
        ifMatch: _IfMatch = None,
        heading: Annotated[
            str | list[str] | None, "With append: add to the end of this section."
        ] = None,
        frontmatter: Annotated[dict[str, Any] | None, "Properties to set."] = None,
        vault: _VaultName = None,
    ) -> ToolResult:
        """Create a note, replace it, or add to its end or start. The write is atomic."""
        watch = Stopwatch("write-note")
        chosen = vaults.pick(vault)
        if heading is not None and mode != "append":
            raise ToolError("`heading` is allowed only with mode 'append'; otherwise use edit-note")
        parts = split_note_path(path)

        def change(before: OpenedNote | None) -> str:
            if mode == "create" and before is not None:
                raise ToolError(
                    f"{before.path!r} already exists ({before.file.size} bytes, etag "
                    f"{before.file.etag}). Use mode overwrite, append or prepend, or edit-note"
                )
            text = _written(before, content, mode, heading)
            return set_keys(text, frontmatter) if frontmatter else text

        before, after = chosen.change(parts, change, if_match=ifMatch, must_exist=False)
        result = Written(
            path=after.path,
            uri=chosen.uri_of(after.path),
            created=before is None,
            etag=after.file.etag,
            previous_size=None if before is None else before.file.size,
            current_size=after.file.size,
        )
        return watch.answer(result, chosen, [(after.path, "")])

    @server.tool(
        name="edit-note", title="Edit a note", annotations=EDITS, output_schema=schema_of(Edited)
    )
    def edit_note(
        path: Annotated[str, "Path of the note, or its name."],
        edits: Annotated[list[Edit], Meta(min_length=1, max_length=100)],
        ifMatch: _IfMatch = None,
        dryRun: Annotated[bool, "Return the diff without writing."] = False,
        vault: _VaultName = None,
    ) -> ToolResult:
        """Change parts of a note: sections, blocks, properties, exact text, regular expressions.

        Edits are applied in order; if one fails, none is applied. The rest of the note does not
        change, byte for byte.
        """
        watch = Stopwatch("edit-note")
        chosen = vaults.pick(vault)
        parts = chosen.resolve(path)
        applied: list[AppliedEdit] = []

        def change(before: OpenedNote | None) -> str:
            assert before is not None
            text, done = apply_edits(before.path, before.text, edits)
            applied[:] = done
            return text

        if dryRun:
            before = chosen.open(parts)
            text = change(before)
            size, etag = len(text.encode("utf-8", "surrogateescape")), before.file.etag
        else:
            found, after = chosen.change(parts, change, if_match=ifMatch)
            assert found is not None
            before, text = found, after.text
            size, etag = after.file.size, after.file.etag
        result = Edited(
            path=before.path,
            uri=chosen.uri_of(before.path),
            etag=etag,
            applied=applied,
            changed=text != before.text,
            dry_run=dryRun,
            diff=diff_of(before.path, before.text, text),
            previous_size=before.file.size,
            current_size=size,
        )
        return watch.answer(result, chosen, [(before.path, "")])

    @server.tool(
        name="move-note",
        title="Move or rename a note",
        annotations=EDITS,
        input_schema=_MOVE_SCHEMA,
        output_schema=schema_of(Moved),
    )
    def move_note(**given: Any) -> ToolResult:
        """Move or rename a note and rewrite the links to it.

        Handles wikilinks and Markdown links with aliases, headings, blocks and embeds. Use dryRun
        first.
        """
        watch = Stopwatch("move-note")
        chosen = vaults.pick(given.get("vault"))
        result = _move(
            chosen,
            chosen.resolve(given["from"]),
            split_note_path(given["to"]),
            update_links=given.get("updateLinks", True),
            dry_run=given.get("dryRun", False),
        )
        path = result.source if result.dry_run else result.target
        return watch.answer(result, chosen, [(path, "")])

    server.tools.add(
        _make_delete_note(vaults),
        name="delete-note",
        title="Delete a note",
        annotations=EDITS,
        output_schema=schema_of(Deleted),
    )


def _make_delete_note(vaults: Vaults) -> Callable[..., Any]:
    async def delete_note(
        ctx: Context,
        path: Annotated[str, "Path of the note, or its name."],
        permanent: Annotated[bool, "Delete permanently instead of moving it to .trash."] = False,
        ifMatch: _IfMatch = None,
        vault: _VaultName = None,
    ) -> ToolResult:
        """Move a note to the vault's `.trash`, or delete it permanently. Lists broken links.

        Asks the user for confirmation if the client supports elicitation.
        """
        watch = Stopwatch("delete-note")
        chosen = vaults.pick(vault)
        parts = await asyncio.to_thread(chosen.resolve, path)
        opened = await asyncio.to_thread(chosen.open, parts)
        if ifMatch is not None and ifMatch != opened.file.etag:
            raise ToolError(
                f"{opened.path!r} was changed since it was read: its etag is {opened.file.etag}, "
                f"ifMatch is {ifMatch}. Nothing was deleted"
            )
        broken = await asyncio.to_thread(_links_broken_by, chosen, opened.path)
        # The version that the user confirms; kept if the answer arrives in another request.
        shown = await ctx.once("etag", lambda: opened.file.etag, str)
        if not await _confirm(ctx, opened, permanent, len(broken)):
            result = Deleted(
                path=opened.path, deleted=False, trashed_to=None, broken_links=broken[:_MAX_LISTED]
            )
            return watch.answer(result, chosen, [(opened.path, "")])
        now = await asyncio.to_thread(chosen.open, parts)
        if now.file.etag != shown:
            raise ToolError(
                f"{opened.path!r} was changed while waiting for confirmation; nothing was deleted"
            )
        trashed_to = None
        if permanent:
            await asyncio.to_thread(chosen.remove, parts)
        else:
            trashed_to = await asyncio.to_thread(chosen.trash, parts)
        result = Deleted(
            path=opened.path,
            deleted=True,
            trashed_to=trashed_to,
            broken_links=broken[:_MAX_LISTED],
        )
        return watch.answer(result, chosen)

    return delete_note


def _written(
    before: OpenedNote | None, content: str, mode: _Mode, heading: str | list[str] | None
) -> str:
    if before is None:
        if heading is not None:
            raise ToolError("The note does not exist yet, so it has no heading to append to")
        return content
    if mode in ("create", "overwrite"):
        return content
    text, newline = before.text, newline_of(before.text)
    if newline == "\r\n":
        content = content.replace("\r\n", "\n").replace("\n", "\r\n")
    if heading is not None:
        return append_under(before.note, heading, content)
    if mode == "append":
        gap = newline if text and not text.endswith("\n") else ""
        return f"{text}{gap}{content}"
    # After the frontmatter, which must stay at the start of the file.
    start = before.note.body_start
    gap = "" if not content or content.endswith("\n") else newline
    return f"{text[:start]}{content}{gap}{text[start:]}"


def _links_broken_by(vault: Vault, path: str) -> list[Broken]:
    return [
        Broken(source=link.source, line=link.line, target=link.target)
        for link in Resolver(vault.index).links_to(path)
        if link.source != path
    ]


async def _confirm(ctx: Context, opened: OpenedNote, permanent: bool, broken: int) -> bool:
    """Ask the user if the client supports it; no answer counts as no."""
    declared = ctx.client.capabilities.get("elicitation")
    # An empty capability means forms; a client that declares only URLs cannot show one.
    if declared is None or (declared and "form" not in declared):
        return True
    how = "permanently" if permanent else "(it is moved to .trash)"
    links = f" {broken} links would break." if broken else ""
    title = opened.note.title[:100]
    answer = await ctx.elicit(
        f"Delete {opened.path!r} {how}? {title!r}, {opened.file.size} bytes, last changed "
        f"{opened.file.modified}.{links}",
        Confirmation,
    )
    return answer.accepted and answer.data is not None and answer.data.confirm


def _move(
    vault: Vault,
    source: tuple[str, ...],
    target: tuple[str, ...],
    *,
    update_links: bool,
    dry_run: bool,
) -> Moved:
    move = Move("/".join(source), "/".join(target))
    if move.source == move.target:
        raise ToolError(f"The note already has the path {move.source!r}")
    own_text = vault.open(source).text
    vault.check_new_path(target)
    plan = MovePlan(vault.index, move, own_text)
    rewritten: list[Rewritten] = []
    failed: list[MetadataError] = []
    if not dry_run:
        _require_free(vault, target, move)
        vault.move(source, target)
    if update_links:
        for path in [move.source, *plan.sources]:
            try:
                count = _rewrite(vault, plan, move, path, dry_run)
            except ToolError as error:
                failed.append(MetadataError(file=path, error=str(error)))
                continue
            if count:
                shown = move.target if path == move.source and not dry_run else path
                rewritten.append(Rewritten(path=shown, count=count))
    return Moved(
        source=move.source,
        target=move.target,
        uri=vault.uri_of(move.target),
        moved=not dry_run,
        dry_run=dry_run,
        rewritten=rewritten,
        links_rewritten=sum(one.count for one in rewritten),
        failed=failed,
    )


def _require_free(vault: Vault, target: tuple[str, ...], move: Move) -> None:
    variants = [
        name
        for name in vault.root.find_name_variants(target)
        if "/".join((*target[:-1], name)) != move.source
    ]
    if variants:
        raise ToolError(
            f"Cannot move to {move.target!r}: {variants[0]!r} already exists and differs only in "
            "case or Unicode form. Nothing was moved"
        )


def _rewrite(vault: Vault, plan: MovePlan, move: Move, path: str, dry_run: bool) -> int:
    counted = 0
    now = path if dry_run or path != move.source else move.target

    def change(before: OpenedNote | None) -> str:
        nonlocal counted
        assert before is not None
        text, counted = plan.rewrite(path, before.text)
        return text

    if dry_run:
        change(vault.open(now.split("/")))
    else:
        vault.change(now.split("/"), change)
    return counted
