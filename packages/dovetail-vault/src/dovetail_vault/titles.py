"""Rank titles against a query, and find similar names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from heapq import nlargest

from dovetail_vault.words import fold

__all__ = ["did_you_mean", "nearest_names", "rank_title"]

# difflib's default cutoff for close matches.
_CLOSE = 0.6
_MAX_COMPARED = 100
_MAX_NAMES = 3


def rank_title(query: str, names: Iterable[str], case_sensitive: bool, fuzzy: bool) -> float:
    """Return the best score of all names: 0 for no match, 1 for an exact match."""
    wanted = query if case_sensitive else fold(query)
    matcher = _matcher(wanted) if fuzzy else None
    return max(
        (_rank(wanted, name if case_sensitive else fold(name), matcher) for name in names),
        default=0.0,
    )


def nearest_names(wanted: str, names: Iterable[str]) -> list[str]:
    """Return the names that are most similar to the wanted one, the best first."""
    folded = fold(wanted)
    matcher = _matcher(folded)
    ranked = ((_rank(folded, fold(name), matcher), -len(name), name) for name in names)
    return [name for _, _, name in nlargest(_MAX_NAMES, (one for one in ranked if one[0] > 0))]


def did_you_mean(names: Iterable[str]) -> str:
    """Return the end of an error message that suggests names; empty if there are none."""
    shown = " or ".join(map(repr, names))
    return f"; did you mean {shown}?" if shown else ""


def _matcher(wanted: str) -> difflib.SequenceMatcher[str]:
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted[:_MAX_COMPARED])
    return matcher


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
