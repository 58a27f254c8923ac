"""Ends the streams of mounted applications when the process gets SIGTERM or SIGINT.

An ASGI server waits until all responses are complete before it sends `lifespan.shutdown`. The
streams of clients that listen never complete, so the process would not exit. Signals are the only
way to notice the shutdown in time. The handlers of the host stay in charge: they are called after
ours.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from types import FrameType
from typing import Protocol
from weakref import WeakKeyDictionary

__all__ = ["end_streams_on_signal"]

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class _HasStreams(Protocol):
    def end_streams(self) -> None:
        """End the streams of clients that only listen."""


_apps: WeakKeyDictionary[_HasStreams, asyncio.AbstractEventLoop] = WeakKeyDictionary()
# The handlers of the host.
_previous: dict[int, object] = {}


def end_streams_on_signal(app: _HasStreams) -> None:
    """End the streams of an application on SIGTERM and SIGINT; only in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return
    _apps[app] = asyncio.get_running_loop()
    for number in _SIGNALS:
        current = signal.getsignal(number)
        # Without a handler of the host, the signal ends the process anyway.
        if current is not _end_streams and callable(current):
            _previous[number] = current
            signal.signal(number, _end_streams)


def _end_streams(number: int, frame: FrameType | None) -> None:
    for app, loop in list(_apps.items()):
        if not loop.is_closed():
            loop.call_soon_threadsafe(app.end_streams)
    previous = _previous.get(number)
    if callable(previous):
        previous(number, frame)
