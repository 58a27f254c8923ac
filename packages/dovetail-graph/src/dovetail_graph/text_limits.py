"""Which names and texts can be recorded."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dovetail_graph.text_normalization import normalize

__all__ = ["MAX_ITEMS", "check_texts"]

MAX_ITEMS = 1_000
# By the name of the field: the most characters.
_LONGEST = {
    "name": 200,
    "entityName": 200,
    "from": 200,
    "to": 200,
    "into": 200,
    "entityType": 100,
    "relationType": 100,
    "content": 5_000,
    "source": 500,
    "changedBy": 200,
}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# These may have several lines, and may be empty.
_FREE = frozenset({"content", "source", "changedBy"})
_MAY_BE_EMPTY = frozenset({"source", "changedBy"})


def check_texts(given: Mapping[str, str | None]) -> str | None:
    """Return why one of these fields cannot be recorded, or None."""
    for field, text in given.items():
        if text is None:
            continue
        most = _LONGEST[field]
        if len(text) > most:
            return f"{field} has {len(text)} characters; at most {most} are allowed"
        if not normalize(text) and field not in _MAY_BE_EMPTY:
            return f"{field} must not be empty"
        if "\x00" in text or (field not in _FREE and _CONTROL.search(normalize(text))):
            return f"{field} must not contain control characters, got {text[:100]!r}"
    return None
