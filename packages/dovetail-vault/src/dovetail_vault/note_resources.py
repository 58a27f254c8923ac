"""Notes as resources, and what the vault says of itself: tags, recent notes, numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from dovetail import (
    Annotations,
    Resource,
    ResourceNotFoundError,
    ResourcePage,
    Server,
    ToolError,
)
from dovetail_vault.answers import Vaults
from dovetail_vault.tag_tools import count_tags
from dovetail_vault.vault import Vault
from dovetail_vault.words import fold, without_surrogates

__all__ = ["Listing", "add_note_resources", "complete_folder", "complete_path"]

_RECENT = 50
_MOST_SUGGESTED = 101
# Beyond any number that a change can have.
_NEWEST = 2**62
_MARKDOWN = "text/markdown"


def add_note_resources(server: Server, vaults: Vaults) -> None:
    """Register the template and the fixed resources of each vault."""
    for vault in vaults:
        template = f"{vault.uri_prefix}{{+path}}"
        server.resources.add(
            template,
            partial(_read, vault),
            name=f"note-{vault.name}",
            title="A note",
            description="A note by its path in the vault.",
            mime_type=_MARKDOWN,
        )
        server.complete(template, "path")(partial(_complete, vault))
        server.resource_list(name=f"notes-{vault.name}")(partial(_list, vault))
        base = "vault://" if len(vaults) == 1 else f"vault://{vault.name}/"
        for name, title, function in _FIXED:
            server.resources.add(
                f"{base}{name}",
                partial(function, vault),
                name=f"{name}-{vault.name}" if len(vaults) > 1 else name,
                title=title,
                mime_type="application/json",
            )


def _read(vault: Vault, path: str) -> str:
    try:
        return without_surrogates(vault.open(vault.resolve(path)).text)
    except ToolError as error:
        raise ResourceNotFoundError(vault.uri_of(path[:500]), str(error)) from None


def _list(vault: Vault, cursor: str | None, limit: int) -> ResourcePage:
    """Notes by path; the cursor is the last path shown, so that nothing moves between pages."""
    rows = vault.index.select("WHERE path > ? ORDER BY path LIMIT ?", (cursor or "", limit))
    notes = [
        Resource(
            uri=vault.uri_of(row.path),
            name=row.path,
            title=row.title,
            mime_type=_MARKDOWN,
            size=row.size,
            annotations=Annotations(last_modified=vault.date_of(row.mtime_ns)),
        )
        for row in rows
    ]
    return ResourcePage(notes, rows[-1].path if len(rows) == limit else None)


def _complete(vault: Vault, value: str) -> list[str]:
    return complete_path(vault, value)


def complete_path(vault: Vault, value: str) -> list[str]:
    """Paths that begin with what was typed, then those that contain it."""
    typed = fold(value)
    rows = vault.index.select(
        "WHERE instr(folded_path, ?) > 0 OR ? = '' "
        "ORDER BY instr(folded_path, ?) != 1, path LIMIT ?",
        (typed, typed, typed, _MOST_SUGGESTED),
    )
    return [row.path for row in rows]


def complete_folder(vault: Vault, value: str) -> list[str]:
    """Folders that contain what was typed."""
    typed = fold(value)
    folders = set()
    for (path,) in vault.index.query("SELECT path FROM notes"):
        parts = path.split("/")[:-1]
        folders |= {"/".join(parts[:end]) for end in range(1, len(parts) + 1)}
    return sorted(folder for folder in folders if typed in fold(folder))[:_MOST_SUGGESTED]


def _tags(vault: Vault) -> dict[str, Any]:
    tags = count_tags(vault)
    return {"tags": [{"tag": tag.tag, "count": tag.count, "total": tag.total} for tag in tags]}


def _recent(vault: Vault) -> dict[str, Any]:
    rows = vault.index.select("ORDER BY mtime_ns DESC, path LIMIT ?", (_RECENT,))
    return {
        "notes": [
            {
                "path": row.path,
                "title": row.title,
                "uri": vault.uri_of(row.path),
                "modified": vault.date_of(row.mtime_ns),
            }
            for row in rows
        ]
    }


def _stats(vault: Vault) -> dict[str, Any]:
    index = vault.index
    [(notes, size, unread)] = index.query(
        "SELECT count(*), coalesce(sum(size), 0), coalesce(sum(state != 'ok'), 0) FROM notes"
    )
    [(links,)] = index.query("SELECT count(*) FROM links")
    [(tags,)] = index.query("SELECT count(DISTINCT folded) FROM tags")
    return {
        "vault": vault.name,
        "notes": notes,
        "bytes": size,
        "unreadable": unread,
        "links": links,
        "tags": tags,
        "words": len(index.vocabulary),
        "complete": vault.is_complete,
    }


_FIXED: tuple[tuple[str, str, Callable[[Vault], dict[str, Any]]], ...] = (
    ("tags", "Tags with counts", _tags),
    ("recent", "Notes changed last", _recent),
    ("stats", "Numbers of the vault", _stats),
)


class Listing:
    """Tells clients what has changed.

    What it learns comes from the index, so a change by another process is told as well.
    """

    def __init__(self, server: Server, vault: Vault, *, is_only: bool) -> None:
        self._server = server
        self._vault = vault
        self._seen = 0
        base = "vault://" if is_only else f"vault://{vault.name}/"
        self._summaries = [f"{base}{name}" for name, _, _ in _FIXED]

    async def begin(self) -> None:
        """Changes count from here on."""
        self._seen, _, _ = await asyncio.to_thread(self._vault.index.changes_since, _NEWEST)

    async def follow(self, interval: float) -> None:
        """Look for changes again and again."""
        while True:
            await asyncio.sleep(interval)
            await self.look()

    async def look(self) -> None:
        """Tell of what has changed since the last look."""
        last, changes, is_gap = await asyncio.to_thread(self._vault.index.changes_since, self._seen)
        if last == self._seen:
            return
        self._seen = last
        # What was done to each note last; an edit follows the drop of what was there before.
        latest = {path: kind for kind, path in changes if path}
        kinds = {kind for kind, _ in changes} - {"drop"} | set(latest.values())
        if is_gap or kinds & {"add", "drop", "bulk", "wipe"}:
            self._server.resource_list_changed()
        for path in latest:
            self._server.resource_updated(self._vault.uri_of(path))
        for uri in self._summaries:
            self._server.resource_updated(uri)
