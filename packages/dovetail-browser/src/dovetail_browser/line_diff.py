"""Compares two texts line by line."""

from __future__ import annotations

from collections import Counter
from difflib import unified_diff

__all__ = ["compare_lines"]

# difflib takes quadratic time in the worst case; longer texts are compared without line order.
_MOST_ALIGNED = 1_000
_AROUND = 1


def compare_lines(before: str, after: str) -> tuple[str, int, int]:
    """Return the unified diff, and the number of lines added and removed."""
    old, new = before.splitlines(), after.splitlines()
    head = _common(old, new)
    tail = min(_common(old[::-1], new[::-1]), len(old) - head, len(new) - head)
    first = max(0, head - _AROUND)
    old_middle = old[first : len(old) - max(0, tail - _AROUND)]
    new_middle = new[first : len(new) - max(0, tail - _AROUND)]
    if len(old) - tail == head == len(new) - tail:
        return "", 0, 0
    if max(len(old_middle), len(new_middle)) <= _MOST_ALIGNED:
        lines = list(unified_diff(old_middle, new_middle, n=_AROUND, lineterm=""))[2:]
    else:
        lines = _compare_counts(old_middle, new_middle)
    lines = ["@@" if line.startswith("@@") else line for line in lines]
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    return "\n".join(lines), added, removed


def _common(old: list[str], new: list[str]) -> int:
    count = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        count += 1
    return count


def _compare_counts(old: list[str], new: list[str]) -> list[str]:
    gone, come = Counter(old) - Counter(new), Counter(new) - Counter(old)
    lines = []
    for mark, source, counts in (("-", old, gone), ("+", new, come)):
        for line in source:
            if counts[line] > 0:
                counts[line] -= 1
                lines.append(mark + line)
    return lines
