"""Lays out blocks of text inside nested quotes and list items.

Handles prefixes and blank lines only; it knows nothing about HTML or Markdown.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["BlockLayout"]

# Deeper levels get no prefix, or lines would consist of prefixes only.
_DEEPEST = 24


@dataclass(slots=True)
class _Container:
    """A quote or list item: the prefix of its first line and of the following lines."""

    first: str
    others: str
    is_item: bool
    opens_list: bool = False
    is_used: bool = False


@dataclass(slots=True)
class BlockLayout:
    """Collects lines; containers may be nested."""

    _lines: list[str] = field(default_factory=list)
    _containers: list[_Container] = field(default_factory=list)
    # Open containers beyond the maximum depth, which have no prefix.
    _unmarked: int = 0

    def enter_quote(self, mark: str) -> None:
        """Begin a quote."""
        self._enter(_Container(mark, mark, is_item=False))

    def enter_item(self, mark: str, opens_list: bool) -> None:
        """Begin a list item; a blank line precedes the first item of a list."""
        self._enter(_Container(mark, " " * len(mark), is_item=True, opens_list=opens_list))

    def _enter(self, container: _Container) -> None:
        if len(self._containers) >= _DEEPEST:
            self._unmarked += 1
        else:
            self._containers.append(container)

    def leave(self) -> None:
        """End the innermost quote or item."""
        if self._unmarked:
            self._unmarked -= 1
        elif self._containers:
            self._containers.pop()

    def write(self, text: str) -> None:
        """Write a block; its lines get the prefixes of the open containers."""
        if not text:
            return
        if self._lines and self._is_set_off():
            self._lines.append(self._blank_prefix())
        for line in text.split("\n"):
            prefix = self._prefix()
            self._lines.append(prefix + line if line else prefix.rstrip())

    def _is_set_off(self) -> bool:
        """Whether a blank line goes before the next block."""
        unused = [one for one in self._containers if one.is_item and not one.is_used]
        if not unused:
            return True
        return unused[0].opens_list and not any(one.is_item for one in self._used())

    def _used(self) -> list[_Container]:
        return [one for one in self._containers if one.is_used]

    def _blank_prefix(self) -> str:
        marks = [one.others if one.is_used else "" for one in self._containers]
        return "".join(marks).rstrip()

    def _prefix(self) -> str:
        marks = []
        for one in self._containers:
            marks.append(one.others if one.is_used else one.first)
            one.is_used = True
        return "".join(marks)

    def text(self) -> str:
        """All blocks."""
        return "\n".join(self._lines)
