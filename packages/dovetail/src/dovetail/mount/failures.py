"""Errors of mounted servers that the mount knows."""

from __future__ import annotations

from dovetail.errors import ToolError

__all__ = ["UnavailableError"]


class UnavailableError(ToolError):
    """A mounted server cannot be reached; the code that raises this has logged it."""
