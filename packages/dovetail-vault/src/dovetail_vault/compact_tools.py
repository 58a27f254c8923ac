"""The three tools of `--tools compact`: search, read and edit. They call the other tools."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from msgspec import Meta

from dovetail import Context, Param, ToolError, ToolResult
from dovetail_serverkit.tool_descriptions import EDITS, READS
from dovetail_vault.editing import Edit
from dovetail_vault.limits import DEFAULT_CHARS, LIST_CHARS, MaxChars, Offset
from dovetail_vault.note_views import View
from dovetail_vault.registration import Registrar
from dovetail_vault.write_tools import Mode

__all__ = ["add_compact_edit", "add_compact_tools"]

_SEARCH = (
    "Find notes, with the lines that match. A term matches anywhere; a space means AND. Operators: "
    'AND, OR, NOT, "exact phrase", parentheses; fields title: content: tag: path:. Without a query '
    "it lists the notes of a folder, or those that fit `where`. Other kinds: titles (also similar "
    "ones), folders, tags, maps of content, broken links, orphans (notes without links)."
)


def add_compact_tools(tools: Registrar) -> None:
    """Register search and read, after the tools that they call."""

    def search(  # noqa: PLR0913 - the tool's own parameters, all optional
        query: str = "",
        kind: Literal["notes", "titles", "folders", "tags", "maps", "broken", "orphans"] = "notes",
        path: Annotated[str | None, "Only notes in this folder."] = None,
        where: Annotated[str | None, "Like: due < 2026-12-01 AND status != done"] = None,
        mode: Literal["text", "regex", "semantic", "hybrid"] = "text",
        sort: Literal["relevance", "modified", "path"] = "relevance",
        contextLines: Annotated[int, Meta(ge=0, le=10)] = 0,
        limit: Annotated[int, Meta(ge=1, le=500)] = 100,
        offset: Offset = 0,
        maxChars: Annotated[MaxChars, Param(hidden=True)] = LIST_CHARS,
        vault: str | None = None,
    ) -> Any:
        common = {"offset": offset, "maxChars": maxChars, "vault": vault}
        match kind:
            case "notes":
                return tools.call(
                    "search-vault",
                    query=query,
                    path=path,
                    where=where,
                    mode=mode,
                    sort=sort,
                    contextLines=contextLines,
                    limit=limit,
                    **common,
                )
            case "titles":
                return tools.call(
                    "search-by-title", query=query, path=path, fuzzy=True, limit=limit, **common
                )
            case "folders":
                return tools.call("list-notes", directory=path, view="tree", limit=limit, **common)
            case "tags":
                return tools.call("list-tags", prefix=query, limit=limit, **common)
            case "maps":
                return tools.call("discover-mocs", mocName=query, directory=path, **common)
        return tools.call("get-links", kind=kind, limit=limit, **common)

    tools.add("search", search, READS, description=_SEARCH)

    def read(
        path: Annotated[str | list[str], "Path or name of a note, or several."],
        view: Annotated[
            View | Literal["metadata", "links"],
            "full adds outline, tags and links; links also lists links from other notes.",
        ] = "content",
        heading: Annotated[str | list[str] | None, "Only this section."] = None,
        block: Annotated[str | None, "Only the block with this ^id."] = None,
        startLine: Annotated[int, Meta(ge=1)] | None = None,
        lineCount: Annotated[int, Meta(ge=1)] | None = None,
        maxChars: MaxChars = DEFAULT_CHARS,
        vault: str | None = None,
    ) -> Any:
        """Read notes as Markdown, or parts of one. The last line has the etag for ifMatch."""
        common = {"maxChars": maxChars, "vault": vault}
        if view in ("metadata", "links"):
            if not isinstance(path, str):
                raise ToolError(f"view {view!r} takes one note")
            name = "get-note-metadata" if view == "metadata" else "get-links"
            return tools.call(name, path=path, **common)
        return tools.call(
            "read-note",
            paths=[path] if isinstance(path, str) else path,
            view=view,
            heading=heading,
            block=block,
            startLine=startLine,
            lineCount=lineCount,
            **common,
        )

    tools.add("read", read, READS)


def add_compact_edit(tools: Registrar) -> None:
    """Register edit, after the tools that it calls."""

    async def edit(  # noqa: PLR0913 - the tool's own parameters, all but one optional
        ctx: Context,
        path: str,
        content: Annotated[str | None, "Text to write, in this mode."] = None,
        mode: Mode = "create",
        edits: list[Edit] | None = None,
        frontmatter: Annotated[dict[str, Any] | None, "Properties to set, with content."] = None,
        moveTo: Annotated[str | None, "New path; links are rewritten. #old to #new: a tag."] = None,
        delete: Annotated[bool, "Move it to .trash."] = False,
        ifMatch: Annotated[str | None, "Etag; fails if the note has changed."] = None,
        dryRun: Annotated[bool, "Only report; for edits and moveTo."] = False,
        vault: str | None = None,
    ) -> ToolResult:
        """Write, edit, move or delete a note: pass one of content, edits, moveTo and delete."""
        given = [content is not None, edits is not None, moveTo is not None, delete]
        if sum(given) != 1:
            raise ToolError("Pass exactly one of content, edits, moveTo and delete")
        guard = {"path": path, "ifMatch": ifMatch, "vault": vault}
        if delete:
            result: ToolResult = await tools.call("delete-note", ctx=ctx, **guard)
            return result
        if moveTo is not None:
            arguments = {"from": path, "to": moveTo, "dryRun": dryRun, "vault": vault}
            return await asyncio.to_thread(tools.call, "move-note", **arguments)
        if edits is not None:
            return await asyncio.to_thread(
                tools.call, "edit-note", edits=edits, dryRun=dryRun, **guard
            )
        return await asyncio.to_thread(
            tools.call, "write-note", content=content, mode=mode, frontmatter=frontmatter, **guard
        )

    tools.add("edit", edit, EDITS)
