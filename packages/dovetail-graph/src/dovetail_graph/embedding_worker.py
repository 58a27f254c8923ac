"""Computes missing vectors in a background thread with low priority."""

from __future__ import annotations

import contextlib
import os
import threading

from dovetail import ToolError
from dovetail_graph.vector_search import VectorSearch

__all__ = ["EmbeddingWorker"]

_PAUSE = 0.25
# After a failure, for example when the disk is full.
_LONG_PAUSE = 30.0
# Yields to threads that serve requests, but still makes progress on a busy machine.
_NICE = 5


class EmbeddingWorker:
    """Keeps vectors up to date until it is stopped."""

    def __init__(self, vectors: VectorSearch) -> None:
        self._vectors = vectors
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="graph-vectors", daemon=True)

    def start(self) -> None:
        """Start the thread; it also embeds entities that already exist."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread after its current batch."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        # On Linux each thread has its own priority.
        if hasattr(os, "setpriority"):
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        pause = 0.0
        while not self._stopped.wait(pause):
            try:
                pause = 0.0 if self._vectors.catch_up() else _PAUSE
            except ToolError:
                # Searches report the error to the client; here, only retry.
                pause = _LONG_PAUSE
