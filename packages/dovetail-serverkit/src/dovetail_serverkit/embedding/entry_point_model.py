"""A model from another package's entry point, with its attributes and results validated."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint
from typing import Any

from dovetail import UsageError
from dovetail_serverkit.embedding.embedder import Vectors

__all__ = ["EntryPointModel"]

_ATTRIBUTES = ("name", "dimensions", "min_similarity", "embed")


class EntryPointModel:
    """Wraps a foreign model: checks the shape of its vectors and scales them to unit length."""

    def __init__(self, point: EntryPoint) -> None:
        self._model: Any = point.load()()
        if missing := [name for name in _ATTRIBUTES if not hasattr(self._model, name)]:
            raise UsageError(
                f"The embedder {point.value!r} lacks required attributes: {', '.join(missing)}"
            )
        self.name = str(self._model.name)
        self.dimensions = int(self._model.dimensions)
        self.min_similarity = float(self._model.min_similarity)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a row per text."""
        from dovetail_serverkit.embedding.numeric import np  # noqa: PLC0415 - slow to load

        expected = (len(texts), self.dimensions)
        if not texts:
            return np.empty(expected, dtype=np.float32)
        vectors = np.asarray(self._model.embed(list(texts)), dtype=np.float32)
        if vectors.shape != expected or not np.isfinite(vectors).all():
            raise UsageError(
                f"The embedder {self.name} returned an array of shape {vectors.shape}; "
                f"expected finite numbers of shape {expected}"
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit_vectors: Vectors = vectors / np.maximum(lengths, np.float32(1e-12))
        return unit_vectors
