"""The interface of an embedding model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    # numpy is an optional dependency, and importing it would slow down server startup.
    import numpy
    from numpy.typing import NDArray

__all__ = ["Embedder", "Vectors"]

Vectors: TypeAlias = "NDArray[numpy.float32]"


class Embedder(Protocol):
    """Computes vectors of unit length, so that their dot product is their cosine similarity."""

    # Name of the model and its version; vectors of different models are never compared.
    name: str
    # Length of a vector.
    dimensions: int
    # With this model, texts with at least this cosine similarity count as related.
    min_similarity: float

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 row per text. Takes milliseconds per text: call it in a thread."""
