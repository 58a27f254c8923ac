"""Notes as resources, and what the vault says of itself: tags, recent notes, numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from dovetail import ResourceNotFoundError, Server, ToolError
from dovetail.servers.vault.answers import Vaults
from dovetail.servers.vault.tag_tools import count_tags
from dovetail.servers.vault.vault import Vault
from dovetail.servers.vault.words import fold, without_surrogates

__all__ = ["Listing", "add_note_resources", "complete_folder", "complete_path"]

# Notes in resources/list. Each costs memory as long as it is listed; all are behind the template.
MOST_LISTED = 2_000
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
    """Keeps resources/list true to the vault and tells clients of changes.

    What it learns comes from the index, so a change by another process is told as well.
    """

    def __init__(self, server: Server, vault: Vault, *, is_only: bool) -> None:
        self._server = server
        self._vault = vault
        self._titles: dict[str, str] = {}
        self._seen = 0
        base = "vault://" if is_only else f"vault://{vault.name}/"
        self._summaries = [f"{base}{name}" for name, _, _ in _FIXED]

    async def begin(self) -> None:
        """List what is there; changes count from here on."""
        self._seen, _, _ = await asyncio.to_thread(self._vault.index.changes_since, _NEWEST)
        await self._load()

    async def follow(self, interval: float) -> None:
        """Look for changes again and again."""
        while True:
            await asyncio.sleep(interval)
            await self.look()

    async def look(self) -> None:
        """Take note of what has changed since the last look."""
        vault = self._vault
        last, changes, is_gap = await asyncio.to_thread(vault.index.changes_since, self._seen)
        if last == self._seen:
            return
        self._seen = last
        if is_gap or any(kind in ("bulk", "wipe") for kind, _ in changes):
            await self._load()
        paths = dict.fromkeys(path for kind, path in changes if kind in ("add", "drop"))
        for path in paths:
            await self._update(path)
        if changes:
            for uri in self._summaries:
                self._server.resource_updated(uri)

    async def _update(self, path: str) -> None:
        rows = await asyncio.to_thread(self._vault.index.select, "WHERE path = ?", (path,))
        uri = self._vault.uri_of(path)
        if not rows:
            self._remove(path)
        elif self._titles.get(path) != rows[0].title:
            self._remove(path)
            self._add(path, rows[0].title)
        self._server.resource_updated(uri)

    async def _load(self) -> None:
        rows = await asyncio.to_thread(
            self._vault.index.select, "ORDER BY path LIMIT ?", (MOST_LISTED,)
        )
        titles = {row.path: row.title for row in rows}
        for path in [path for path, title in self._titles.items() if titles.get(path) != title]:
            self._remove(path)
        for number, (path, title) in enumerate(titles.items()):
            if path not in self._titles:
                self._add(path, title)
            if number % 50 == 49:
                await asyncio.sleep(0)

    def _add(self, path: str, title: str) -> None:
        if len(self._titles) < MOST_LISTED and path not in self._titles:
            self._server.resources.add(
                self._vault.uri_of(path),
                partial(_read, self._vault, path),
                name=path,
                title=title,
                mime_type=_MARKDOWN,
            )
            self._titles[path] = title

    def _remove(self, path: str) -> None:
        if self._titles.pop(path, None) is not None:
            self._server.resources.remove(self._vault.uri_of(path))
