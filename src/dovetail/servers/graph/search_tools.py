"""The tools that find: search_nodes, semantic_search, get_entity_embedding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from dovetail import Server, ToolError, ToolResult
from dovetail.servers.graph.answers import READS, answer, tool
from dovetail.servers.graph.embedding import HashedNgrams, cosine
from dovetail.servers.graph.inputs import (
    AsOf,
    Confidence,
    Cursor,
    EntityType,
    MaxObservations,
    Name,
    RelationType,
)
from dovetail.servers.graph.memory import Memory, require_entity, view_at
from dovetail.servers.graph.moments import View
from dovetail.servers.graph.records import RelationRecord
from dovetail.servers.graph.results import (
    Embedding,
    EntityView,
    Hit,
    NodesFound,
    SemanticResult,
    Similar,
)
from dovetail.servers.graph.searching import (
    Likeness,
    find_alike,
    find_matches,
    fuse,
    scan,
    texts_of,
    vectors_to_make,
)
from dovetail.servers.graph.showing import (
    MAX_CHARS,
    Budget,
    Detail,
    read_cursor,
    show,
    show_relations,
    write_cursor,
)
from dovetail.servers.graph.storage import Match, Reader
from dovetail.servers.graph.text_rules import normalize

__all__ = ["add_search_tools"]

_Query = Annotated[str, Meta(min_length=1, max_length=2000)]
_MOST_FOUND = 1_000
_MOST_VECTORS = 256
_FIELDS = frozenset({"observations"})


def add_search_tools(server: Server, memory: Memory) -> None:
    """Register them."""

    @tool(
        server,
        "search_nodes",
        "Find entities by what is in their names, types and observations, the best first. "
        "match=words: every word occurs, in any order and inflection (if no entity has them all, "
        "some do, and `matched` says any); prefix: words begin so; fuzzy: spelled nearly so; "
        "exact: a whole name, type or observation.",
        READS,
        NodesFound,
    )
    def search_nodes(
        query: _Query,
        entityTypes: list[EntityType] | None = None,
        relationTypes: Annotated[
            list[RelationType] | None, "Only entities that have such a relation."
        ] = None,
        match: Literal["words", "prefix", "fuzzy", "exact"] = "words",
        limit: Annotated[int, Meta(ge=1, le=200)] = 20,
        cursor: Cursor = None,
        as_of: AsOf = None,
        maxObservations: MaxObservations = 5,
    ) -> ToolResult:
        skip = int(read_cursor(cursor, int) or 0)
        with memory.store.reading() as reader:
            view = view_at(reader, as_of)
            found, matched = _find(reader, view, query, match)
            found = _filter(reader, view, found, entityTypes, relationTypes)
            page = found[skip : skip + limit]
            budget = Budget(MAX_CHARS)
            detail = Detail(_FIELDS, maxObservations)
            entities = _show(reader, view, [one.name for one in page], detail, budget)
            scores = {one.name: one.score for one in page}
            names = set(scores)
            between = [
                one
                for one in reader.relations(view, sources=[one.name for one in entities])
                if one.key.target in names and _is_wanted(one, relationTypes)
            ]
            relations = show_relations(between, detail, budget)
        end = skip + len(entities)
        return answer(
            NodesFound(
                results=[Hit(entity=one, score=round(scores[one.name], 6)) for one in entities],
                relations=relations,
                count=len(found),
                has_more=end < len(found),
                next_cursor=write_cursor(end) if end < len(found) else None,
                matched=matched,  # type: ignore[arg-type]
            )
        )

    @tool(
        server,
        "semantic_search",
        "Find entities that are like a query, with real similarities. `mode` says what compared: "
        "a model (semantic), or words and spelling where none is installed (lexical). Hybrid adds "
        "the search by words, fused by rank. Without min_similarity the model's own threshold "
        "holds.",
        READS,
        SemanticResult,
    )
    def semantic_search(  # noqa: PLR0913 - the seed's parameters and three more
        query: _Query,
        limit: Annotated[int, Meta(ge=1, le=100)] = 10,
        min_similarity: Confidence | None = None,
        entity_types: list[EntityType] | None = None,
        hybrid_search: bool = True,
        semantic_weight: Confidence = 0.6,
        as_of: AsOf = None,
        fuse: Annotated[
            Literal["rrf", "weighted"], "By rank in both lists, or by their scores."
        ] = "rrf",
        explain: Annotated[bool, "Say how each score came about."] = False,
    ) -> ToolResult:
        _make_vectors(memory, _MOST_VECTORS)
        with memory.store.reading() as reader:
            search = _Search(memory, reader, view_at(reader, as_of), as_of is not None)
            return answer(
                search.run(
                    query,
                    limit,
                    min_similarity,
                    tuple(entity_types or ()),
                    semantic_weight if hybrid_search else 1.0,
                    fuse == "rrf",
                    explain,
                )
            )

    @tool(
        server,
        "get_entity_embedding",
        "The vector that entity searches compare, with the model it is from.",
        READS,
        Embedding,
    )
    def get_entity_embedding(entity_name: Name) -> ToolResult:
        if memory.embedder is None:
            raise ToolError("Embeddings are off (--embeddings off)")
        with memory.store.reading() as reader:
            view = View(reader.now())
            name = require_entity(reader, normalize(entity_name), view)
            texts = texts_of(reader, view, [name])[name]
        [vector] = memory.embedder.embed(["\n".join((name, *texts))])
        return answer(
            Embedding(
                entity_name=name,
                embedding=[round(float(value), 6) for value in vector],
                model=memory.embedder.name,
                kind=memory.embedder.kind,
                dimensions=len(vector),
            )
        )


def _find(reader: Reader, view: View, query: str, match: str) -> tuple[list[Match], str]:
    if view.recorded is None:
        return find_matches(reader, query, match, _MOST_FOUND)
    for mode in ("all", "any") if match == "words" else (match,):
        found = sorted(scan(reader, view, query, mode), key=lambda one: (-one.score, one.name))
        if found or mode != "all":
            break
    return found[:_MOST_FOUND], mode


def _is_wanted(relation: RelationRecord, kinds: list[str] | None) -> bool:
    return not kinds or relation.key.kind in kinds


def _filter(
    reader: Reader,
    view: View,
    found: Sequence[Match],
    entity_types: Sequence[str] | None,
    relation_types: list[str] | None,
) -> list[Match]:
    there = {
        one.name
        for one in reader.entities_named([match.name for match in found], view)
        if not entity_types or one.kind in entity_types
    }
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


def _show(
    reader: Reader, view: View, names: Sequence[str], detail: Detail, budget: Budget
) -> list[EntityView]:
    return show(reader, view, reader.entities_named(names, view), detail, budget).entities


def _make_vectors(memory: Memory, most: int) -> int:
    """Make vectors that are missing, so that what was written a moment ago is found as well."""
    embedder = memory.embedder
    if embedder is None or isinstance(embedder, HashedNgrams):
        return 0
    with memory.store.reading() as reader:
        made = vectors_to_make(reader, embedder, most)
    if made:
        with memory.store.writing() as writer:
            writer.keep_vectors(embedder.name, made)
    return len(made)


class _Search:
    """One semantic search."""

    def __init__(self, memory: Memory, reader: Reader, view: View, is_past: bool) -> None:
        self._embedder = memory.embedder
        self._reader = reader
        self._view = view
        self._is_past = is_past

    def run(
        self,
        query: str,
        limit: int,
        least: float | None,
        types: tuple[str, ...],
        weight: float,
        by_rank: bool,
        explain: bool,
    ) -> SemanticResult:
        """The best, with how like they are."""
        alike, missing = self._alike(query)
        grams = self._embedder if self._embedder is not None and not self._is_past else None
        threshold = least if least is not None else (grams or HashedNgrams()).min_similarity
        similar = {one.name: one for one in alike}
        near = [one for one in alike if one.similarity >= threshold]
        words = _find(self._reader, self._view, query, "words")[0] if weight < 1 else []
        if least is not None:
            # An explicit bound is for every result, not for one list.
            words = [
                one
                for one in words
                if one.name in similar and similar[one.name].similarity >= least
            ]
        scores = fuse(words, near, weight, by_rank)
        ranked = sorted(scores, key=lambda name: (-scores[name], name))
        ranked = [
            match.name
            for match in _filter(
                self._reader, self._view, [Match(name, 0) for name in ranked], types, None
            )
        ][:limit]
        keyword = {match.name: match.score for match in words}
        budget = Budget(MAX_CHARS)
        detail = Detail(_FIELDS, 5)
        results = []
        for entity in _show(self._reader, self._view, ranked, detail, budget):
            name = entity.name
            one = similar.get(name)
            results.append(
                Similar(
                    entity=entity,
                    score=round(scores[name], 6),
                    similarity=None if one is None else round(one.similarity, 6),
                    keyword_score=round(keyword[name], 6) if name in keyword else None,
                    matched_observation=(one.text or None) if one is not None else None,
                    explanation=_explain(name, words, near) if explain else None,
                )
            )
        is_semantic = grams is not None and grams.kind == "semantic"
        return SemanticResult(
            results=results,
            count=len(results),
            mode="semantic" if is_semantic else "lexical",
            model=(grams or HashedNgrams()).name if self._embedder is not None else None,
            min_similarity=threshold,
            not_embedded=missing,
        )

    def _alike(self, query: str) -> tuple[list[Likeness], int]:
        if self._embedder is None:
            return [], 0
        if not self._is_past:
            return find_alike(self._reader, query, self._embedder, 200)
        # Vectors are of now; of another time only texts can be compared.
        grams = HashedNgrams()
        wanted = grams.weigh(query)
        names = [match.name for match in scan(self._reader, self._view, query, "any")]
        found = []
        for name, texts in texts_of(self._reader, self._view, names).items():
            scored = [(cosine(wanted, grams.weigh(f"{name} {text}")), text) for text in texts]
            similarity, text = max(scored)
            found.append(Likeness(name, similarity, text if text != texts[0] else ""))
        return sorted(found, key=lambda one: (-one.similarity, one.name)), 0


def _explain(name: str, words: Sequence[Match], alike: Sequence[Likeness]) -> str:
    places = []
    for title, names in (
        ("by words", [one.name for one in words]),
        ("by likeness", [one.name for one in alike]),
    ):
        if name in names:
            places.append(f"{title}: place {names.index(name) + 1} of {len(names)}")
    return "; ".join(places)
