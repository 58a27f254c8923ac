"""Texts as vectors that compare by meaning, for the ready servers that search.

Nothing is downloaded at run time and nothing is made up: without an installed model there is no
embedder, and the server that asked says that it compared words.
"""

from dovetail_serverkit.embedding.embedder import Embedder, Vectors
from dovetail_serverkit.embedding.finding import GROUP, find_embedder

__all__ = ["GROUP", "Embedder", "Vectors", "find_embedder"]
