"""Tools that search: search_nodes, semantic_search, get_entity_embedding."""

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
from dovetail_graph.ngrams import HashedNgrams
from dovetail_graph.passages import passages_of
from dovetail_graph.records import RelationRecord
from dovetail_graph.rendering import (
    MAX_CHARS,
    decode_cursor,
    encode_cursor,
    render_relations,
)
from dovetail_graph.results import Embedding, Hit, NodesFound, SemanticResult
from dovetail_graph.semantic_search import (
    MAX_FOUND,
    Search,
    SemanticQuery,
    filter_matches,
    find_entities,
    render_named,
    search_detail,
)
from dovetail_graph.text_normalization import normalize
from dovetail_graph.timestamps import ANY_TIME
from dovetail_serverkit.text_budget import Budget
from dovetail_serverkit.tool_descriptions import READS

__all__ = ["add_search_tools"]

_Query = Annotated[str, Meta(min_length=1, max_length=2000)]
_MAX_COUNTED = 200


def add_search_tools(server: Server, memory: Memory) -> None:
    """Register the tools."""

    @tool(
        server,
        "search_nodes",
        "Search names, types and observations of entities; the best matches come first. "
        "match=words: every word occurs, in any order and inflection (if no entity has all words, "
        "returns those with some and sets `matched` to any); prefix: words start like this; fuzzy: "
        "similar spelling; exact: a whole name, type or observation.",
        READS,
        NodesFound,
    )
    def search_nodes(
        query: _Query,
        entity_types: list[EntityType] | None = None,
        relationTypes: Annotated[
            list[RelationType] | None, "Only entities with a relation of one of these types."
        ] = None,
        match: Literal["words", "prefix", "fuzzy", "exact"] = "words",
        limit: Annotated[int, Meta(ge=1, le=200)] = 20,
        cursor: Cursor = None,
        asOf: AsOf = None,
        maxObservations: MaxObservations = 5,
    ) -> ToolResult:
        skip = int(decode_cursor(cursor, int) or 0)
        with memory.store.reading() as reader:
            view = view_at(reader, asOf, ANY_TIME)
            # A first page needs only the best; filters and later pages need more.
            is_first = not (skip or entity_types or relationTypes)
            most = max(_MAX_COUNTED, limit + 1) if is_first else MAX_FOUND
            found, matched = find_entities(reader, view, query, match, most)
            found = filter_matches(reader, view, found, entity_types, relationTypes)
            page = found[skip : skip + limit]
            budget = Budget(MAX_CHARS)
            detail = search_detail(reader, view, query, maxObservations)
            entities = render_named(reader, view, [one.name for one in page], detail, budget)
            scores = {one.name: one.score for one in page}
            names = set(scores)
            between = [
                one
                for one in reader.relations(view, sources=[one.name for one in entities])
                if one.key.target in names and _is_wanted(one, relationTypes)
            ]
            relations = render_relations(between, detail, budget)
        end = skip + len(entities)
        return answer(
            NodesFound(
                results=[Hit(entity=one, score=round(scores[one.name], 6)) for one in entities],
                relations=relations,
                count=len(found),
                has_more=end < len(found),
                next_cursor=encode_cursor(end) if end < len(found) else None,
                matched=matched,  # type: ignore[arg-type]
            )
        )

    @tool(
        server,
        "semantic_search",
        "Search entities by meaning, with cosine similarities. `mode` in the result is semantic "
        "if an embedding model compared texts, or lexical if spelling was compared. hybrid_search "
        "adds the search by words, fused by rank. The default of min_similarity is the model's own "
        "threshold.",
        READS,
        SemanticResult,
    )
    def semantic_search(  # noqa: PLR0913 - the tool's own parameters
        query: _Query,
        limit: Annotated[int, Meta(ge=1, le=100)] = 10,
        min_similarity: Confidence | None = None,
        entity_types: list[EntityType] | None = None,
        hybrid_search: bool = True,
        semantic_weight: Annotated[
            Confidence, "Weight of similarity; the rest is the weight of matching words."
        ] = 0.3,
        asOf: AsOf = None,
        fuse: Annotated[
            Literal["rrf", "weighted"], "Fuse by rank in both lists, or by scores."
        ] = "rrf",
        explain: Annotated[bool, "Explain each score."] = False,
    ) -> ToolResult:
        if memory.vectors is not None:
            # So that recent changes are found too.
            memory.vectors.catch_up_briefly()
        query_options = SemanticQuery(
            query,
            limit,
            min_similarity,
            tuple(entity_types or ()),
            semantic_weight if hybrid_search else 1.0,
            fuse == "rrf",
            explain,
        )
        with memory.store.reading() as reader:
            view = view_at(reader, asOf, ANY_TIME)
            return answer(Search(memory, reader, view).run(query_options))

    @tool(
        server,
        "get_entity_embedding",
        "The embedding of an entity and the name of its model: the mean of the vectors of its "
        "observations. Searches compare the vectors of single observations.",
        READS,
        Embedding,
    )
    def get_entity_embedding(entity_name: Name) -> ToolResult:
        if not memory.compares:
            raise ToolError("Embeddings are off (--embeddings off)")
        with memory.store.reading() as reader:
            name = require_entity(reader, normalize(entity_name), ANY_TIME)
            known = reader.searched_texts(name)
        assert known is not None
        texts = [one.text for one in passages_of(name, known.kind, known.contents)]
        if memory.vectors is None:
            grams = HashedNgrams()
            [vector] = grams.embed(["\n".join(texts)])
            model, mode = grams.name, "lexical"
        else:
            total = memory.vectors.embed(texts).sum(axis=0)
            vector = (total / math.sqrt(float(total @ total))).tolist()
            model, mode = memory.vectors.embedder.name, "semantic"
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
