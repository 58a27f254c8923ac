"""search-vault by meaning, alone or together with words.

The query is plain text here, without operators. Both rankings are made of the same notes, and put
together by their ranks, which need no common scale (reciprocal rank fusion, with its usual 60).
Where there is no model the notes with any of the words are ranked, and the answer says so.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from dovetail import ToolError, UsageError
from dovetail_vault.bitsets import Planes, add_planes, scale_planes, select_best
from dovetail_vault.index import Index, NoteRow
from dovetail_vault.lines import LineFinder, LineHit
from dovetail_vault.postings import weight_of
from dovetail_vault.results import Pagination, SearchResult
from dovetail_vault.search_request import SearchRequest, allowed_notes
from dovetail_vault.showing import show_notes
from dovetail_vault.vault import Vault
from dovetail_vault.vectors import Likeness
from dovetail_vault.words import fold, split_words, without_surrogates

__all__ = ["MODES", "MeaningSearcher"]

MODES = ("semantic", "hybrid")
# Notes of each ranking that count; what is not among them answers nobody's question.
_DEPTH = 500
_FUSION = 60
_MOST_WORDS = 32
_LONGEST_QUERY = 2_000
_STEM = 5
_MISSING = (
    "No model compares meanings here (pip install 'dovetail[embeddings]', or --embeddings says "
    "off): notes with any of these words, ranked by how much they have of them"
)


class _Ranking(NamedTuple):
    """Notes with scores, the best first; how many there are in all, and whether that is exact."""

    notes: list[tuple[int, int]]
    total: int
    is_exact: bool


class MeaningSearcher:
    """Searches one vault for what is meant."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def search(self, request: SearchRequest) -> SearchResult:
        """One page of what is nearest."""
        begun = time.perf_counter()
        if request.sort != "relevance":
            raise ToolError(
                f"mode {request.mode!r} ranks by likeness, so sort must be 'relevance', got "
                f"{request.sort!r}"
            )
        words = list(dict.fromkeys(split_words(fold(request.query))))[:_MOST_WORDS]
        alike, problem = self._alike(request)
        if alike is None:
            mode, ranking, remark = "lexical", self._by_words(request, words), problem
        elif request.mode == "hybrid":
            mode, remark = "hybrid", self._progress()
            ranking = _fuse(self._by_words(request, words), alike)
        else:
            mode, remark = "semantic", self._progress()
            ranking = _by_likeness(alike)
        return self._answer(request, ranking, _Why(words, mode, alike or [], remark), begun)

    # -- ranking --------------------------------------------------------------------------

    def _alike(self, request: SearchRequest) -> tuple[list[Likeness] | None, str | None]:
        vectors = self._vault.vectors
        if vectors is None:
            return None, _MISSING
        try:
            text = without_surrogates(request.query[:_LONGEST_QUERY])
            [vector] = vectors.embedder.embed([text])
        except UsageError as error:
            return None, f"The model cannot be used, so words were compared: {error}"
        with self._vault.index.reading():
            allowed = allowed_notes(self._vault.index, request)
            return vectors.find(vector, lambda note: bool(allowed >> note & 1), _DEPTH), None

    def _by_words(self, request: SearchRequest, words: Sequence[str]) -> _Ranking:
        index = self._vault.index
        if not words:
            return _Ranking([], 0, True)
        with index.reading():
            found, planes = _score_words(index, words)
            found &= allowed_notes(index, request)
            notes = select_best(found, planes, _DEPTH)
        total = found.bit_count()
        return _Ranking(notes, min(total, _DEPTH), total <= _DEPTH)

    def _progress(self) -> str | None:
        assert self._vault.vectors is not None
        done, total = self._vault.vectors.coverage()
        if done >= total:
            return None
        problem = self._vault.vector_problem
        said = f"{done:,} of {total:,} notes have been read by the model so far"
        return f"{said}; it stopped: {problem}" if problem else said

    # -- showing --------------------------------------------------------------------------

    def _answer(
        self, request: SearchRequest, ranking: _Ranking, why: _Why, begun: float
    ) -> SearchResult:
        page = ranking.notes[request.offset : request.offset + request.limit]
        shown = show_notes(self._vault, request, page, why.lines)
        total = ranking.total - shown.gone
        with self._vault.index.reading():
            searched = allowed_notes(self._vault.index, request).bit_count()
        return SearchResult(
            files=shown.files,
            interpreted=why.interpreted(request.query),
            total_matches=None,
            file_count=total,
            files_searched=searched,
            indexing=not self._vault.is_complete,
            truncated=shown.truncated,
            took_ms=round((time.perf_counter() - begun) * 1000, 3),
            mode=why.mode,
            remark=why.remark,
            pagination=Pagination(
                total=total,
                returned=len(shown.files),
                limit=request.limit,
                offset=request.offset,
                has_more=request.offset + len(page) < len(ranking.notes),
                total_is_exact=ranking.is_exact,
            ),
        )


class _Why:
    """What an answer says of how it came about."""

    def __init__(
        self, words: Sequence[str], mode: str, alike: Sequence[Likeness], remark: str | None
    ) -> None:
        self.mode = mode
        self.remark = remark
        self._words = words
        self._finder = LineFinder([] if mode == "semantic" else list(words))
        self._passages = {one.note: one.line for one in alike}

    def lines(self, row: NoteRow, text: str) -> list[LineHit]:
        """Where the nearest passage begins, then the lines with a word."""
        begins = self._passages.get(row.id)
        by_word = self._finder.find(text, row.title_line) if self.mode != "semantic" else []
        if begins is None:
            return by_word
        passage = [hit for hit in by_word if hit.number == begins - 1]
        others = [hit for hit in by_word if hit.number != begins - 1]
        return [*(passage or [LineHit(begins - 1, [])]), *others]

    def interpreted(self, query: str) -> str:
        """How the query was understood."""
        meant = f"meaning of {without_surrogates(query)!r}"
        any_of = f"any of: {', '.join(self._words)}"
        return {"semantic": meant, "hybrid": f"{meant}, and {any_of}"}.get(self.mode, any_of)


def _score_words(index: Index, words: Sequence[str]) -> tuple[int, Planes]:
    """Notes with any of these words, and how much they have of them; rare words count more."""
    live, found, planes = index.live.bit_count(), 0, list[int]()
    for word in words:
        # Longer ones find their other forms as well; inside words they would find chance.
        terms = index.vocabulary.find(word, at_start=True, at_end=len(word) < _STEM)
        levels = index.levels_of(terms)
        has = levels[0] | levels[1] | levels[2]
        planes = add_planes(planes, scale_planes(levels, weight_of(has.bit_count(), live)))
        found |= has
    return found, planes


def _by_likeness(alike: Sequence[Likeness]) -> _Ranking:
    notes = [(one.note, round(one.similarity * 1000)) for one in alike]
    return _Ranking(notes, len(notes), len(notes) < _DEPTH)


def _fuse(by_words: _Ranking, alike: Sequence[Likeness]) -> _Ranking:
    scores: dict[int, float] = {}
    for notes in ([note for note, _ in by_words.notes], [one.note for one in alike]):
        for rank, note in enumerate(notes, 1):
            scores[note] = scores.get(note, 0.0) + 1 / (_FUSION + rank)
    ordered = sorted(scores, key=lambda note: (-scores[note], note))
    # The best that there can be, first of both, is 1,000.
    best = 2 / (_FUSION + 1)
    notes_ = [(note, round(scores[note] / best * 1000)) for note in ordered]
    return _Ranking(notes_, len(notes_), by_words.is_exact and len(alike) < _DEPTH)
