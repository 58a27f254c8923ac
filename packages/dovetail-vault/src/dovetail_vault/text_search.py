"""search-vault in modes text and regex: evaluate, verify candidates, rank, render lines."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from dovetail_vault.bitsets import Planes, from_numbers, iterate, select_best
from dovetail_vault.index import NoteRow
from dovetail_vault.lines import LineFinder, LineHit
from dovetail_vault.patterns import Pattern, compile_pattern
from dovetail_vault.query_evaluation import Evaluator, Subject
from dovetail_vault.query_language import Node, Term, describe, parse_query, positive_terms
from dovetail_vault.rendering import render_notes
from dovetail_vault.results import SearchResult
from dovetail_vault.search_request import SearchRequest, allowed_notes
from dovetail_vault.vault import Vault

__all__ = ["TextSearcher"]

# Up to this many candidates are verified for an exact total; beyond, only what the page needs.
_MAX_VERIFIED = 3_000
_CACHE_SIZE = 16


class _Plan:
    """A parsed query: the candidates, how to verify and how to rank them."""

    def __init__(
        self,
        sure: int,
        possible: int,
        planes: Planes,
        matches: Callable[[NoteRow, str], bool],
        finder: LineFinder | None,
        interpreted: str,
    ) -> None:
        self.sure = sure
        self.possible = possible
        self.planes = planes
        self.matches = matches
        self.interpreted = interpreted
        self._finder = finder

    def find(self, row: NoteRow, text: str) -> list[LineHit]:
        """Return the lines of a note to show; none without a query."""
        return self._finder.find(text, row.title_line) if self._finder is not None else []


class TextSearcher:
    """Searches one vault."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        # Verified candidates by query, so that the next page does not verify them again.
        self._verified: OrderedDict[tuple[Any, ...], tuple[int, int]] = OrderedDict()

    def search(self, request: SearchRequest) -> SearchResult:
        """Return one page of matching notes."""
        index = self._vault.index
        with index.reading():
            plan = self._plan(request)
            allowed = allowed_notes(index, request)
            plan.sure &= allowed
            plan.possible &= allowed
            state = index.live
        wanted = request.offset + request.limit
        numbers, total, is_exact = self._choose(request, plan, state, wanted)
        page = [number for number, _ in numbers[request.offset : wanted]]
        shown = render_notes(self._vault, request, page, plan.find)
        has_more = request.offset + len(page) < total or not is_exact
        return SearchResult(
            files=shown.files,
            total=total - shown.missing,
            next_offset=request.offset + len(page) if has_more else None,
            total_is_exact=is_exact,
            interpreted=plan.interpreted,
            indexing=not self._vault.is_complete,
            mode=request.mode,
        )

    # -- planning -------------------------------------------------------------------------

    def _plan(self, request: SearchRequest) -> _Plan:
        if not request.query:
            live = self._vault.index.live
            return _Plan(live, live, [], lambda _row, _text: True, None, "")
        if request.mode == "regex":
            return self._plan_regex(request)
        node = parse_query(request.query)
        evaluator = Evaluator(self._vault.index, case_sensitive=request.case_sensitive)
        found = evaluator.evaluate(node)

        def matches(row: NoteRow, text: str) -> bool:
            return self._subject(row, text).matches(node, request.case_sensitive)

        return _Plan(
            found.sure,
            found.possible,
            evaluator.score(node),
            matches,
            LineFinder(_texts(node), case_sensitive=request.case_sensitive),
            "" if describe(node) == request.query.strip() else describe(node),
        )

    def _plan_regex(self, request: SearchRequest) -> _Plan:
        pattern = compile_pattern(request.query, case_sensitive=request.case_sensitive)
        index = self._vault.index
        possible = index.live
        planes: Planes = []
        if pattern.literals:
            evaluator = Evaluator(index, case_sensitive=False)
            for literal in pattern.literals:
                possible &= evaluator.evaluate(Term("content", literal)).possible

        def matches(_row: NoteRow, text: str) -> bool:
            return _any_line(pattern, text)

        return _Plan(0, possible, planes, matches, LineFinder([], pattern=pattern), "")

    def _subject(self, row: NoteRow, text: str) -> Subject:
        tags = self._vault.index.query("SELECT tag FROM tags WHERE note = ?", (row.id,))
        return Subject(text, row.title, [tag for (tag,) in tags], row.path)

    # -- choosing -------------------------------------------------------------------------

    def _choose(
        self, request: SearchRequest, plan: _Plan, state: int, wanted: int
    ) -> tuple[list[tuple[int, int]], int, bool]:
        """Return ordered (number, score) pairs, the total, and whether the total is exact."""
        key = (request.query, request.mode, request.case_sensitive, hash(state))
        yes, no = self._verified.get(key, (0, 0))
        unverified = plan.possible & ~plan.sure & ~yes & ~no
        is_exact = unverified.bit_count() <= _MAX_VERIFIED
        if is_exact:
            good = self._verify(plan, list(iterate(unverified)))
            yes, no = yes | good, no | (unverified & ~good)
            found = plan.sure | (plan.possible & yes)
            ordered = self._order(request, plan, found, wanted)
        else:
            yes, no, ordered = self._verify_in_order(request, plan, yes, no, wanted)
            found = plan.sure | (plan.possible & yes)
        self._cache_verified(key, yes, no)
        return ordered, found.bit_count(), is_exact

    def _verify_in_order(
        self, request: SearchRequest, plan: _Plan, yes: int, no: int, wanted: int
    ) -> tuple[int, int, list[tuple[int, int]]]:
        count = max(200, wanted * 2)
        total = plan.possible.bit_count()
        while True:
            ordered = self._order(request, plan, plan.possible & ~no, count)
            unknown = [n for n, _ in ordered if not (plan.sure | yes) >> n & 1]
            for start in range(0, len(unknown), 200):
                part = unknown[start : start + 200]
                good = self._verify(plan, part)
                yes, no = yes | good, no | (from_numbers(part) & ~good)
            good_ones = [pair for pair in ordered if (plan.sure | yes) >> pair[0] & 1]
            if len(good_ones) >= wanted or count >= total:
                return yes, no, good_ones[:wanted]
            count *= 2

    def _verify(self, plan: _Plan, numbers: list[int]) -> int:
        rows = self._vault.index.rows(numbers)
        good = []
        for number in numbers:
            text = self._vault.text_of(rows[number].path) if number in rows else None
            if text is not None and plan.matches(rows[number], text):
                good.append(number)
        return from_numbers(good)

    def _cache_verified(self, key: tuple[Any, ...], yes: int, no: int) -> None:
        self._verified[key] = (yes, no)
        self._verified.move_to_end(key)
        while len(self._verified) > _CACHE_SIZE:
            self._verified.popitem(last=False)

    def _order(
        self, request: SearchRequest, plan: _Plan, found: int, wanted: int
    ) -> list[tuple[int, int]]:
        if request.sort == "relevance" and request.query:
            return select_best(found, plan.planes, wanted)
        order = "mtime_ns DESC, path" if request.sort == "modified" else "path"
        ordered = []
        for (number,) in self._vault.index.query(f"SELECT id FROM notes ORDER BY {order}"):
            if found >> number & 1:
                ordered.append((number, 0))
                if len(ordered) == wanted:
                    break
        return ordered


def _texts(node: Node) -> list[str]:
    """Return the texts to find in lines; empty if the query has only title or tag terms."""
    return [term.text for term in positive_terms(node) if term.field in ("any", "content")]


def _any_line(pattern: Pattern, text: str) -> bool:
    return next(_matching_lines(pattern, text), None) is not None


def _matching_lines(pattern: Pattern, text: str) -> Iterator[int]:
    for number, line in enumerate(text.split("\n")):
        if pattern.search(line):
            yield number
