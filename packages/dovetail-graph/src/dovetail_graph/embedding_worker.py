"""Vectors are made beside the calls, in a thread of a low priority."""

from __future__ import annotations

import contextlib
import os
import threading

from dovetail import ToolError
from dovetail_graph.meaning import Meaning

__all__ = ["Background"]

_PAUSE = 0.25
# After a failure, for example where the disk is full.
_LONG_PAUSE = 30.0
# Behind whoever waits for an answer, and not starved where a machine is always busy.
_NICE = 5


class Background:
    """Keeps vectors up to date until it is stopped."""

    def __init__(self, meaning: Meaning) -> None:
        self._meaning = meaning
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, name="graph-vectors", daemon=True)

    def start(self) -> None:
        """Begin; what is there already is seen to as well."""
        self._thread.start()

    def stop(self) -> None:
        """Let the turn end that is under way."""
        self._stopped.set()
        self._thread.join()

    def _work(self) -> None:
        # On Linux a thread has a priority of its own.
        if hasattr(os, "setpriority"):
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        pause = 0.0
        while not self._stopped.wait(pause):
            try:
                pause = 0.0 if self._meaning.catch_up() else _PAUSE
            except ToolError:
                # Whoever searches is told; here it is only tried again.
                pause = _LONG_PAUSE
