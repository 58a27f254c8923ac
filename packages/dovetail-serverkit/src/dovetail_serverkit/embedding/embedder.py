"""What a model is to those who search with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    # numpy comes with an extra, and a server that starts has no use for it yet.
    import numpy
    from numpy.typing import NDArray

__all__ = ["Embedder", "Vectors"]

Vectors: TypeAlias = "NDArray[numpy.float32]"


class Embedder(Protocol):
    """Makes vectors of length one, so that their product is their cosine."""

    # Names the model and its version: vectors of different names are never compared.
    name: str
    # How long a vector is.
    dimensions: int
    # From here on two texts are taken to be about the same, with this model.
    min_similarity: float

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A row per text, float32. Slow (milliseconds per text): call it in a thread."""
