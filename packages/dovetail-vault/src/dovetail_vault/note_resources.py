"""Resources: notes, tags, recent notes and statistics; with change notifications."""

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

__all__ = ["ChangeNotifier", "add_note_resources", "complete_folder", "complete_path"]

_RECENT = 50
_MAX_UNREADABLE = 50
_MAX_SUGGESTED = 101
# Larger than any sequence number of a change.
_NEWEST = 2**62
_MARKDOWN = "text/markdown"


def add_note_resources(server: Server, vaults: Vaults) -> None:
    """Register the template, the list and the fixed resources of each vault."""
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
    """List notes by path; the cursor is the last path, so that changes do not shift pages."""
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
    """Return paths that start with the input, then those that contain it."""
    typed = fold(value)
    rows = vault.index.select(
        "WHERE instr(folded_path, ?) > 0 OR ? = '' "
        "ORDER BY instr(folded_path, ?) != 1, path LIMIT ?",
        (typed, typed, typed, _MAX_SUGGESTED),
    )
    return [row.path for row in rows]


def complete_folder(vault: Vault, value: str) -> list[str]:
    """Return folders that contain the input."""
    typed = fold(value)
    folders = vault.folder_names()
    return sorted(folder for folder in folders if typed in fold(folder))[:_MAX_SUGGESTED]


def _tags(vault: Vault) -> dict[str, Any]:
    tags = count_tags(vault)
    return {
        "tags": [
            {"tag": one.tag, "count": one.count, "total": one.total or one.count} for one in tags
        ]
    }


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
    unreadable = index.query(
        "SELECT path FROM notes WHERE state != 'ok' ORDER BY path LIMIT ?", (_MAX_UNREADABLE,)
    )
    [(links,)] = index.query("SELECT count(*) FROM links")
    [(tags,)] = index.query("SELECT count(DISTINCT folded) FROM tags")
    return {
        "vault": vault.name,
        "notes": notes,
        "bytes": size,
        "unreadable": unread,
        "unreadableNotes": [path for (path,) in unreadable],
        "links": links,
        "tags": tags,
        "words": len(index.vocabulary),
        "complete": vault.is_complete,
    }


_FIXED: tuple[tuple[str, str, Callable[[Vault], dict[str, Any]]], ...] = (
    ("tags", "Tags with counts", _tags),
    ("recent", "Recently modified notes", _recent),
    ("stats", "Statistics of the vault", _stats),
)


class ChangeNotifier:
    """Sends notifications for changes of notes.

    It polls the index, so changes by other processes are reported too.
    """

    def __init__(self, server: Server, vault: Vault, *, is_only: bool) -> None:
        self._server = server
        self._vault = vault
        self._seen = 0
        base = "vault://" if is_only else f"vault://{vault.name}/"
        self._summaries = [f"{base}{name}" for name, _, _ in _FIXED]

    async def start(self) -> None:
        """Report changes from now on."""
        self._seen, _, _ = await asyncio.to_thread(self._vault.index.changes_since, _NEWEST)

    async def follow(self, interval: float) -> None:
        """Poll for changes forever."""
        while True:
            await asyncio.sleep(interval)
            await self.poll()

    async def poll(self) -> None:
        """Send notifications for changes since the last call."""
        last, changes, is_gap = await asyncio.to_thread(self._vault.index.changes_since, self._seen)
        if last == self._seen:
            return
        self._seen = last
        # The last change of each note; an edit is logged as a drop followed by an edit.
        latest = {path: kind for kind, path in changes if path}
        kinds = {kind for kind, _ in changes} - {"drop"} | set(latest.values())
        if is_gap or kinds & {"add", "drop", "bulk", "wipe"}:
            self._server.resource_list_changed()
        for path in latest:
            self._server.resource_updated(self._vault.uri_of(path))
        for uri in self._summaries:
            self._server.resource_updated(uri)
