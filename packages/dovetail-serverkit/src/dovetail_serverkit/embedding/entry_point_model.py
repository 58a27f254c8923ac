"""A model of another package, held to what is promised of one."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint
from typing import Any

from dovetail import UsageError
from dovetail_serverkit.embedding.embedder import Vectors

__all__ = ["Foreign"]

_ATTRIBUTES = ("name", "dimensions", "min_similarity", "embed")


class Foreign:
    """Checks the shape of what the model makes, and gives it length one."""

    def __init__(self, point: EntryPoint) -> None:
        self._model: Any = point.load()()
        if missing := [name for name in _ATTRIBUTES if not hasattr(self._model, name)]:
            raise UsageError(f"The embedder {point.value!r} has no {', '.join(missing)}")
        self.name = str(self._model.name)
        self.dimensions = int(self._model.dimensions)
        self.min_similarity = float(self._model.min_similarity)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A row per text."""
        from dovetail_serverkit.embedding.numeric import np  # noqa: PLC0415 - slow to load

        due = (len(texts), self.dimensions)
        if not texts:
            return np.empty(due, dtype=np.float32)
        made = np.asarray(self._model.embed(list(texts)), dtype=np.float32)
        if made.shape != due or not np.isfinite(made).all():
            raise UsageError(f"{self.name} made {made.shape}; {due} finite numbers were due")
        lengths = np.linalg.norm(made, axis=1, keepdims=True)
        normal: Vectors = made / np.maximum(lengths, np.float32(1e-12))
        return normal
