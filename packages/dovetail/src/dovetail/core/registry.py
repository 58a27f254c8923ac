"""One registry for tools, prompts, resources and templates: order, pages, change signal.

Entries keep the order in which they were added, which is the order clients see
(tools.list-order). Each entry has a position that never changes or repeats, so a
cursor stays good while others come and go. Lists are encoded once per page and
revision; any change drops them all.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from dovetail.core.cursor import decode_cursor, encode_cursor
from dovetail.core.permission import NOTHING, Requirements, Visibility
from dovetail.errors import DuplicateError, UsageError

__all__ = ["Registry", "RegistryPage"]

T = TypeVar("T")

_LONGEST_COMPARED = 128


class RegistryPage(Generic[T]):
    """Some entries in order, and the cursor of the next page if there is one."""

    __slots__ = ("entries", "next_cursor")

    def __init__(self, entries: list[T], next_cursor: str | None) -> None:
        self.entries = entries
        self.next_cursor = next_cursor


class Registry(Generic[T]):
    """Entries by name, in order, with a signal on change."""

    def __init__(
        self, kind: str, *, page_size: int | None = None, on_change: Callable[[], None]
    ) -> None:
        self.kind = kind
        self.page_size = page_size
        # Encoded answers by (revision, cursor, ...): whoever encodes a page puts it here.
        self.encoded: dict[object, bytes] = {}
        # All scopes that any entry needs, and whether any may change something.
        self.scopes: frozenset[str] = frozenset()
        self.writes = False
        self._needs: dict[str, Requirements] = {}
        self._entries: dict[str, T] = {}
        self._positions: dict[str, int] = {}
        self._next_position = 1
        self._on_change = on_change

    def add(self, name: str, entry: T, requirements: Requirements = NOTHING) -> None:
        """Put an entry under a name that is free; `needs` is what a caller must have to see it."""
        if name in self._entries:
            raise DuplicateError(
                f"{self.kind} {name!r} is registered already; remove it first or choose "
                f"another name"
            )
        self._entries[name] = entry
        self._positions[name] = self._next_position
        self._next_position += 1
        self._needs[name] = requirements
        self.scopes |= requirements.scopes
        self.writes |= requirements.writes
        self._changed()

    def remove(self, name: str) -> T:
        """Take an entry out and return it."""
        if name not in self._entries:
            raise UsageError(f"no {self.kind} {name!r} to remove{self.suggestion(name)}")
        entry = self._entries.pop(name)
        del self._positions[name], self._needs[name]
        self.scopes = frozenset().union(
            *(requirements.scopes for requirements in self._needs.values())
        )
        self.writes = any(requirements.writes for requirements in self._needs.values())
        self._changed()
        return entry

    def get(self, name: str) -> T | None:
        """The entry of this name, or None."""
        return self._entries.get(name)

    def page(self, cursor: str | None, visibility: Visibility | None = None) -> RegistryPage[T]:
        """The entries after `cursor`; raises InvalidParamsError for a cursor of no list of ours.

        A page is filled with what can be seen, so its size says nothing of the rest.
        """
        after = 0 if cursor is None else decode_cursor(cursor, self.kind, salt=self.kind)
        names = [name for name in self._seen(visibility) if self._positions[name] > after]
        if self.page_size is None or len(names) <= self.page_size:
            return RegistryPage([self._entries[name] for name in names], None)
        names = names[: self.page_size]
        last = self._positions[names[-1]]
        return RegistryPage(
            [self._entries[name] for name in names],
            encode_cursor(self.kind, last, salt=self.kind),
        )

    def suggestion(self, name: str, visibility: Visibility | None = None) -> str:
        """`; did you mean 'x'?` or `; there is: 'x', 'y'` for an unknown name, else nothing."""
        known = self._seen(visibility)
        # The name is the peer's and difflib is quadratic: of a long one only the head counts.
        close = difflib.get_close_matches(name[:_LONGEST_COMPARED], known, n=3, cutoff=0.5)
        if close:
            return f"; did you mean {' or '.join(map(repr, close))}?"
        if not known:
            return f"; there are no {self.kind}s"
        if len(known) <= 5:
            return f"; there is: {', '.join(map(repr, known))}"
        return f"; there are {len(known)} {self.kind}s, see the list"

    def _seen(self, visibility: Visibility | None) -> list[str]:
        if visibility is None:
            return list(self._entries)
        return [
            name for name, requirements in self._needs.items() if visibility.shows(requirements)
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
