"""Replace parts of a text; stops before the result is larger than a note may be.

A short request can ask for a result of gigabytes: many matches, each replaced by a long text.
"""

from __future__ import annotations

from collections.abc import Iterable

from dovetail import ToolError
from dovetail_vault.note_files import MAX_NOTE_BYTES

__all__ = ["check_length", "replace_spans"]


def check_length(characters: int) -> None:
    """Raise ToolError if a text of this length cannot be a note; a character has a byte or more."""
    if characters > MAX_NOTE_BYTES:
        raise ToolError(f"The note would have more than {MAX_NOTE_BYTES} bytes, which is the limit")


def replace_spans(text: str, changes: Iterable[tuple[int, int, str]]) -> tuple[str, int]:
    """Replace spans in ascending order by texts; also return their number."""
    pieces, place, count, length = [], 0, 0, len(text)
    for start, end, content in changes:
        length += len(content) - (end - start)
        check_length(length)
        pieces += [text[place:start], content]
        place = end
        count += 1
    return "".join([*pieces, text[place:]]), count
