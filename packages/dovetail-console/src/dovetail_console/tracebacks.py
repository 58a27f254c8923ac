"""The tracebacks of failed calls, for the page of `dovetail dev`.

A client gets a reference to the log. Whoever writes the server sees on the page what the log says,
from the first frame of their own code on.
"""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from pathlib import Path
from traceback import FrameSummary, StackSummary, TracebackException

import dovetail

__all__ = ["Tracebacks", "format_own"]

_MAX_KEPT = 50
_MAX_CHARS = 64_000
_REFERENCE = re.compile(r"reference ([0-9a-f]{8})")
_FRAMEWORK = str(Path(dovetail.__file__).parent)


class Tracebacks(logging.Handler):
    """Keeps the last tracebacks that the server logs, by their references."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._texts: OrderedDict[str, str] = OrderedDict()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the traceback of a record."""
        error = record.exc_info[1] if record.exc_info else None
        found = _REFERENCE.search(record.getMessage())
        if error is None or found is None:
            return
        self._texts[found[1]] = format_own(error)[-_MAX_CHARS:]
        while len(self._texts) > _MAX_KEPT:
            self._texts.popitem(last=False)

    def find(self, reference: str) -> str | None:
        """The traceback with this reference."""
        return self._texts.get(reference)


def format_own(error: BaseException) -> str:
    """The traceback of an error, without the frames of the framework at its start."""
    found = TracebackException.from_exception(error)
    _strip(found)
    return "".join(found.format())


def _strip(found: TracebackException | None) -> None:
    while found is not None:
        frames = list(found.stack)
        own = next((n for n, frame in enumerate(frames) if not _is_framework(frame)), 0)
        found.stack = StackSummary.from_list(frames[own:])
        for inner in getattr(found, "exceptions", None) or ():
            _strip(inner)
        found = found.__cause__ or found.__context__


def _is_framework(frame: FrameSummary) -> bool:
    return frame.filename.startswith(_FRAMEWORK)
