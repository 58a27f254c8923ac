"""Keep answers within a number of characters: those of the whole result as JSON."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from msgspec import Meta

from dovetail import ToolError
from dovetail_serverkit.answer_size import json_size

__all__ = [
    "DEFAULT_CHARS",
    "LIST_CHARS",
    "MaxChars",
    "Offset",
    "cut",
    "cut_errors",
    "largest",
]

Function = TypeVar("Function", bound=Callable[..., Any])

DEFAULT_CHARS = 60_000
# Of lists, which a model reads less carefully than a note.
LIST_CHARS = 20_000
# An answer without any item, and its fixed fields, fit into the minimum.
MaxChars = Annotated[int, Meta(ge=1_000, le=5_000_000)]
Offset = Annotated[int, Meta(ge=0)]
# Field names of the result of a failed call.
_AROUND_ERROR = 300


def largest(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to `most` that fits; 0 counts as fitting."""
    if fits(most):
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def cut(text: str, size: int) -> str:
    """Return the longest beginning of a text that has at most this size as JSON."""
    return text[: largest(min(len(text), max(0, size)), lambda end: json_size(text[:end]) <= size)]


def cut_errors(function: Function) -> Function:
    """Cut the messages of a tool's errors to its `maxChars`."""

    @functools.wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        try:
            return function(*args, **given)
        except ToolError as error:
            size = given.get("maxChars", DEFAULT_CHARS) - _AROUND_ERROR
            raise ToolError(cut(str(error), size)) from None

    return call  # type: ignore[return-value]
