"""Tools that search: search_nodes, semantic_search, get_entity_embedding."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from dovetail import ToolError, ToolResult
from dovetail_graph.answers import answer
from dovetail_graph.inputs import HIDDEN, MAX_CHARS, AsOf, Confidence, bounded
from dovetail_graph.memory import Memory, require_entity, view_at
from dovetail_graph.ngrams import HashedNgrams
from dovetail_graph.passages import passages_of
from dovetail_graph.read_tools import limit_of
from dovetail_graph.records import RelationRecord
from dovetail_graph.rendering import (
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
from dovetail_graph.toolbox import Toolbox
from dovetail_serverkit.answer_size import AnswerBudget
from dovetail_serverkit.tool_descriptions import READS

__all__ = ["add_search_tools"]

_MAX_QUERY = 2_000
_MAX_COUNTED = 200
# Characters of a hit besides its entity.
_HIT = 100


def add_search_tools(tools: Toolbox, memory: Memory) -> None:
    """Register the tools."""

    @tools.add(
        "search_nodes",
        "Search names, types and observations; best first. match: words (all of them in any "
        "inflection, else some), prefix, fuzzy (spelling), exact (a whole text). Finds facts that "
        "have ended too, marked and ranked lower.",
        READS,
        NodesFound,
    )
    def search_nodes(  # noqa: PLR0913 - the tool's own parameters
        query: str,
        entity_types: list[str] | None = None,
        match: Literal["words", "prefix", "fuzzy", "exact"] = "words",
        limit: int = 20,
        cursor: str | None = None,
        asOf: AsOf = None,
        relationTypes: Annotated[list[str] | None, HIDDEN] = None,
        maxObservations: Annotated[int, HIDDEN] = 5,
        maxChars: Annotated[int, HIDDEN] = MAX_CHARS,
    ) -> ToolResult:
        query, limit = _check_query(query), bounded(limit, 1, 200)
        most_chars = limit_of(maxChars)
        skip = int(decode_cursor(cursor, int) or 0)
        with memory.store.reading() as reader:
            view = view_at(reader, asOf, ANY_TIME)
            # A first page needs only the best; filters and later pages need more.
            is_first = not (skip or entity_types or relationTypes)
            most = max(_MAX_COUNTED, limit + 1) if is_first else MAX_FOUND
            found, matched = find_entities(reader, view, query, match, most)
            found = filter_matches(reader, view, found, entity_types, relationTypes)
            page = found[skip : skip + limit]
            budget = AnswerBudget(most_chars, _HIT)
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
            ),
            most_chars,
        )

    @tools.add(
        "semantic_search",
        "Search by meaning, and by words unless hybrid_search is false. `mode` in the answer: "
        "semantic, or lexical if there is no embedding model.",
        READS,
        SemanticResult,
    )
    def semantic_search(  # noqa: PLR0913 - the tool's own parameters
        query: str,
        limit: int = 10,
        min_similarity: Confidence | None = None,
        entity_types: list[str] | None = None,
        hybrid_search: bool = True,
        semantic_weight: Confidence = 0.3,
        asOf: AsOf = None,
        fuse: Annotated[Literal["rrf", "weighted"], HIDDEN] = "rrf",
        explain: Annotated[bool, HIDDEN] = False,
        maxChars: Annotated[int, HIDDEN] = MAX_CHARS,
    ) -> ToolResult:
        if memory.vectors is not None:
            # So that recent changes are found too.
            memory.vectors.catch_up_briefly()
        asked = SemanticQuery(
            _check_query(query),
            bounded(limit, 1, 100),
            min_similarity,
            tuple(entity_types or ()),
            semantic_weight if hybrid_search else 1.0,
            fuse == "rrf",
            explain,
            limit_of(maxChars),
        )
        with memory.store.reading() as reader:
            view = view_at(reader, asOf, ANY_TIME)
            return answer(Search(memory, reader, view).run(asked), asked.max_chars)

    @tools.add(
        "get_entity_embedding",
        "The embedding of an entity: the mean of its observations' vectors.",
        READS,
        Embedding,
    )
    def get_entity_embedding(entity_name: str) -> ToolResult:
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


def _check_query(query: str) -> str:
    """Return the query. Raises ToolError if it is empty or too long."""
    if not query or len(query) > _MAX_QUERY:
        raise ToolError(f"query must have 1 to {_MAX_QUERY} characters, got {len(query)}")
    return query


def _is_wanted(relation: RelationRecord, kinds: list[str] | None) -> bool:
    return not kinds or relation.key.kind in kinds
