"""move-note: which links must be rewritten so that every one leads where it led before.

Two pictures of the vault are compared, before and after the move. A link is rewritten only where
the two disagree: links to the note, links inside it that were relative, and links elsewhere
that the new name would capture.
"""

from __future__ import annotations

import posixpath
from typing import NamedTuple
from urllib.parse import quote

from dovetail_vault.index import Index
from dovetail_vault.linking import Resolver, link_key
from dovetail_vault.markdown import Link
from dovetail_vault.note import Note, leaf_of

__all__ = ["Move", "MovePlan"]

_UNRESERVED = "/!$&'*+,;=:@-._~"


class Move(NamedTuple):
    """From one path to another."""

    source: str
    target: str


class _ResolverAfter(Resolver):
    """The vault as it will be."""

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
    """What a move means for links; made before the move, good until it is done."""

    def __init__(self, index: Index, move: Move, own_text: str) -> None:
        self._move = move
        self._before = Resolver(index)
        self._after = _ResolverAfter(self._before, index, move)
        self._leaves = {leaf_of(move.source), leaf_of(move.target)}
        # Names are looked up now: when texts are rewritten, the index knows the new state.
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
        """The text of a note, by its path before the move, with its links set right."""
        is_own = path == self._move.source
        note = Note(path, text)
        new_path = self._move.target if is_own else path
        pieces, place, count = [], 0, 0
        for link in note.links:
            if not link.target or not (is_own or leaf_of(link.target) in self._leaves):
                continue
            written = self._written(link, path, new_path)
            if written is not None:
                pieces += [text[place : link.target_start], written]
                place = link.target_end
                count += 1
        return "".join([*pieces, text[place:]]), count

    def _written(self, link: Link, path: str, new_path: str) -> str | None:
        """What the link must say; None where it may stay."""
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
