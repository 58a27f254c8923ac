"""A memory as a graph: entities, relations and observations that know when and how sure.

One SQLite file is the truth. `storage` says what a store can do and `sqlite_*` is the one there is;
`moments`, `decay`, `vocabulary` and `ngrams` are plain rules; `meaning` compares with a model; the
tools are on top.
"""

from dovetail_graph.server import GraphOptions, build_server

__all__ = ["GraphOptions", "build_server"]
