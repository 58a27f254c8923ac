"""Text embeddings for the ready-made servers that search.

Nothing is downloaded at run time. Without an installed model there is no embedder, and the server
reports that its search was lexical.
"""

from dovetail_serverkit.embedding.discovery import GROUP, find_embedder
from dovetail_serverkit.embedding.embedder import Embedder, Vectors

__all__ = ["GROUP", "Embedder", "Vectors", "find_embedder"]
