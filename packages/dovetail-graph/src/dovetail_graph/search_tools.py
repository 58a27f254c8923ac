"""The tools that find: search_nodes, semantic_search, get_entity_embedding."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from msgspec import Meta

from dovetail import Server, ToolError, ToolResult
from dovetail_graph.answers import answer, tool
from dovetail_graph.inputs import (
    AsOf,
    Confidence,
    Cursor,
    EntityType,
    MaxObservations,
    Name,
    RelationType,
)
from dovetail_graph.memory import Memory, require_entity, view_at
from dovetail_graph.moments import View
from dovetail_graph.ngrams import HashedNgrams
from dovetail_graph.passages import passages_of
from dovetail_graph.records import RelationRecord
from dovetail_graph.results import Embedding, Hit, NodesFound, SemanticResult
from dovetail_graph.semantic_search import (
    MOST_FOUND,
    Question,
    Search,
    find_at,
    keep_wanted,
    show_entities,
)
from dovetail_graph.showing import (
    MAX_CHARS,
    Detail,
    read_cursor,
    show_relations,
    write_cursor,
)
from dovetail_graph.text_rules import normalize
from dovetail_serverkit.budget import Budget
from dovetail_serverkit.describing import READS

__all__ = ["add_search_tools"]

_Query = Annotated[str, Meta(min_length=1, max_length=2000)]
_FIELDS = frozenset({"observations"})
_MOST_COUNTED = 200


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
            # For a first page the best are enough; filters and later pages need them all.
            is_first = not (skip or entityTypes or relationTypes)
            most = max(_MOST_COUNTED, limit + 1) if is_first else MOST_FOUND
            found, matched = find_at(reader, view, query, match, most)
            found = keep_wanted(reader, view, found, entityTypes, relationTypes)
            page = found[skip : skip + limit]
            budget = Budget(MAX_CHARS)
            detail = Detail(_FIELDS, maxObservations)
            entities = show_entities(reader, view, [one.name for one in page], detail, budget)
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
        semantic_weight: Annotated[
            Confidence, "The share of likeness; words have the rest, by how many of them match."
        ] = 0.3,
        as_of: AsOf = None,
        fuse: Annotated[
            Literal["rrf", "weighted"], "By rank in both lists, or by their scores."
        ] = "rrf",
        explain: Annotated[bool, "Say how each score came about."] = False,
    ) -> ToolResult:
        if memory.meaning is not None:
            # What was written a moment ago is found as well.
            memory.meaning.catch_up_shortly()
        question = Question(
            query,
            limit,
            min_similarity,
            tuple(entity_types or ()),
            semantic_weight if hybrid_search else 1.0,
            fuse == "rrf",
            explain,
        )
        with memory.store.reading() as reader:
            view = view_at(reader, as_of)
            return answer(Search(memory, reader, view, as_of is not None).run(question))

    @tool(
        server,
        "get_entity_embedding",
        "The vector of an entity, with the model it is from: the mean of the vectors of its "
        "observations, which searches compare one by one.",
        READS,
        Embedding,
    )
    def get_entity_embedding(entity_name: Name) -> ToolResult:
        if not memory.compares:
            raise ToolError("Embeddings are off (--embeddings off)")
        with memory.store.reading() as reader:
            name = require_entity(reader, normalize(entity_name), View(reader.now()))
            kind, contents = reader.searched_texts(name) or ("", [])
        texts = [one.text for one in passages_of(name, kind, contents)]
        if memory.meaning is None:
            grams = HashedNgrams()
            [vector] = grams.embed(["\n".join(texts)])
            model, mode = grams.name, "lexical"
        else:
            total = memory.meaning.embed(texts).sum(axis=0)
            vector = (total / math.sqrt(float(total @ total))).tolist()
            model, mode = memory.meaning.embedder.name, "semantic"
        return answer(
            Embedding(
                entity_name=name,
                embedding=[round(float(value), 6) for value in vector],
                model=model,
                kind=mode,
                dimensions=len(vector),
            )
        )


def _is_wanted(relation: RelationRecord, kinds: list[str] | None) -> bool:
    return not kinds or relation.key.kind in kinds
