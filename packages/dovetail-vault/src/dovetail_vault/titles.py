"""Rank titles against a query."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from dovetail_vault.words import fold

__all__ = ["rank_title"]

# difflib's default cutoff for close matches.
_CLOSE = 0.6
_MAX_COMPARED = 100


def rank_title(query: str, names: Iterable[str], case_sensitive: bool, fuzzy: bool) -> float:
    """Return the best score of all names: 0 for no match, 1 for an exact match."""
    wanted = query if case_sensitive else fold(query)
    matcher = difflib.SequenceMatcher(autojunk=False) if fuzzy else None
    if matcher is not None:
        matcher.set_seq2(wanted[:_MAX_COMPARED])
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
        # Shorter names, and names that start with the query, score higher.
        share = len(wanted) / len(name)
        return 0.6 + 0.2 * share + (0.15 if name.startswith(wanted) else 0.0)
    if matcher is None:
        return 0.0
    matcher.set_seq1(name[:_MAX_COMPARED])
    if matcher.real_quick_ratio() < _CLOSE or matcher.quick_ratio() < _CLOSE:
        return 0.0
    ratio = matcher.ratio()
    return ratio * 0.6 if ratio >= _CLOSE else 0.0
