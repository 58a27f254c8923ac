"""search-vault in modes semantic and hybrid.

The query is plain text, without operators. Hybrid mode ranks notes by meaning and by words, and
fuses the lists by rank (reciprocal rank fusion with the usual constant 60). Without a model, notes
with any of the words are ranked, and the result says so.
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
from dovetail_vault.rendering import render_notes
from dovetail_vault.results import Pagination, SearchResult
from dovetail_vault.search_request import SearchRequest, allowed_notes
from dovetail_vault.vault import Vault
from dovetail_vault.vectors import SimilarNote
from dovetail_vault.words import fold, split_words, without_surrogates

__all__ = ["MODES", "SemanticSearcher"]

MODES = ("semantic", "hybrid")
# Number of notes that each ranking contributes.
_DEPTH = 500
_FUSION = 60
_MAX_WORDS = 32
_MAX_QUERY = 2_000
_PREFIX_LENGTH = 5
_MISSING = (
    "No embedding model is in use (install one with: pip install 'dovetail-vault[embeddings]', and "
    "do not pass --embeddings off). These are notes with any of the words, ranked by words"
)


class _Ranking(NamedTuple):
    """Notes with scores, the best first; the total, and whether it is exact."""

    notes: list[tuple[int, int]]
    total: int
    is_exact: bool


class SemanticSearcher:
    """Searches one vault by meaning."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def search(self, request: SearchRequest) -> SearchResult:
        """Return one page of the most similar notes."""
        started = time.perf_counter()
        if request.sort != "relevance":
            raise ToolError(
                f"mode {request.mode!r} ranks by similarity, so sort must be 'relevance', got "
                f"{request.sort!r}"
            )
        words = list(dict.fromkeys(split_words(fold(request.query))))[:_MAX_WORDS]
        similar, problem = self._find_similar(request)
        if similar is None:
            mode, ranking, remark = "lexical", self._by_words(request, words), problem
        elif request.mode == "hybrid":
            mode, remark = "hybrid", self._progress()
            ranking = _fuse(self._by_words(request, words), similar)
        else:
            mode, remark = "semantic", self._progress()
            ranking = _by_similarity(similar)
        return self._answer(
            request, ranking, _Explanation(words, mode, similar or [], remark), started
        )

    # -- ranking --------------------------------------------------------------------------

    def _find_similar(self, request: SearchRequest) -> tuple[list[SimilarNote] | None, str | None]:
        vectors = self._vault.vectors
        if vectors is None:
            return None, _MISSING
        try:
            text = without_surrogates(request.query[:_MAX_QUERY])
            [vector] = vectors.embedder.embed([text])
        except UsageError as error:
            return None, f"The embedding model failed, so notes are ranked by words: {error}"
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
        progress = f"{done:,} of {total:,} notes are embedded so far"
        return f"{progress}; embedding stopped: {problem}" if problem else progress

    # -- rendering ------------------------------------------------------------------------

    def _answer(
        self, request: SearchRequest, ranking: _Ranking, explanation: _Explanation, started: float
    ) -> SearchResult:
        page = ranking.notes[request.offset : request.offset + request.limit]
        shown = render_notes(self._vault, request, page, explanation.lines)
        total = ranking.total - shown.missing
        with self._vault.index.reading():
            searched = allowed_notes(self._vault.index, request).bit_count()
        return SearchResult(
            files=shown.files,
            interpreted=explanation.interpreted(request.query),
            total_matches=None,
            file_count=total,
            files_searched=searched,
            indexing=not self._vault.is_complete,
            truncated=shown.truncated,
            took_ms=round((time.perf_counter() - started) * 1000, 3),
            mode=explanation.mode,
            remark=explanation.remark,
            pagination=Pagination(
                total=total,
                returned=len(shown.files),
                limit=request.limit,
                offset=request.offset,
                has_more=request.offset + len(page) < len(ranking.notes),
                total_is_exact=ranking.is_exact,
            ),
        )


class _Explanation:
    """Explains a result: mode, remark, and the lines to show."""

    def __init__(
        self, words: Sequence[str], mode: str, similar: Sequence[SimilarNote], remark: str | None
    ) -> None:
        self.mode = mode
        self.remark = remark
        self._words = words
        self._finder = LineFinder([] if mode == "semantic" else list(words))
        self._passages = {one.note: one.line for one in similar}

    def lines(self, row: NoteRow, text: str) -> list[LineHit]:
        """Return the first line of the most similar passage, then the lines with a word."""
        begins = self._passages.get(row.id)
        by_word = self._finder.find(text, row.title_line) if self.mode != "semantic" else []
        if begins is None:
            return by_word
        passage = [hit for hit in by_word if hit.number == begins - 1]
        others = [hit for hit in by_word if hit.number != begins - 1]
        return [*(passage or [LineHit(begins - 1, [])]), *others]

    def interpreted(self, query: str) -> str:
        """Return the query as it was parsed."""
        meant = f"meaning of {without_surrogates(query)!r}"
        any_of = f"any of: {', '.join(self._words)}"
        return {"semantic": meant, "hybrid": f"{meant}, and {any_of}"}.get(self.mode, any_of)


def _score_words(index: Index, words: Sequence[str]) -> tuple[int, Planes]:
    """Return notes with any of these words, and their scores; rare words count more."""
    live, found, planes = index.live.bit_count(), 0, list[int]()
    for word in words:
        # Long words match as prefixes to find other forms; matches inside words would be random.
        terms = index.vocabulary.find(word, at_start=True, at_end=len(word) < _PREFIX_LENGTH)
        levels = index.levels_of(terms)
        has = levels[0] | levels[1] | levels[2]
        planes = add_planes(planes, scale_planes(levels, weight_of(has.bit_count(), live)))
        found |= has
    return found, planes


def _by_similarity(similar: Sequence[SimilarNote]) -> _Ranking:
    notes = [(one.note, round(one.similarity * 1000)) for one in similar]
    return _Ranking(notes, len(notes), len(notes) < _DEPTH)


def _fuse(by_words: _Ranking, similar: Sequence[SimilarNote]) -> _Ranking:
    scores: dict[int, float] = {}
    for notes in ([note for note, _ in by_words.notes], [one.note for one in similar]):
        for rank, note in enumerate(notes, 1):
            scores[note] = scores.get(note, 0.0) + 1 / (_FUSION + rank)
    ordered = sorted(scores, key=lambda note: (-scores[note], note))
    # The highest possible score, first in both lists, is 1,000.
    best = 2 / (_FUSION + 1)
    notes_ = [(note, round(scores[note] / best * 1000)) for note in ordered]
    return _Ranking(notes_, len(notes_), by_words.is_exact and len(similar) < _DEPTH)
