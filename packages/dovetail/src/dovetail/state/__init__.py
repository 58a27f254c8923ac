"""Backends for shared and durable state: `Backend` and its implementations."""

from __future__ import annotations

import typing as _typing

from dovetail.state.backend import (
    ABSENT,
    Backend,
    Entry,
    Inbox,
    Lease,
    Limit,
    LogPage,
    Published,
    Refusal,
    Retention,
    Value,
)
from dovetail.state.memory import MemoryBackend

if _typing.TYPE_CHECKING:
    from dovetail.state.sqlite import SQLiteBackend

__all__ = [
    "ABSENT",
    "Backend",
    "Entry",
    "Inbox",
    "Lease",
    "Limit",
    "LogPage",
    "MemoryBackend",
    "Published",
    "Refusal",
    "Retention",
    "SQLiteBackend",
    "Value",
]


def __getattr__(name: str) -> _typing.Any:
    """Import SQLite when it is used: most servers do not."""
    if name != "SQLiteBackend":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dovetail.state.sqlite import SQLiteBackend  # noqa: PLC0415 - see above

    return SQLiteBackend
