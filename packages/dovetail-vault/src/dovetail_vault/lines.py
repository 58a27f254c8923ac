"""Find matching lines and render them with context."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from dovetail_vault.patterns import Pattern
from dovetail_vault.results import LineMatch
from dovetail_vault.words import fold, without_surrogates

__all__ = ["LineFinder", "LineHit", "printable", "render_matches"]

_MAX_LINE = 300
_MAX_PER_NOTE = 20
# A note may match millions of times; only some lines are shown, and only their start.
_MAX_LINES = 100_000
_MAX_SPANS = 100
_MAX_SPANS_PER_NOTE = 10_000
_NO_SPANS: list[tuple[int, int]] = []


class LineHit(NamedTuple):
    """A matching line, counted from 0, and the spans of its matches."""

    number: int
    spans: list[tuple[int, int]]


class LineFinder:
    """Finds the lines of a note that match."""

    def __init__(
        self,
        texts: list[str],
        *,
        case_sensitive: bool = False,
        pattern: Pattern | None = None,
    ) -> None:
        self._texts = texts if case_sensitive else [fold(text) for text in texts]
        self._case_sensitive = case_sensitive
        self._pattern = pattern

    def find(self, text: str, title_line: int) -> list[LineHit]:
        """Return the matching lines; the title's line if the query has no text terms.

        At most 100,000 lines are returned, and matches inside a line only for those to be shown.
        """
        if self._pattern is not None:
            return list(islice(_find_pattern(self._pattern, text), _MAX_LINES))
        if not self._texts:
            return [LineHit(title_line - 1, [])] if text else []
        haystack = text if self._case_sensitive else fold(text)
        starts = _line_starts(haystack)
        hits: dict[int, list[tuple[int, int]]] = {}
        for wanted in self._texts:
            place, count = haystack.find(wanted), 0
            while place >= 0 and len(hits) < _MAX_LINES:
                number = bisect_right(starts, place) - 1
                inside = place - starts[number]
                spans = hits.setdefault(number, [])
                spans.append((inside, inside + len(wanted)))
                count += 1
                following = place + max(1, len(wanted))
                if len(spans) >= _MAX_SPANS or count > _MAX_SPANS_PER_NOTE:
                    if number + 1 == len(starts):
                        break
                    following = max(following, starts[number + 1])
                place = haystack.find(wanted, following)
        return [LineHit(number, sorted(spans)) for number, spans in sorted(hits.items())]


def _find_pattern(pattern: Pattern, text: str) -> Iterator[LineHit]:
    found = 0
    for number, line in enumerate(text.split("\n")):
        if pattern.search(line):
            found += 1
            is_shown = found <= _MAX_PER_NOTE
            yield LineHit(number, pattern.spans(line, _MAX_SPANS) if is_shown else _NO_SPANS)


def _line_starts(text: str) -> array[int]:
    starts, place = array("I", [0]), text.find("\n")
    while place >= 0:
        starts.append(place + 1)
        place = text.find("\n", place + 1)
    return starts


def render_matches(
    text: str, hits: list[LineHit], context: int, budget: int
) -> tuple[list[LineMatch], int]:
    """Render the first hits within a budget of characters; also return the characters used."""
    if not hits or budget <= 0:
        return [], 0
    lines = text.split("\n")
    chosen = [hit for hit in hits[:_MAX_PER_NOTE] if hit.number < len(lines)]
    matching = {hit.number for hit in chosen}
    shown, used, done = [], 0, 0
    for hit in chosen:
        # A line between two matches is shown once.
        before = range(max(done, hit.number - context), hit.number)
        after = range(hit.number + 1, min(len(lines), hit.number + context + 1))
        after = range(after.start, min((n for n in after if n in matching), default=after.stop))
        match = LineMatch(
            line=hit.number + 1,
            text=_excerpt(printable(lines[hit.number]), hit.spans),
            before=[_excerpt(printable(lines[number])) for number in before],
            after=[_excerpt(printable(lines[number])) for number in after],
        )
        done = max(hit.number + 1, after.stop)
        used += sum(map(len, [match.text, *match.before, *match.after]))
        shown.append(match)
        if used > budget:
            break
    return shown, used


def _excerpt(line: str, spans: Sequence[tuple[int, int]] = ()) -> str:
    """Return a line, cut around its first match if it is long."""
    if len(line) <= _MAX_LINE:
        return line
    start = max(0, spans[0][0] - _MAX_LINE // 3) if spans else 0
    end = start + _MAX_LINE
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


def printable(line: str) -> str:
    """Return a line that can be encoded; invalid UTF-8 becomes U+FFFD."""
    return without_surrogates(line.removesuffix("\r"))
