"""One search by likeness, fused with the search by words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dovetail_graph.meaning import Likeness
from dovetail_graph.memory import Memory
from dovetail_graph.moments import View
from dovetail_graph.ngrams import HashedNgrams
from dovetail_graph.results import EntityView, SemanticResult, Similar
from dovetail_graph.searching import (
    find_matches,
    find_spelled_alike,
    find_spelled_alike_then,
    fuse,
    scan,
)
from dovetail_graph.showing import MAX_CHARS, Detail, show
from dovetail_graph.storage import Match, Reader
from dovetail_serverkit.budget import Budget

__all__ = ["MOST_FOUND", "Question", "Search", "find_at", "keep_wanted", "show_entities"]

MOST_FOUND = 1_000
# Entities by likeness that are fused with those by words.
_MOST_ALIKE = 200
_FIELDS = frozenset({"observations"})


@dataclass(frozen=True, slots=True)
class Question:
    """What semantic_search is asked."""

    query: str
    limit: int
    # A bound on the likeness of every result; None: the model's own, for those by likeness.
    least: float | None
    types: tuple[str, ...]
    # The share of likeness; words have the rest.
    weight: float
    by_rank: bool
    explain: bool


def find_at(
    reader: Reader, view: View, query: str, match: str, most: int = MOST_FOUND
) -> tuple[list[Match], str]:
    """Entities of any time by words, the best first, and how they match."""
    if view.recorded is None:
        return find_matches(reader, query, match, most)
    for mode in ("all", "any") if match == "words" else (match,):
        found = sorted(scan(reader, view, query, mode), key=lambda one: (-one.score, one.name))
        if found or mode != "all":
            break
    return found[:most], mode


def keep_wanted(
    reader: Reader,
    view: View,
    found: Sequence[Match],
    entity_types: Sequence[str] | None,
    relation_types: Sequence[str] | None,
) -> list[Match]:
    """Those that were there, of these types, with such a relation."""
    there = reader.names_there([match.name for match in found], view, entity_types or ())
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


def show_entities(
    reader: Reader, view: View, names: Sequence[str], detail: Detail, budget: Budget
) -> list[EntityView]:
    """As much of them as fits."""
    return show(reader, view, reader.entities_named(names, view), detail, budget).entities


class Search:
    """A search of one state."""

    def __init__(self, memory: Memory, reader: Reader, view: View, is_past: bool) -> None:
        self._reader = reader
        self._view = view
        self._is_past = is_past
        self._compares = memory.compares
        # Vectors are of now; of another time only texts can be compared.
        self._meaning = None if is_past else memory.meaning

    def run(self, asked: Question) -> SemanticResult:
        """The best, with how like they are."""
        threshold = asked.least if asked.least is not None else self._threshold
        words = []
        if asked.weight < 1:
            words = find_at(self._reader, self._view, asked.query, "words")[0]
        similar = {one.name: one for one in self._alike(asked, threshold, words)}
        near = [one for one in similar.values() if one.similarity >= threshold]
        if asked.least is not None:
            # An explicit bound is for every result, not for one list.
            close = {one.name for one in near}
            words = [one for one in words if one.name in close]
        scores = fuse(words, near, asked.weight, asked.by_rank)
        ranked = sorted(scores, key=lambda name: (-scores[name], name))
        chosen = keep_wanted(
            self._reader, self._view, [Match(name, 0) for name in ranked], asked.types, None
        )[: asked.limit]
        results = self._show([replace(one, score=scores[one.name]) for one in chosen])
        keyword = {match.name: match.score for match in words}
        for one in results:
            name = one.entity.name
            if (like := similar.get(name)) is not None:
                one.similarity = round(like.similarity, 6)
                one.matched_observation = like.text or None
            if name in keyword:
                one.keyword_score = round(keyword[name], 6)
            if asked.explain:
                one.explanation = _explain(name, words, near)
        return SemanticResult(
            results=results,
            count=len(results),
            mode="lexical" if self._meaning is None else "semantic",
            model=self._model,
            min_similarity=threshold,
            not_embedded=self._meaning.count_missing(self._reader) if self._meaning else 0,
        )

    def _show(self, chosen: Sequence[Match]) -> list[Similar]:
        detail, budget = Detail(_FIELDS, 5), Budget(MAX_CHARS)
        scores = {one.name: round(one.score, 6) for one in chosen}
        shown = show_entities(self._reader, self._view, list(scores), detail, budget)
        return [Similar(entity=one, score=scores[one.name]) for one in shown]

    @property
    def _threshold(self) -> float:
        return (self._meaning.embedder if self._meaning else HashedNgrams()).min_similarity

    @property
    def _model(self) -> str | None:
        if self._meaning is not None:
            return self._meaning.embedder.name
        return HashedNgrams.name if self._compares else None

    def _alike(self, asked: Question, threshold: float, words: Sequence[Match]) -> list[Likeness]:
        """By likeness; and how like those are that were found by words."""
        if self._meaning is not None:
            [vector] = self._meaning.embed([asked.query])
            found = self._meaning.find(
                self._reader, vector, threshold, _MOST_ALIKE, lambda names: self._of(asked, names)
            )
            known = {one.name for one in found}
            others = [one.name for one in words[:_MOST_ALIKE] if one.name not in known]
            return found + self._meaning.compare(self._reader, vector, others)
        if not self._compares:
            return []
        if self._is_past:
            return find_spelled_alike_then(self._reader, self._view, asked.query)
        return find_spelled_alike(self._reader, asked.query, _MOST_ALIKE)

    def _of(self, asked: Question, names: Sequence[str]) -> set[str]:
        return self._reader.names_there(names, self._view, asked.types)


def _explain(name: str, words: Sequence[Match], alike: Sequence[Likeness]) -> str:
    places = []
    for title, names in (
        ("by words", [one.name for one in words]),
        ("by likeness", [one.name for one in alike]),
    ):
        if name in names:
            places.append(f"{title}: place {names.index(name) + 1} of {len(names)}")
    return "; ".join(places)
