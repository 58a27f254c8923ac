"""Tools for whoever looks after the server; offered with --debug-tools alone."""

from __future__ import annotations

from typing import Any

from dovetail import Server, ToolError, ToolResult
from dovetail_graph.answers import describe
from dovetail_graph.inputs import Name
from dovetail_graph.meaning import Likeness, Meaning
from dovetail_graph.memory import Memory, require_entity
from dovetail_graph.moments import View
from dovetail_graph.ngrams import HashedNgrams
from dovetail_graph.passages import passages_of
from dovetail_graph.results import Embedding
from dovetail_graph.storage import Page, Reader
from dovetail_graph.text_rules import normalize
from dovetail_serverkit.describing import CHANGES, READS
from dovetail_serverkit.embedding import GROUP

__all__ = ["add_debug_tools"]

_ANY = {"type": "object"}


def _describe(name: str, text: str) -> dict[str, Any]:
    return {**describe(name, text, READS, Embedding), "output_schema": _ANY}


def add_debug_tools(server: Server, memory: Memory) -> None:
    """Register them."""

    @server.tool(
        **{
            **_describe("force_generate_embedding", "Make the vector of an entity anew."),
            "annotations": CHANGES,
        }
    )
    def force_generate_embedding(entity_name: Name) -> ToolResult:
        meaning = _required(memory)
        with memory.store.reading() as reader:
            name = require_entity(reader, normalize(entity_name), View(reader.now()))
        made = meaning.make_anew(name)
        found = {"entityName": name, "model": meaning.embedder.name, "vectors": made}
        return ToolResult(structured={**found, "dimensions": meaning.embedder.dimensions})

    @server.tool(
        **_describe("debug_embedding_config", "Which embedder is used, and where others would be.")
    )
    def debug_embedding_config() -> ToolResult:
        if memory.meaning is None:
            used = HashedNgrams.name if memory.compares else "off"
            found = {"embeddings": used, "kind": "lexical" if memory.compares else "off"}
            return ToolResult(structured={**found, "entryPointGroup": GROUP})
        embedder = memory.meaning.embedder
        return ToolResult(
            structured={
                "embeddings": embedder.name,
                "kind": "semantic",
                "dimensions": embedder.dimensions,
                "minSimilarity": embedder.min_similarity,
                "entryPointGroup": GROUP,
            }
        )

    @server.tool(
        **_describe("diagnose_vector_search", "Search for an entity by its own text: is it found?")
    )
    def diagnose_vector_search() -> ToolResult:
        meaning = _required(memory)
        with memory.store.reading() as reader:
            view = View(reader.now())
            name = next((one.name for one in reader.entities(view, Page(limit=1))), None)
            alike = [] if name is None else _find_itself(reader, meaning, name)
            return ToolResult(
                structured={
                    "entities": reader.count_entities(view),
                    "withoutVectors": meaning.count_missing(reader),
                    "probe": name,
                    "found": alike[0].name if alike else None,
                    "similarity": round(alike[0].similarity, 6) if alike else None,
                }
            )


def _find_itself(reader: Reader, meaning: Meaning, name: str) -> list[Likeness]:
    texts = reader.searched_texts(name)
    if texts is None:
        return []
    [vector] = meaning.embed([passages_of(name, *texts)[0].text])
    return meaning.find(reader, vector, 0.0, 1, set)


def _required(memory: Memory) -> Meaning:
    if memory.meaning is None:
        raise ToolError("No model compares texts here; debug_embedding_config says what does")
    return memory.meaning
