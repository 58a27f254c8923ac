"""The registry of tools, prompts, resources and templates: order, pages, change notification.

Entries keep the order in which they were added, which is the order clients see
(tools.list-order). Each entry has a position that never changes and is not reused, so a cursor
stays valid while entries are added and removed. Lists are encoded once per page and revision; any
change clears that cache.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from dovetail.core.cursor import decode_cursor, encode_cursor
from dovetail.core.dispatch import MethodHandler
from dovetail.core.principal import NO_REQUIREMENTS, Requirements, Visibility
from dovetail.errors import DuplicateError, UsageError
from dovetail.spec.revisions import Revision

__all__ = ["BindExtras", "EntryExtras", "Registry", "RegistryPage", "suggest"]

T = TypeVar("T")

_LONGEST_COMPARED = 128


class RegistryPage(Generic[T]):
    """Some entries in order, and the cursor of the next page if there is one."""

    __slots__ = ("entries", "next_cursor")

    def __init__(self, entries: list[T], next_cursor: str | None) -> None:
        self.entries: list[T] = entries
        self.next_cursor: str | None = next_cursor


class Registry(Generic[T]):
    """Entries by name, in order; calls `on_change` after every change."""

    def __init__(
        self, kind: str, *, page_size: int | None = None, on_change: Callable[[], None]
    ) -> None:
        self.kind = kind
        self.page_size = page_size
        # Encoded pages by (revision, cursor, ...), filled by `answer_page`.
        self.encoded: dict[object, bytes] = {}
        # All scopes that any entry requires, and whether any may change something.
        self.scopes: frozenset[str] = frozenset()
        self.writes: bool = False
        self._needs: dict[str, Requirements] = {}
        self._hidden: set[str] = set()
        self._entries: dict[str, T] = {}
        self._positions: dict[str, int] = {}
        self._next_position = 1
        self._on_change = on_change
        # Called with the name of a new entry before it is added; may raise DuplicateError.
        self.checks: list[Callable[[str], None]] = []

    def add(
        self,
        name: str,
        entry: T,
        requirements: Requirements = NO_REQUIREMENTS,
        *,
        hidden: bool = False,
    ) -> None:
        """Add an entry; raises DuplicateError.

        `requirements`: what a caller needs to see it. `hidden`: pages and suggestions leave it
        out.
        """
        if name in self._entries:
            raise DuplicateError(
                f"{self.kind} {name!r} is registered already{_place_of(self._entries[name])}; "
                "remove it first or choose another name"
            )
        for check in self.checks:
            check(name)
        self._entries[name] = entry
        self._positions[name] = self._next_position
        self._next_position += 1
        self._needs[name] = requirements
        if hidden:
            self._hidden.add(name)
        self.scopes |= requirements.scopes
        self.writes |= requirements.writes
        self._changed()

    def remove(self, name: str) -> T:
        """Remove an entry and return it; raises UsageError if there is none."""
        if name not in self._entries:
            raise UsageError(f"no {self.kind} {name!r} to remove{self.suggestion(name)}")
        entry = self._entries.pop(name)
        del self._positions[name], self._needs[name]
        self._hidden.discard(name)
        self.scopes = frozenset().union(
            *(requirements.scopes for requirements in self._needs.values())
        )
        self.writes = any(requirements.writes for requirements in self._needs.values())
        self._changed()
        return entry

    @property
    def names(self) -> list[str]:
        """The names of all entries, in order."""
        return list(self._entries)

    def get(self, name: str) -> T | None:
        """Return the entry of this name, or None."""
        return self._entries.get(name)

    def listed(self) -> list[T]:
        """Return the entries that lists show, in order."""
        return [self._entries[name] for name in self._visible_names(None)]

    def page(self, cursor: str | None, visibility: Visibility | None = None) -> RegistryPage[T]:
        """Return the entries after `cursor`; raises InvalidParamsError for an unknown cursor.

        Hidden entries do not count, so the size of a page does not reveal them.
        """
        after = 0 if cursor is None else decode_cursor(cursor, self.kind, salt=self.kind)
        names = [name for name in self._visible_names(visibility) if self._positions[name] > after]
        if self.page_size is None or len(names) <= self.page_size:
            return RegistryPage([self._entries[name] for name in names], None)
        names = names[: self.page_size]
        last = self._positions[names[-1]]
        return RegistryPage(
            [self._entries[name] for name in names],
            encode_cursor(self.kind, last, salt=self.kind),
        )

    def suggestion(self, name: str, visibility: Visibility | None = None) -> str:
        """Return the end of an error about an unknown name, such as "; did you mean 'x'?"."""
        return suggest(name, self._visible_names(visibility), self.kind)

    def _visible_names(self, visibility: Visibility | None) -> list[str]:
        return [
            name
            for name, requirements in self._needs.items()
            if name not in self._hidden and (visibility is None or visibility.shows(requirements))
        ]

    def _changed(self) -> None:
        self.encoded.clear()
        self._on_change()

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[T]:
        return iter(tuple(self._entries.values()))

    def __len__(self) -> int:
        return len(self._entries)


def _place_of(entry: object) -> str:
    """Return " (file.py:12)" of an entry with a function, as it is in error messages."""
    spec = getattr(entry, "spec", None)
    return "" if spec is None else spec.where.removeprefix(spec.handler.label)


def suggest(name: str, known: list[str], kind: str) -> str:
    """Return the end of an error about an unknown name; `known` are the names to suggest."""
    # The client sent the name and difflib is quadratic, so only the start is compared.
    close = difflib.get_close_matches(name[:_LONGEST_COMPARED], known, n=3, cutoff=0.5)
    if close:
        return f"; did you mean {' or '.join(map(repr, close))}?"
    if not known:
        return f"; there are no {kind}s"
    if len(known) <= 5:
        return f"; there is: {', '.join(map(repr, known))}"
    return f"; there are {len(known)} {kind}s, see the list"


class EntryExtras(NamedTuple):
    """The additions to the entry of a list, and what runs around its handler."""

    change_entry: Callable[[dict[str, Any], Revision], None] | None = None
    wrap: Callable[[MethodHandler], MethodHandler] | None = None


# Gets the options of an entry and its name in errors.
BindExtras: TypeAlias = Callable[[Sequence[object], str], EntryExtras]
