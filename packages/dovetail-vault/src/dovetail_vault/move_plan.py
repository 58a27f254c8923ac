"""move-note: find the links that must be rewritten to keep their targets.

Links are resolved against the vault before and after the move. A link is rewritten only if the
results differ: links to the note, relative links inside it, and links elsewhere that would resolve
to the new name.
"""

from __future__ import annotations

import posixpath
from typing import NamedTuple
from urllib.parse import quote

from dovetail_vault.index import Index
from dovetail_vault.link_resolution import Resolver, link_key
from dovetail_vault.markdown import Link
from dovetail_vault.note import Note, leaf_of
from dovetail_vault.replacements import replace_spans

__all__ = ["Move", "MovePlan"]

_UNRESERVED = "/!$&'*+,;=:@-._~"


class Move(NamedTuple):
    """The old and new path of a note."""

    source: str
    target: str


class _ResolverAfter(Resolver):
    """Resolves links against the vault after the move."""

    def __init__(self, before: Resolver, index: Index, move: Move) -> None:
        super().__init__(index)
        self._before = before
        self._move = move

    def candidates(self, leaf: str) -> list[tuple[str, str]]:
        found = [pair for pair in self._before.candidates(leaf) if pair[0] != self._move.source]
        if leaf == leaf_of(self._move.target):
            found.append((self._move.target, link_key(self._move.target)))
        return found


class MovePlan:
    """The link changes of a move; must be created before the move."""

    def __init__(self, index: Index, move: Move, own_text: str) -> None:
        self._move = move
        self._before = Resolver(index)
        self._after = _ResolverAfter(self._before, index, move)
        self._leaves = {leaf_of(move.source), leaf_of(move.target)}
        # Look up names now: when texts are rewritten, the index has the new state.
        own = {leaf_of(link.target) for link in Note(move.source, own_text).links}
        for leaf in self._leaves | own:
            self._before.candidates(leaf)
        marks = ", ".join("?" * len(self._leaves))
        rows = index.query(
            "SELECT DISTINCT notes.path FROM links JOIN notes ON notes.id = links.note "
            f"WHERE links.leaf IN ({marks}) ORDER BY notes.path",
            tuple(self._leaves),
        )
        # Notes that may have links to rewrite, by their paths before the move.
        self.sources = [path for (path,) in rows if path != move.source]

    def rewrite(self, path: str, text: str) -> tuple[str, int]:
        """Return the text of a note (by its old path) with rewritten links, and their number."""
        is_own = path == self._move.source
        note = Note(path, text)
        new_path = self._move.target if is_own else path
        changed = (
            (link.target_start, link.target_end, self._new_target(link, path, new_path))
            for link in note.links
            if link.target and (is_own or leaf_of(link.target) in self._leaves)
        )
        return replace_spans(
            text, ((start, end, new) for start, end, new in changed if new is not None)
        )

    def _new_target(self, link: Link, path: str, new_path: str) -> str | None:
        """Return the new target of a link, or None if it does not change."""
        before = self._before.resolve(path, link.target, link.kind).path
        if before is None:
            return None
        meant = self._move.target if before == self._move.source else before
        if self._after.resolve(new_path, link.target, link.kind).path == meant:
            return None
        if link.kind == "markdown":
            return _markdown_target(link, meant, new_path)
        suffix = ".md" if link.target.endswith(".md") else ""
        stem = meant.removesuffix(".md")
        name = stem.rpartition("/")[2].replace("___", "/")
        is_bare = "/" not in link.target
        for choice in [name, stem] if is_bare else [stem, name]:
            if self._after.resolve(new_path, choice, link.kind).path == meant:
                return f"{choice}{suffix}"
        return f"{stem}{suffix}"


def _markdown_target(link: Link, meant: str, new_path: str) -> str:
    if link.target.startswith("/"):
        written = f"/{meant}"
    else:
        written = posixpath.relpath(meant, posixpath.dirname(new_path) or ".")
    if not link.target.endswith(".md"):
        written = written.removesuffix(".md")
    return written if link.is_bracketed else quote(written, safe=_UNRESERVED)
