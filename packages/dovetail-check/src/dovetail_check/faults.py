"""Faults: internal errors of the checker. They never affect a verdict about the server."""

from __future__ import annotations

import traceback

from msgspec import Struct

__all__ = ["Fault", "fault_of"]


class Fault(Struct, frozen=True):
    """An internal error; the rest of the report is valid."""

    where: str
    error: str
    # The traceback, for a bug report.
    trace: str = ""


def fault_of(where: str, error: Exception) -> Fault:
    """Make a fault from an exception."""
    trace = "".join(traceback.format_exception(error))
    return Fault(where, f"{type(error).__name__}: {error}", trace)
