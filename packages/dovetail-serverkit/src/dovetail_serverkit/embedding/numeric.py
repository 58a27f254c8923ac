"""Import numpy with single-threaded matrix products.

With few, busy cores, several threads wait for each other: with two threads the model was measured
to be ten times slower. The environment variables are read only while the library loads, so they
are set for that moment. Loading takes a tenth of a second; import this module inside functions, so
that it loads when the first text is embedded and not at server startup.
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
