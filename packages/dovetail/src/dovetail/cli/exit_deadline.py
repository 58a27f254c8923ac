"""Ends the process if a handler prevents its shutdown."""

from __future__ import annotations

import os
import sys
import threading

__all__ = ["ExitDeadline"]

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
        os._exit(_EXIT_CODE)


def _main_thread_position() -> str:
    """The line that the main thread runs; with a blocked event loop, a line of the handler."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    return "an unknown line" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
