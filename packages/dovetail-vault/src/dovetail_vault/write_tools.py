"""Tools that change notes: write-note, edit-note, move-note, delete-note."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta

from dovetail import Context, ResourceLink, ToolError, ToolResult
from dovetail_serverkit.tool_descriptions import EDITS
from dovetail_vault.answers import Reply, Vaults
from dovetail_vault.editing import Edit, append_under, apply_edits, diff_of, newline_of
from dovetail_vault.frontmatter import set_keys
from dovetail_vault.link_resolution import Resolver
from dovetail_vault.move_plan import Move, MovePlan
from dovetail_vault.paths import check_note_suffix, split_note_path
from dovetail_vault.registration import Registrar
from dovetail_vault.results import Deleted, Edited, LinkEdge, Moved, NoteError, Rewritten, Written
from dovetail_vault.tag_tools import rename_everywhere
from dovetail_vault.vault import OpenedNote, Vault

__all__ = ["Mode", "add_write_tools"]

_IfMatch = Annotated[str | None, "Etag that you read; fails if the note has changed."]
Mode = Literal["create", "overwrite", "append", "prepend"]
# Written by hand because `from` is a keyword of Python.
_MOVE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "from": {"type": "string"},
        "to": {"type": "string", "description": "The new path."},
        "updateLinks": {"type": "boolean", "default": True},
        "dryRun": {"type": "boolean"},
    },
    "required": ["from", "to"],
}


@dataclass
class Confirmation:
    """The user's answer.

    Attributes:
        confirm: Yes, delete it.
    """

    confirm: bool = True


def add_write_tools(tools: Registrar, vaults: Vaults) -> None:
    """Register the tools."""

    def write_note(
        path: Annotated[str, "Missing folders are created."],
        content: str,
        mode: Annotated[
            Mode, "create fails if the note exists; append and prepend keep its text."
        ] = "create",
        ifMatch: _IfMatch = None,
        heading: Annotated[
            str | list[str] | None, "With append: add to the end of this section."
        ] = None,
        frontmatter: Annotated[dict[str, Any] | None, "Properties to set."] = None,
        vault: str | None = None,
    ) -> ToolResult:
        """Create a note, replace it, or add to its end or start. The write is atomic."""
        reply = Reply()
        chosen = vaults.pick(vault)
        if heading is not None and mode != "append":
            raise ToolError("`heading` is allowed only with mode 'append'; otherwise edit the note")
        parts = split_note_path(path)

        def change(before: OpenedNote | None) -> str:
            if before is None:
                check_note_suffix(path)
            elif mode == "create":
                raise ToolError(
                    f"{before.path!r} already exists ({before.file.size} bytes, etag "
                    f"{before.file.etag}). Use mode overwrite, append or prepend, or edit it"
                )
            text = _written(before, content, mode, heading)
            return set_keys(text, frontmatter) if frontmatter else text

        before, after = chosen.change(parts, change, if_match=ifMatch, must_exist=False)
        result = Written(
            path=after.path,
            etag=after.file.etag,
            size=after.file.size,
            created=before is None,
        )
        return reply.data(result, [_link(chosen, after.path)])

    tools.add("write-note", write_note, EDITS, Written)

    def edit_note(
        path: Annotated[str, "Path of the note, or its name."],
        edits: Annotated[list[Edit], Meta(min_length=1, max_length=100)],
        ifMatch: _IfMatch = None,
        dryRun: Annotated[bool, "Return the diff without writing."] = False,
        vault: str | None = None,
    ) -> ToolResult:
        """Change parts of a note: sections, blocks, properties, exact text, regular expressions.

        Edits are applied in order, all or none. The rest of the note stays as it is, byte for byte.
        """
        reply = Reply()
        chosen = vaults.pick(vault)
        parts = chosen.resolve(path)
        replacements = 0

        def change(before: OpenedNote | None) -> str:
            nonlocal replacements
            assert before is not None
            text, replacements = apply_edits(before.path, before.text, edits)
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
        diff = diff_of(before.path, before.text, text)
        return reply.first(
            len(diff),
            lambda number: Edited(
                path=before.path,
                etag=etag,
                size=size,
                changed=text != before.text,
                dry_run=dryRun,
                replacements=replacements,
                diff=diff if number == len(diff) else f"{diff[:number]}…",
            ),
            least=0,
        )

    tools.add("edit-note", edit_note, EDITS, Edited)

    def move_note(**given: Any) -> ToolResult:
        """Move or rename a note and rewrite the links to it; or rename a tag: from #old to #new."""
        reply = Reply()
        chosen = vaults.pick(_vault_of_move(given))
        source, to = given["from"], given["to"]
        dry_run = given.get("dryRun", False)
        if source.startswith("#") and to.startswith("#"):
            rewritten, failed = rename_everywhere(chosen, source, to, dry_run)
            names = (source, to)
        else:
            parts, target = chosen.resolve(source), split_note_path(to)
            check_note_suffix(to)
            names = ("/".join(parts), "/".join(target))
            rewritten, failed = _move(
                chosen,
                parts,
                target,
                update_links=given.get("updateLinks", True),
                dry_run=dry_run,
            )
        items: list[NoteError | Rewritten] = [*failed, *rewritten]
        return reply.first(
            len(items),
            lambda number: Moved(
                source=names[0],
                target=names[1],
                dry_run=dry_run,
                replacements=sum(one.count for one in rewritten),
                notes=len(rewritten),
                failed=[one for one in items[:number] if isinstance(one, NoteError)],
                rewritten=[one for one in items[:number] if isinstance(one, Rewritten)],
            ),
            least=0,
        )

    tools.add("move-note", move_note, EDITS, Moved, input_schema=_MOVE_SCHEMA)
    tools.add("delete-note", _make_delete_note(vaults), EDITS, Deleted)


def _vault_of_move(given: Mapping[str, Any]) -> str | None:
    """Check what the schema, which may not list the vault, does not; return the vault's name."""
    unknown = given.keys() - {*_MOVE_SCHEMA["properties"], "vault"}
    if unknown:
        raise ToolError(f"There is no parameter {min(unknown)[:100]!r}")
    vault = given.get("vault")
    if not isinstance(vault, str | None):
        raise ToolError(f"vault: expected a string, got {type(vault).__name__}")
    return vault


def _link(vault: Vault, path: str) -> ResourceLink:
    return ResourceLink(uri=vault.uri_of(path), name=path, mime_type="text/markdown")


def _make_delete_note(vaults: Vaults) -> Callable[..., Any]:
    async def delete_note(
        ctx: Context,
        path: Annotated[str, "Path of the note, or its name."],
        permanent: Annotated[bool, "Delete it for ever."] = False,
        ifMatch: _IfMatch = None,
        vault: str | None = None,
    ) -> ToolResult:
        """Move a note to `.trash`, or delete it; the user is asked first. Lists broken links."""
        reply = Reply()
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
        is_confirmed = await _confirm(ctx, opened, permanent, len(broken))
        trashed_to = None
        if is_confirmed:
            now = await asyncio.to_thread(chosen.open, parts)
            if now.file.etag != shown:
                raise ToolError(
                    f"{opened.path!r} was changed while waiting for confirmation; nothing was "
                    "deleted"
                )
            if permanent:
                await asyncio.to_thread(chosen.remove, parts)
            else:
                trashed_to = await asyncio.to_thread(chosen.trash, parts)
        return reply.first(
            len(broken),
            lambda number: Deleted(
                path=opened.path,
                deleted=is_confirmed,
                trashed_to=trashed_to,
                broken=len(broken),
                broken_links=broken[:number],
            ),
            least=0,
        )

    return delete_note


def _written(
    before: OpenedNote | None, content: str, mode: Mode, heading: str | list[str] | None
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


def _links_broken_by(vault: Vault, path: str) -> list[LinkEdge]:
    return [
        LinkEdge(source=link.source, line=link.line)
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
    return answer.accepted and answer.data.confirm


def _move(
    vault: Vault,
    source: tuple[str, ...],
    target: tuple[str, ...],
    *,
    update_links: bool,
    dry_run: bool,
) -> tuple[list[Rewritten], list[NoteError]]:
    """Move a note; return the notes with rewritten links, and those that failed."""
    move = Move("/".join(source), "/".join(target))
    if move.source == move.target:
        raise ToolError(f"The note already has the path {move.source!r}")
    own_text = vault.open(source).text
    vault.check_new_path(target, move.source)
    plan = MovePlan(vault.index, move, own_text)
    rewritten: list[Rewritten] = []
    failed: list[NoteError] = []
    if not dry_run:
        vault.move(source, target)
    if update_links:
        for path in [move.source, *plan.sources]:
            try:
                count = _rewrite(vault, plan, move, path, dry_run)
            except ToolError as error:
                failed.append(NoteError(file=path, error=str(error)))
                continue
            if count:
                shown = move.target if path == move.source and not dry_run else path
                rewritten.append(Rewritten(path=shown, count=count))
    return rewritten, failed


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
