"""Build the server: tools, resources and prompts for one namespace of one file."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from dovetail import Options, Server
from dovetail_graph.debug_tools import add_debug_tools
from dovetail_graph.embedding_worker import EmbeddingWorker
from dovetail_graph.export_folder import ExportFolder
from dovetail_graph.graph_prompts import add_graph_prompts
from dovetail_graph.graph_resources import add_graph_resources, notify_changes
from dovetail_graph.history_tools import add_history_tools
from dovetail_graph.maintenance_tools import add_maintenance_tools
from dovetail_graph.memory import Memory
from dovetail_graph.merged_tools import add_merged_tools
from dovetail_graph.read_tools import add_read_tools
from dovetail_graph.search_tools import add_search_tools
from dovetail_graph.sqlite_store import SqliteStore
from dovetail_graph.time_tools import add_time_tools
from dovetail_graph.toolbox import Toolbox
from dovetail_graph.vector_search import VectorSearch
from dovetail_graph.vocabulary import Vocabulary
from dovetail_graph.write_tools import add_write_tools
from dovetail_serverkit.embedding import find_embedder
from dovetail_serverkit.tool_sets import ToolSet

__all__ = ["NGRAMS", "GraphOptions", "build_server"]

# Value of --embeddings: compare spelling even if a model is installed.
NGRAMS = "ngrams"
_POLL_INTERVAL = 0.25
_PAGE = 100

_INSTRUCTIONS = (
    "Memory that persists between conversations: entities with observations, and relations between "
    "them. Search before you record. Record one fact per observation. Nothing is overwritten: "
    "earlier states can be read. Times are ISO 8601, milliseconds since 1970 or 'now'. asOf reads "
    "what is known about a time; 'ever' includes what is deleted. atomic: all items or none. "
    "Pass nextCursor as cursor while hasMore. maxChars limits the whole answer."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphOptions:
    """Options of the server."""

    namespace: str = "default"
    # auto, off, ngrams, or the name of an installed model.
    embeddings: str = "auto"
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    debug_tools: bool = False
    # Which tools are listed; all can be called.
    tools: ToolSet = "default"
    # Allow purge if the client cannot ask the user for confirmation.
    purge_unasked: bool = False


def build_server(database: Path, options: GraphOptions | None = None) -> Server:
    """Return a server for the graph in this file."""
    options = options or GraphOptions()
    is_spelling = options.embeddings == NGRAMS
    embedder = None if is_spelling else find_embedder(options.embeddings, [NGRAMS])
    store = SqliteStore(database, options.namespace)
    memory = Memory(
        store,
        options.namespace,
        options.vocabulary,
        None if embedder is None else VectorSearch(store, embedder),
        compares=options.embeddings != "off",
        purge_unasked=options.purge_unasked,
    )
    server = Server(
        "graph",
        version="1.0.0",
        title="Memory",
        description="Entities, relations and observations with time and confidence.",
        instructions=_INSTRUCTIONS,
        lifespan=lambda server: _serving(server, memory),
        # A list is part of every conversation; structured results are sent and validated anyway.
        options=Options(page_size=_PAGE, list_output_schemas=False),
    )
    tools = Toolbox(server, options.tools)
    add_write_tools(tools, memory)
    add_read_tools(tools, memory)
    add_search_tools(tools, memory)
    add_history_tools(tools, memory)
    add_time_tools(tools, memory)
    add_maintenance_tools(tools, memory, ExportFolder(database, options.namespace))
    add_merged_tools(tools, memory)
    if options.debug_tools:
        add_debug_tools(tools, memory)
    add_graph_resources(server, memory)
    add_graph_prompts(server, memory, options.tools)
    return server


@contextlib.asynccontextmanager
async def _serving(server: Server, memory: Memory) -> AsyncIterator[None]:
    notifier = asyncio.create_task(notify_changes(server, memory, _POLL_INTERVAL))
    worker = None if memory.vectors is None else EmbeddingWorker(memory.vectors)
    if worker is not None:
        worker.start()
    try:
        yield
    finally:
        notifier.cancel()
        await asyncio.gather(notifier, return_exceptions=True)
        if worker is not None:
            await asyncio.to_thread(worker.stop)
        await asyncio.to_thread(memory.store.close)
