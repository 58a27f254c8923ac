"""The server: its tools, resources and prompts around one namespace of one file."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from dovetail import Options, Server
from dovetail_graph.background import Background
from dovetail_graph.debug_tools import add_debug_tools
from dovetail_graph.graph_prompts import add_graph_prompts
from dovetail_graph.graph_resources import add_graph_resources, follow
from dovetail_graph.history_tools import add_history_tools
from dovetail_graph.meaning import Meaning
from dovetail_graph.memory import Memory
from dovetail_graph.read_tools import add_read_tools
from dovetail_graph.search_tools import add_search_tools
from dovetail_graph.sqlite_store import SqliteStore
from dovetail_graph.time_tools import add_time_tools
from dovetail_graph.upkeep_tools import add_upkeep_tools
from dovetail_graph.vocabulary import Vocabulary
from dovetail_graph.write_tools import add_write_tools
from dovetail_serverkit.embedding import find_embedder

__all__ = ["NGRAMS", "GraphOptions", "build_server"]

# As --embeddings: by spelling, also where a model is installed.
NGRAMS = "ngrams"
_LOOK_EVERY = 0.25
_PAGE = 100

_INSTRUCTIONS = (
    "A memory that outlives the conversation: entities with observations, and relations between "
    "them. Search before you record (search_nodes, semantic_search), then open_nodes for detail. "
    "Record one fact per observation; recording a known relation again reinforces it. Nothing is "
    "overwritten: get_entity_history and get_graph_at_time show what was known when."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphOptions:
    """How a graph is served."""

    namespace: str = "default"
    # auto, off, ngrams, or the name of an installed model.
    embeddings: str = "auto"
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    debug_tools: bool = False
    # Let purge go ahead where the client cannot ask its user.
    purge_unasked: bool = False


def build_server(database: Path, options: GraphOptions | None = None) -> Server:
    """A server of the graph in this file."""
    options = options or GraphOptions()
    is_spelling = options.embeddings == NGRAMS
    embedder = None if is_spelling else find_embedder(options.embeddings, [NGRAMS])
    store = SqliteStore(database, options.namespace)
    memory = Memory(
        store,
        options.namespace,
        options.vocabulary,
        None if embedder is None else Meaning(store, embedder),
        compares=options.embeddings != "off",
        purge_unasked=options.purge_unasked,
    )
    server = Server(
        "graph",
        version="1.0.0",
        title="Memory",
        description="Entities, relations and observations that know when and how sure.",
        instructions=_INSTRUCTIONS,
        lifespan=lambda server: _serving(server, memory),
        options=Options(page_size=_PAGE),
    )
    add_write_tools(server, memory)
    add_read_tools(server, memory)
    add_search_tools(server, memory)
    add_history_tools(server, memory)
    add_time_tools(server, memory)
    add_upkeep_tools(
        server, memory, database.with_name(f"{database.stem}-exports") / options.namespace
    )
    if options.debug_tools:
        add_debug_tools(server, memory)
    add_graph_resources(server, memory)
    add_graph_prompts(server, memory)
    return server


@contextlib.asynccontextmanager
async def _serving(server: Server, memory: Memory) -> AsyncIterator[None]:
    follower = asyncio.create_task(follow(server, memory, _LOOK_EVERY))
    background = None if memory.meaning is None else Background(memory.meaning)
    if background is not None:
        background.start()
    try:
        yield
    finally:
        follower.cancel()
        await asyncio.gather(follower, return_exceptions=True)
        if background is not None:
            await asyncio.to_thread(background.stop)
        await asyncio.to_thread(memory.store.close)
