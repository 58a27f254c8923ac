"""`Handler`: an author's function and how to run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

__all__ = ["Handler", "Style"]


class Style(Enum):
    """Where a function runs."""

    ASYNC = "on the event loop, awaited"
    THREAD = "in a worker thread, because it may block"
    INLINE = "on the event loop, directly: the author says that it does not block"


@dataclass(frozen=True, slots=True)
class Handler:
    """A function and how to run it. `None` as a timeout means that of the server."""

    function: Callable[..., Any]
    style: Style
    label: str
    timeout: float | None = None
    idle_timeout: float | None = None
    # The label with the file and line of the function, for logs: "tool 'search' (weather.py:12)".
    where: str = ""
