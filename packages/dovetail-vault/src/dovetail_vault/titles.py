"""How well a title fits what somebody typed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from dovetail_vault.words import fold

__all__ = ["rank_title"]

# difflib's own idea of "close"; below it, similar titles are not similar.
_CLOSE = 0.6
_LONGEST_COMPARED = 100


def rank_title(query: str, names: Iterable[str], case_sensitive: bool, fuzzy: bool) -> float:
    """0 for no match, 1 for the whole name; the best of all names counts."""
    wanted = query if case_sensitive else fold(query)
    matcher = difflib.SequenceMatcher(autojunk=False) if fuzzy else None
    if matcher is not None:
        matcher.set_seq2(wanted[:_LONGEST_COMPARED])
    return max(
        (_rank(wanted, name if case_sensitive else fold(name), matcher) for name in names),
        default=0.0,
    )


def _rank(wanted: str, name: str, matcher: difflib.SequenceMatcher[str] | None) -> float:
    if not name:
        return 0.0
    if wanted == name:
        return 1.0
    if wanted in name:
        # Of several that contain it, the shorter is more about it; at the start is better.
        share = len(wanted) / len(name)
        return 0.6 + 0.2 * share + (0.15 if name.startswith(wanted) else 0.0)
    if matcher is None:
        return 0.0
    matcher.set_seq1(name[:_LONGEST_COMPARED])
    if matcher.real_quick_ratio() < _CLOSE or matcher.quick_ratio() < _CLOSE:
        return 0.0
    ratio = matcher.ratio()
    return ratio * 0.6 if ratio >= _CLOSE else 0.0
