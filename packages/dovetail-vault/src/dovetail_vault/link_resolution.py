"""Resolve links by Obsidian's rules.

A wikilink names a note by the end of its path; of several matches the one in the same folder wins,
then the shortest path. A Markdown link is a path relative to the note's folder, or else to the
vault.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from typing import NamedTuple

from dovetail_vault.index import Index
from dovetail_vault.note import leaf_of
from dovetail_vault.paths import fold_name

__all__ = ["Resolution", "Resolver", "StoredLink", "link_key"]


class Resolution(NamedTuple):
    """The target of a link, and other candidates."""

    path: str | None
    others: tuple[str, ...]


class StoredLink(NamedTuple):
    """A link in the index, with its target as written."""

    source: str
    leaf: str
    target: str
    kind: str
    line: int


class Resolver:
    """Resolves links and caches the names it has looked up."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._by_leaf: dict[str, list[tuple[str, str]]] = {}

    def resolve(self, source: str, target: str, kind: str) -> Resolution:
        """Return the target of a link in `source`."""
        key = fold_name(target).removesuffix(".md")
        candidates = self.candidates(leaf_of(target))
        folder = fold_name(posixpath.dirname(source))
        if kind == "markdown" or key.startswith(("./", "../")):
            return self._by_path(candidates, folder, key)
        key = key.strip("/")
        fitting = [
            path for path, folded in candidates if folded == key or folded.endswith(f"/{key}")
        ]
        if len(fitting) <= 1:
            return Resolution(fitting[0] if fitting else None, ())
        best = min(fitting, key=lambda path: _rank(path, key, folder))
        return Resolution(best, tuple(path for path in fitting if path != best))

    def _by_path(self, candidates: list[tuple[str, str]], folder: str, key: str) -> Resolution:
        by_key = {folded: path for path, folded in candidates}
        from_root = posixpath.normpath(key.lstrip("/"))
        relative = posixpath.normpath(posixpath.join(folder, key))
        for wanted in [from_root] if key.startswith("/") else [relative, from_root]:
            if wanted in by_key:
                return Resolution(by_key[wanted], ())
        return Resolution(None, ())

    def candidates(self, leaf: str) -> list[tuple[str, str]]:
        """Return path and link key of the notes with this name."""
        if leaf not in self._by_leaf:
            rows = self._index.query("SELECT path FROM notes WHERE leaf = ?", (leaf,))
            self._by_leaf[leaf] = [(path, link_key(path)) for (path,) in rows]
        return self._by_leaf[leaf]

    def links_to(self, path: str) -> list[StoredLink]:
        """Return all links to a note."""
        return [
            link
            for link in self._stored("links.leaf = ?", (leaf_of(path),))
            if self.resolve(link.source, link.target, link.kind).path == path
        ]

    def links_from(self, path: str) -> list[StoredLink]:
        """Return all links in a note."""
        return self._stored("notes.path = ?", (path,))

    def all_links(self) -> list[StoredLink]:
        """Return all links in the vault."""
        return self._stored("1", ())

    def _stored(self, where: str, values: Iterable[str]) -> list[StoredLink]:
        rows = self._index.query(
            "SELECT notes.path, links.leaf, links.target, links.kind, links.line "
            f"FROM links JOIN notes ON notes.id = links.note WHERE {where} "
            "ORDER BY notes.path, links.line",
            tuple(values),
        )
        return [StoredLink(*row) for row in rows]


def link_key(path: str) -> str:
    """Return a path in the form of links: folded, without suffix, namespaces as folders."""
    folder, _, name = fold_name(path).removesuffix(".md").rpartition("/")
    name = name.replace("___", "/")
    return f"{folder}/{name}" if folder else name


def _rank(path: str, key: str, folder: str) -> tuple[bool, bool, int, int, str]:
    own = link_key(path)
    same_folder = fold_name(posixpath.dirname(path)) == folder
    return (own != key, not same_folder, path.count("/"), len(path), path)
