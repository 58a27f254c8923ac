"""numpy, with one thread for its matrix products.

On few and busy cores several threads wait for each other: measured, the model was ten times slower
with two. The number counts only while the library is being loaded, so it is set for that moment.
Loading takes a tenth of a second, and a server that starts needs none of it: who imports this
module does so when the first text is embedded.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

__all__ = ["np"]

_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in _THREADS}
    for name, value in before.items():
        os.environ[name] = value or "1"
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]


with _one_thread():
    import numpy as np
