"""Tools for whoever looks after the server; offered with --debug-tools alone."""

from __future__ import annotations

from typing import Any

from dovetail import Server, ToolError, ToolResult
from dovetail.servers.graph.answers import CHANGES, READS, describe
from dovetail.servers.graph.embedding import GROUP, Embedder, HashedNgrams, pack
from dovetail.servers.graph.inputs import Name
from dovetail.servers.graph.memory import Memory, require_entity
from dovetail.servers.graph.moments import View
from dovetail.servers.graph.results import Embedding
from dovetail.servers.graph.searching import find_alike, texts_of
from dovetail.servers.graph.text_rules import normalize

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
        embedder = _required(memory)
        with memory.store.writing() as writer:
            view = View(writer.now())
            name = require_entity(writer, normalize(entity_name), view)
            texts = texts_of(writer, view, [name])[name]
            [vector] = embedder.embed(["\n".join((name, *texts))])
            is_kept = not isinstance(embedder, HashedNgrams)
            if is_kept:
                stamp = writer.documents()[name]
                writer.keep_vectors(embedder.name, [(name, stamp, pack(vector))])
        found = {"entityName": name, "model": embedder.name, "dimensions": len(vector)}
        return ToolResult(structured={**found, "kept": is_kept})

    @server.tool(
        **_describe("debug_embedding_config", "Which embedder is used, and where others would be.")
    )
    def debug_embedding_config() -> ToolResult:
        embedder = memory.embedder
        if embedder is None:
            return ToolResult(structured={"embeddings": "off", "entryPointGroup": GROUP})
        return ToolResult(
            structured={
                "embeddings": embedder.name,
                "kind": embedder.kind,
                "minSimilarity": embedder.min_similarity,
                "entryPointGroup": GROUP,
            }
        )

    @server.tool(
        **_describe("diagnose_vector_search", "Search for an entity by its own text: is it found?")
    )
    def diagnose_vector_search() -> ToolResult:
        embedder = _required(memory)
        with memory.store.reading() as reader:
            stamps = reader.documents()
            kept = len(reader.vectors(embedder.name))
            name = next(iter(sorted(stamps)), None)
            alike = find_alike(reader, name, embedder, 1)[0] if name is not None else []
        return ToolResult(
            structured={
                "entities": len(stamps),
                "vectorsKept": kept,
                "probe": name,
                "found": alike[0].name if alike else None,
                "similarity": round(alike[0].similarity, 6) if alike else None,
            }
        )


def _required(memory: Memory) -> Embedder:
    if memory.embedder is None:
        raise ToolError("Embeddings are off (--embeddings off)")
    return memory.embedder
