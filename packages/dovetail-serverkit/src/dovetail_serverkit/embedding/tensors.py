"""Read a safetensors file as numpy arrays, without copying."""

from __future__ import annotations

import mmap
from collections.abc import Mapping

from dovetail_serverkit.embedding.embedder import Vectors
from dovetail_serverkit.embedding.numeric import np
from dovetail_serverkit.embedding.weights import Tensor

__all__ = ["read_tensors"]


def read_tensors(content: mmap.mmap, header: Mapping[str, Tensor]) -> dict[str, Vectors]:
    """Return every float32 array by its name."""
    return {
        name: np.frombuffer(
            content, dtype="<f4", count=(one.end - one.start) // 4, offset=one.start
        ).reshape(one.shape)
        for name, one in header.items()
        if one.kind == "F32"
    }
