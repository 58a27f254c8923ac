"""Backends for shared and durable state: `Backend` and its implementations."""

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
