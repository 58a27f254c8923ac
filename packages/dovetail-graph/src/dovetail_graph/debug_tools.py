"""Tools for debugging the server; registered only with --debug-tools."""

from __future__ import annotations

from dovetail import ToolError, ToolResult
from dovetail_graph.memory import Memory, require_entity
from dovetail_graph.ngrams import HashedNgrams
from dovetail_graph.passages import passages_of
from dovetail_graph.storage import Page, Reader
from dovetail_graph.text_normalization import normalize
from dovetail_graph.timestamps import ANY_TIME, View
from dovetail_graph.toolbox import Toolbox
from dovetail_graph.vector_search import SimilarEntity, VectorSearch
from dovetail_serverkit.embedding import GROUP
from dovetail_serverkit.tool_descriptions import CHANGES, READS

__all__ = ["add_debug_tools"]


def add_debug_tools(tools: Toolbox, memory: Memory) -> None:
    """Register the tools."""

    @tools.add("force_generate_embedding", "Compute the vectors of an entity again.", CHANGES, None)
    def force_generate_embedding(entity_name: str) -> ToolResult:
        vectors = _required(memory)
        with memory.store.reading() as reader:
            name = require_entity(reader, normalize(entity_name), ANY_TIME)
        count = vectors.recompute(name)
        found = {"entityName": name, "model": vectors.embedder.name, "vectors": count}
        return ToolResult(structured={**found, "dimensions": vectors.embedder.dimensions})

    @tools.add(
        "debug_embedding_config",
        "Which embedding model is used, and the entry point group for others.",
        READS,
        None,
    )
    def debug_embedding_config() -> ToolResult:
        if memory.vectors is None:
            used = HashedNgrams.name if memory.compares else "off"
            found = {"embeddings": used, "kind": "lexical" if memory.compares else "off"}
            return ToolResult(structured={**found, "entryPointGroup": GROUP})
        embedder = memory.vectors.embedder
        return ToolResult(
            structured={
                "embeddings": embedder.name,
                "kind": "semantic",
                "dimensions": embedder.dimensions,
                "minSimilarity": embedder.min_similarity,
                "entryPointGroup": GROUP,
            }
        )

    @tools.add(
        "diagnose_vector_search",
        "Check that a vector search for an entity's own text finds it.",
        READS,
        None,
    )
    def diagnose_vector_search() -> ToolResult:
        vectors = _required(memory)
        with memory.store.reading() as reader:
            view = View(reader.now())
            name = next((one.name for one in reader.entities(view, Page(limit=1))), None)
            similar = [] if name is None else _find_itself(reader, vectors, name)
            return ToolResult(
                structured={
                    "entities": reader.count_entities(view),
                    "withoutVectors": vectors.count_missing(reader),
                    "probe": name,
                    "found": similar[0].name if similar else None,
                    "similarity": round(similar[0].similarity, 6) if similar else None,
                }
            )


def _find_itself(reader: Reader, vectors: VectorSearch, name: str) -> list[SimilarEntity]:
    texts = reader.searched_texts(name)
    if texts is None:
        return []
    [vector] = vectors.embed([passages_of(name, texts.kind, texts.contents)[0].text])
    return vectors.find(reader, vector, 0.0, 1, set)


def _required(memory: Memory) -> VectorSearch:
    if memory.vectors is None:
        raise ToolError("No embedding model is in use; debug_embedding_config shows what is")
    return memory.vectors
