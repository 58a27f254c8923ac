"""MCP server for a knowledge graph: entities, relations and observations with time and confidence.

All data is in one SQLite file. `storage` defines the store interface and `sqlite_*` implements it.
`timestamps`, `decay`, `vocabulary` and `ngrams` do no I/O; `vector_search` uses an embedding model;
the `*_tools` modules define the tools.
"""

from dovetail_graph.server import GraphOptions, build_server

__all__ = ["GraphOptions", "build_server"]
