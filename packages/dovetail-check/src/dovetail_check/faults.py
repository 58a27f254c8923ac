"""What went wrong in the checker itself: never a verdict about the server."""

from __future__ import annotations

import traceback

from msgspec import Struct

__all__ = ["Fault", "fault_of"]


class Fault(Struct, frozen=True):
    """The checker failed here; the rest of the report stands."""

    where: str
    error: str
    # What to send along when reporting it.
    trace: str = ""


def fault_of(where: str, error: Exception) -> Fault:
    """A fault, from what was raised."""
    trace = "".join(traceback.format_exception(error))
    return Fault(where, f"{type(error).__name__}: {error}", trace)
