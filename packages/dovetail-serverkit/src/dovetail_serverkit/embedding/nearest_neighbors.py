"""The rows of a matrix that are nearest to a vector: all of them are compared, none is missed.

Each number is kept in one byte, which is a quarter of the memory and, because less has to be read,
twice as fast as the plain product (100,000 rows of 384 numbers: 7 ms, 38 MB). The error of a
likeness is below 0.005, so who needs the last digits calculates them anew for the few at the top.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dovetail_serverkit.embedding.embedder import Vectors
from dovetail_serverkit.embedding.numeric import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Nearest"]

_BLOCK = 4_096
_FIRST = 256
_STEPS = 127


class Nearest:
    """Vectors of length one by number. Not for several threads at once."""

    def __init__(self, dimensions: int) -> None:
        self._rows: NDArray[np.int8] = np.empty((0, dimensions), dtype=np.int8)
        self._scales = np.empty(0, dtype=np.float32)
        self._keys: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, keys: Sequence[int], vectors: Vectors) -> None:
        """Add rows; their keys are new."""
        end = self._count + len(keys)
        self._make_room(end)
        largest = np.maximum(np.abs(vectors).max(axis=1, initial=0), np.float32(1e-12))
        part = slice(self._count, end)
        self._rows[part] = np.rint(vectors * (_STEPS / largest)[:, None])
        self._scales[part] = largest / _STEPS
        self._keys[part] = keys
        self._count = end

    def drop(self, keys: Sequence[int]) -> None:
        """Forget rows; others take their places."""
        is_kept = ~np.isin(self._keys[: self._count], np.asarray(keys, dtype=np.int64))
        kept = np.flatnonzero(is_kept)
        for array in (self._rows, self._scales, self._keys):
            array[: kept.size] = array[: self._count][kept]
        self._count = kept.size

    def _make_room(self, count: int) -> None:
        if count <= len(self._keys):
            return
        room = max(count, len(self._keys) * 3 // 2, 1_024)
        self._rows = np.resize(self._rows, (room, self._rows.shape[1]))
        self._scales = np.resize(self._scales, room)
        self._keys = np.resize(self._keys, room)

    def ranked(self, vector: Vectors) -> Iterator[list[tuple[int, float]]]:
        """Keys and likenesses, the nearest first, in portions that grow; stop when it is enough."""
        likenesses = self._compare(vector)
        keys = self._keys[: self._count].copy()
        order = np.empty(0, dtype=np.int64)
        done, portion = 0, _FIRST
        while done < keys.size:
            end = min(done + portion, keys.size)
            if end < keys.size:
                order = np.argpartition(-likenesses, end - 1)[:end]
            else:
                order = np.arange(keys.size)
            order = order[np.lexsort((keys[order], -likenesses[order]))]
            yield [(int(keys[at]), float(likenesses[at])) for at in order[done:end]]
            done, portion = end, portion * 4

    def _compare(self, vector: Vectors) -> Vectors:
        made = np.empty(self._count, dtype=np.float32)
        room = np.empty((min(_BLOCK, self._count), self._rows.shape[1]), dtype=np.float32)
        for start in range(0, self._count, _BLOCK):
            end = min(start + _BLOCK, self._count)
            block = room[: end - start]
            np.copyto(block, self._rows[start:end])
            np.dot(block, vector, out=made[start:end])
        made *= self._scales[: self._count]
        return made
