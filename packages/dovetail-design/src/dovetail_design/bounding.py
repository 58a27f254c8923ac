"""Bounds the size of results: the last resort where single values are too long for a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from dovetail_serverkit.answer_size import answer_size

__all__ = ["bound"]

# The most characters of a text, then the most items of a list or object; tried in turn.
_LONGEST = (2_000, 500, 200, 100, 50)
_MOST = (200, 50, 20, 10, 5)


def bound(result: msgspec.Struct, most: int) -> Any:
    """Return the result, or if it is too long, plain values with texts and lists cut.

    `shortened` in it says so.
    """
    if answer_size(result) <= most:
        return result
    plain = msgspec.to_builtins(result)
    for limits in _limits():
        cut = {**_cut(plain, *limits), "shortened": True}
        if answer_size(cut) <= most:
            return cut
    raise AssertionError(f"{type(result).__name__} does not fit {most} characters")


def _limits() -> Iterator[tuple[int, int]]:
    for count in _MOST:
        for length in _LONGEST:
            yield length, count


def _cut(value: Any, length: int, count: int) -> Any:
    if isinstance(value, str) and len(value) > length:
        return f"{value[: max(length - 30, 10)]}... ({len(value)} characters)"
    if isinstance(value, list):
        return [_cut(one, length, count) for one in value[:count]]
    if isinstance(value, dict):
        kept = list(value.items())[: max(count, 20)]
        return {name[:length]: _cut(one, length, count) for name, one in kept}
    return value
