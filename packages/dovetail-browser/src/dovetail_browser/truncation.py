"""Returns a long text in parts."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

__all__ = ["TextPart", "truncate"]

_SEPARATOR = "\n\n"
# Maximum distance to search back for a better place to cut, besides a tenth of the length.
_LONGEST_LOOK_BACK = 1_000
_LONGEST_TAG = 4_000
_PLACES = ("\n\n", "\n", ". ", " ")
_OPEN_ENTITY = re.compile(r"&#?\w{0,31}\Z")
_JOINER = "\u200d"
_MOST_MARKS = 32


class TextPart(NamedTuple):
    """A part of a text.

    `text`, a blank line and `note` together never exceed the requested length.
    """

    text: str
    offset: int
    total: int
    # Offset of the next part; None for the last part.
    next_offset: int | None
    # What was omitted and how to get it; empty if nothing was.
    note: str


def truncate(text: str, offset: int, max_chars: int) -> TextPart:
    """Return the part of the text from `offset` that fits into `max_chars` with its note."""
    total = len(text)
    offset = max(0, offset)
    if offset >= total > 0:
        note = f"[offset {offset} is past the end: the text has {total:,} characters]"
        return TextPart("", offset, total, None, note if len(note) <= max_chars else "")
    if total - offset <= max_chars:
        return TextPart(text[offset:], offset, total, None, "")
    longest = len(_SEPARATOR) + len(_note(offset, total, total))
    room = max_chars - longest
    # Omit the note if it would leave no room for the text; next_offset has the same information.
    has_note = room >= longest
    end = _find_end(text, offset, offset + (room if has_note else max(0, max_chars)))
    note = _note(offset, end, total) if has_note else ""
    return TextPart(text[offset:end], offset, total, end, note)


def _note(first: int, end: int, total: int) -> str:
    return f"[truncated: characters {first:,} to {end:,} of {total:,}; continue with offset={end}]"


def _find_end(text: str, offset: int, limit: int) -> int:
    """Return the best place to cut, at most `limit` and greater than `offset`."""
    earliest = max(offset + 1, limit - min(_LONGEST_LOOK_BACK, (limit - offset) // 10))
    end = limit
    for place in _PLACES:
        found = text.rfind(place, earliest, limit)
        if found >= 0:
            end = found + len(place)
            break
    end = min(end, limit)
    for adjust in (_before_tag, _before_entity, _before_marks):
        end = adjust(text, offset, end)
    return end


def _before_tag(text: str, offset: int, end: int) -> int:
    """Move the cut before a tag, unless the tag begins at `offset`."""
    opening = text.rfind("<", max(offset, end - _LONGEST_TAG), end)
    if opening <= offset or text.find(">", opening, end) >= 0:
        return end
    follows = text[opening + 1 : opening + 2]
    if not (follows.isalpha() or follows in ("/", "!")):
        return end
    return opening if text.find(">", end, end + _LONGEST_TAG) >= 0 else end


def _before_entity(text: str, offset: int, end: int) -> int:
    match = _OPEN_ENTITY.search(text, max(offset, end - 34), end)
    if match is None or match.start() <= offset:
        return end
    return match.start() if re.compile(r"#?\w{0,31};").match(text, end) else end


def _before_marks(text: str, offset: int, end: int) -> int:
    """Move the cut before a character that has combining marks or joiners."""
    for _ in range(_MOST_MARKS):
        if end >= len(text) or end <= offset + 1:
            break
        is_joined = text[end] == _JOINER or text[end - 1] == _JOINER
        is_pair = "\ud800" <= text[end - 1] <= "\udbff" and "\udc00" <= text[end] <= "\udfff"
        if not (is_joined or is_pair or unicodedata.category(text[end]) in ("Mn", "Me", "Mc")):
            break
        end -= 1
    return end
