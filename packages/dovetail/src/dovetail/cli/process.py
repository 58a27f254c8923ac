"""What a process that serves needs on any transport.

It ends although a handler does not, collects garbage rarely, and with `--reload` notices changed
files.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
from pathlib import Path

__all__ = ["ExitDeadline", "take_snapshot", "tune_gc", "wait_for_change"]

# Seconds after the grace period. Cancelled calls have some of it to end.
_EXTRA_SECONDS = 0.7
_EXIT_CODE = 1


class ExitDeadline:
    """A thread that ends the process some time after the shutdown began.

    A handler that ignores its cancellation, or blocks the event loop, would keep it alive.
    """

    def __init__(self, grace: float) -> None:
        self._seconds = grace + _EXTRA_SECONDS
        self._is_started = False
        self._is_over = threading.Event()

    def start(self) -> None:
        """Start the countdown; may be called twice, and in a signal handler."""
        if not self._is_started:
            self._is_started = True
            threading.Thread(target=self._end, name="dovetail-exit", daemon=True).start()

    def close(self) -> None:
        """Stop the countdown: the server has stopped."""
        self._is_over.set()

    def _end(self) -> None:
        if self._is_over.wait(self._seconds):
            return
        place = _main_thread_position()
        text = f"dovetail: a handler did not end within {self._seconds:g} s of the shutdown"
        # Not `print`: the main thread may hold the lock of the stream.
        os.write(2, f"{text}; exiting at {place}\n".encode(errors="replace"))
        stdio = sys.modules.get("dovetail.client.stdio")
        if stdio is not None:
            # Nobody else will end the servers that this process has started.
            stdio.kill_servers()
        os._exit(_EXIT_CODE)


def _main_thread_position() -> str:
    """The line that the main thread runs; with a blocked event loop, a line of the handler."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    return "an unknown line" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


# Thresholds of the three generations, see `gc.set_threshold`.
_GENERATION_0 = 20_000
_GENERATION_1 = 20
_GENERATION_2 = 50


def tune_gc() -> None:
    """Exclude loaded objects from garbage collection, and collect less often."""
    gc.freeze()
    gc.set_threshold(_GENERATION_0, _GENERATION_1, _GENERATION_2)


# Seconds between two scans of a folder.
_SCAN_INTERVAL = 0.25
_IGNORED = frozenset({"__pycache__", "node_modules", "site-packages"})


async def wait_for_change(folder: Path, before: dict[str, int]) -> str:
    """Wait until the files differ from a snapshot; returns the name of one that does."""
    while (now := take_snapshot(folder)) == before:
        await asyncio.sleep(_SCAN_INTERVAL)
    return min(name for name, _ in now.items() ^ before.items())


def take_snapshot(folder: Path) -> dict[str, int]:
    """The modification times of all Python files below a folder, without hidden folders."""
    found: dict[str, int] = {}
    for place, folders, files in os.walk(folder):
        folders[:] = [
            name
            for name in folders
            if name not in _IGNORED
            and not name.startswith(".")
            # Skip virtual environments, whatever their name.
            and not os.path.exists(os.path.join(place, name, "pyvenv.cfg"))
        ]
        for name in files:
            if name.endswith(".py"):
                path = os.path.join(place, name)
                try:
                    found[path] = os.stat(path).st_mtime_ns
                except FileNotFoundError:
                    continue  # deleted since it was listed
    return found
