"""Hybrid search: similarity by vectors or n-grams, fused with the search by words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dovetail_graph.inputs import MAX_CHARS
from dovetail_graph.lexical_search import (
    find_matches,
    find_similar_spelling,
    find_similar_spelling_at,
    fuse,
    scan,
)
from dovetail_graph.memory import Memory
from dovetail_graph.ngrams import HashedNgrams
from dovetail_graph.rendering import Detail, render
from dovetail_graph.results import EntityView, SemanticResult, Similar
from dovetail_graph.storage import Match, Reader
from dovetail_graph.text_normalization import fold, significant_words, words_of
from dovetail_graph.timestamps import ANY_TIME, View
from dovetail_graph.vector_search import SimilarEntity
from dovetail_serverkit.answer_size import AnswerBudget

__all__ = [
    "MAX_FOUND",
    "Search",
    "SemanticQuery",
    "filter_matches",
    "find_entities",
    "render_named",
    "search_detail",
]

MAX_FOUND = 1_000
# Entities by similarity that are fused with those by words.
_MAX_SIMILAR = 200
_FIELDS = frozenset({"observations"})
# Characters of an observation that matches; the entity has the whole text.
_MAX_MATCHED = 300


@dataclass(frozen=True, slots=True)
class SemanticQuery:
    """The arguments of semantic_search."""

    query: str
    limit: int
    # Minimum similarity of every result. None: the model's threshold, for matches by similarity.
    least: float | None
    types: tuple[str, ...]
    # Weight of similarity; the rest is the weight of words.
    weight: float
    by_rank: bool
    explain: bool
    max_chars: int = MAX_CHARS


def find_entities(
    reader: Reader, view: View, query: str, match: str, most: int = MAX_FOUND
) -> tuple[list[Match], str]:
    """Search by words at any time; return the best first, and how they match."""
    if view == ANY_TIME:
        return find_matches(reader, query, match, most)
    for mode in ("all", "any") if match == "words" else (match,):
        found = sorted(scan(reader, view, query, mode), key=lambda one: (-one.score, one.name))
        if found or mode != "all":
            break
    return found[:most], mode


def filter_matches(
    reader: Reader,
    view: View,
    found: Sequence[Match],
    entity_types: Sequence[str] | None,
    relation_types: Sequence[str] | None,
) -> list[Match]:
    """Keep matches that existed, with these types and one of these relations."""
    there = reader.existing_names([match.name for match in found], view, entity_types or ())
    kept = [match for match in found if match.name in there]
    if relation_types:
        names = [match.name for match in kept]
        linked = {
            end
            for one in reader.relations(view, sources=names, targets=names)
            if one.key.kind in relation_types
            for end in (one.key.source, one.key.target)
        }
        kept = [match for match in kept if match.name in linked]
    return kept


def search_detail(reader: Reader, view: View, query: str, max_observations: int) -> Detail:
    """Return what to show of entities that were found: what matches first."""
    # The beginnings of words, because searches match inflections too.
    words = [fold(word)[:5] for word in words_of(significant_words(query))]
    now = reader.now() if view.valid is None else None
    return Detail(_FIELDS, max_observations, now=now, words=words)


def render_named(
    reader: Reader, view: View, names: Sequence[str], detail: Detail, budget: AnswerBudget
) -> list[EntityView]:
    """Render entities by name, as much as fits."""
    return render(reader, view, reader.entities_named(names, view), detail, budget).entities


class Search:
    """A search of one snapshot."""

    def __init__(self, memory: Memory, reader: Reader, view: View) -> None:
        self._reader = reader
        self._view = view
        self._compares = memory.compares
        # Vectors exist only for the current record; in another view only texts are compared.
        self._vectors = memory.vectors if view == ANY_TIME else None

    def run(self, asked: SemanticQuery) -> SemanticResult:
        """Return the best results with their similarities."""
        threshold = asked.least if asked.least is not None else self._threshold
        words = []
        if asked.weight < 1:
            words = find_entities(self._reader, self._view, asked.query, "words")[0]
        similar = {one.name: one for one in self._similar(asked, threshold, words)}
        near = [one for one in similar.values() if one.similarity >= threshold]
        if asked.least is not None:
            # An explicit threshold applies to every result, not only to one list.
            close = {one.name for one in near}
            words = [one for one in words if one.name in close]
        scores = fuse(words, near, asked.weight, asked.by_rank)
        ranked = sorted(scores, key=lambda name: (-scores[name], name))
        chosen = filter_matches(
            self._reader, self._view, [Match(name, 0) for name in ranked], asked.types, None
        )[: asked.limit]
        ranked_matches = [replace(one, score=scores[one.name]) for one in chosen]
        results = self._render(ranked_matches, asked)
        keyword = {match.name: match.score for match in words}
        for one in results:
            name = one.entity.name
            if (found := similar.get(name)) is not None:
                one.similarity = round(found.similarity, 6)
                one.matched_observation = found.text[:_MAX_MATCHED] or None
                one.matched_status = found.status
            if name in keyword:
                one.keyword_score = round(keyword[name], 6)
            if asked.explain:
                one.explanation = _explain(name, words, near)
        results = AnswerBudget(asked.max_chars).fitting(results)
        return SemanticResult(
            results=results,
            count=len(results),
            left_out=len(chosen) - len(results),
            mode="lexical" if self._vectors is None else "semantic",
            model=self._model,
            min_similarity=threshold,
            not_embedded=self._vectors.count_missing(self._reader) if self._vectors else 0,
        )

    def _render(self, chosen: Sequence[Match], asked: SemanticQuery) -> list[Similar]:
        detail = search_detail(self._reader, self._view, asked.query, 5)
        budget = AnswerBudget(asked.max_chars)
        scores = {one.name: round(one.score, 6) for one in chosen}
        shown = render_named(self._reader, self._view, list(scores), detail, budget)
        return [Similar(entity=one, score=scores[one.name]) for one in shown]

    @property
    def _threshold(self) -> float:
        return (self._vectors.embedder if self._vectors else HashedNgrams()).min_similarity

    @property
    def _model(self) -> str | None:
        if self._vectors is not None:
            return self._vectors.embedder.name
        return HashedNgrams.name if self._compares else None

    def _similar(
        self, asked: SemanticQuery, threshold: float, words: Sequence[Match]
    ) -> list[SimilarEntity]:
        """Return matches by similarity, and the similarity of matches by words."""
        if self._vectors is not None:
            [vector] = self._vectors.embed([asked.query])
            found = self._vectors.find(
                self._reader, vector, threshold, _MAX_SIMILAR, lambda names: self._of(asked, names)
            )
            known = {one.name for one in found}
            others = [one.name for one in words[:_MAX_SIMILAR] if one.name not in known]
            return found + self._vectors.compare(self._reader, vector, others)
        if not self._compares:
            return []
        if self._view != ANY_TIME:
            return find_similar_spelling_at(self._reader, self._view, asked.query)
        return find_similar_spelling(self._reader, asked.query, _MAX_SIMILAR)

    def _of(self, asked: SemanticQuery, names: Sequence[str]) -> set[str]:
        return self._reader.existing_names(names, self._view, asked.types)


def _explain(name: str, words: Sequence[Match], similar: Sequence[SimilarEntity]) -> str:
    ranks = []
    for title, names in (
        ("by words", [one.name for one in words]),
        ("by similarity", [one.name for one in similar]),
    ):
        if name in names:
            ranks.append(f"{title}: rank {names.index(name) + 1} of {len(names)}")
    return "; ".join(ranks)
