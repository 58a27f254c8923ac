"""The interface of the store. Implement it to use another database.

A read transaction sees one snapshot; a write transaction is atomic and sees its own writes.
Reader and Writer are valid only inside their `with` block. States are plain data: a store does
not know about elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = [
    "ANONYMOUS",
    "AssetQuery",
    "AssetRecord",
    "DesignQuery",
    "DesignRecord",
    "DesignStore",
    "ExportRecord",
    "Page",
    "Reader",
    "State",
    "VersionRecord",
    "Writer",
]

# A design at one version: name, description, width, height, background and `elements`, each with
# an `id`. Other keys are kept as they are.
State = dict[str, Any]

# The owner of designs that were created without authentication.
ANONYMOUS = ""


@dataclass(frozen=True, slots=True)
class DesignRecord:
    """A design without its elements."""

    id: str
    name: str
    description: str
    visibility: str
    owner: str
    width: int
    height: int
    version: int
    elements: int
    # Microseconds since 1970.
    created: int
    updated: int
    # 0 if not in the trash.
    deleted: int = 0
    is_template: bool = False
    category: str = ""
    # For templates: the slots with their example values, as JSON.
    slots: str = ""


@dataclass(frozen=True, slots=True)
class VersionRecord:
    """A version: the action that created it, and where undo and redo lead from it."""

    number: int
    at: int
    action: str
    detail: str
    by: str
    label: str
    # The version whose state this is: its own number, except after undo and redo.
    stands_at: int
    # The version that undo leads to from `stands_at`; 0 for none.
    undo_to: int
    redo: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AssetRecord:
    """An uploaded file."""

    id: str
    name: str
    kind: str
    mime_type: str
    size: int
    digest: str
    owner: str
    created: int
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class ExportRecord:
    """An exported file."""

    id: str
    design: str
    version: int
    name: str
    mime_type: str
    size: int
    digest: str
    created: int
    owner: str = ANONYMOUS


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list, and the length of the whole list."""

    items: Sequence[Any]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignQuery:
    """Selects designs, last changed first."""

    # None: all designs. Otherwise the viewer's own and PUBLIC ones.
    viewer: str | None = None
    search: str = ""
    category: str = ""
    is_template: bool = False
    in_trash: bool = False
    skip: int = 0
    limit: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetQuery:
    """Selects assets, newest first."""

    viewer: str | None = None
    kind: str = ""
    skip: int = 0
    limit: int = 20


class Reader(Protocol):
    """A snapshot of the store."""

    def design(self, id: str) -> DesignRecord | None:
        """Return a design, including one in the trash."""

    def designs(self, query: DesignQuery) -> Page:
        """DesignRecords."""

    def ids_starting_with(self, prefix: str, viewer: str | None, limit: int) -> list[str]:
        """Return ids of designs, for completion."""

    def state(self, id: str, version: int | None = None) -> State | None:
        """Return the current state of a design, or that of a version."""

    def versions(self, id: str, before: int | None = None, limit: int = 50) -> list[VersionRecord]:
        """Return versions, newest first."""

    def version(self, id: str, number: int) -> VersionRecord | None:
        """One version."""

    def labelled(self, id: str, label: str) -> VersionRecord | None:
        """Return the newest version with this label."""

    def asset(self, id: str) -> AssetRecord | None:
        """An asset."""

    def assets(self, query: AssetQuery) -> Page:
        """AssetRecords."""

    def export(self, id: str) -> ExportRecord | None:
        """An exported file."""

    def is_blob_used(self, digest: str) -> bool:
        """Return whether an asset or an export has this content."""

    def asset_bytes(self) -> int:
        """Return the total size of all assets."""

    def last_change(self) -> int:
        """Return the number of the last change."""

    def changed_since(self, sequence: int, limit: int) -> list[tuple[int, str]]:
        """Return later changes: their number and the design's id, or "assets"."""


class Writer(Reader, Protocol):
    """A write transaction."""

    def now(self) -> int:
        """The time of this change, later than all before."""

    def add_design(self, record: DesignRecord, state: State, by: str) -> DesignRecord:
        """Add a design at version 1."""

    def add_version(self, record: DesignRecord, state: State, version: VersionRecord) -> int:
        """Add a version and return its number; `number` and `at` are set by the store."""

    def set_label(self, id: str, number: int, label: str) -> None:
        """Set the label of a version."""

    def describe(self, record: DesignRecord) -> None:
        """Update what is not part of a version: visibility, trash, template data."""

    def erase_design(self, id: str) -> list[str]:
        """Delete a design with its versions and exports; returns the digests of the exports."""

    def add_asset(self, record: AssetRecord) -> None:
        """Record an uploaded file; its content is already in the blob folder."""

    def add_export(self, record: ExportRecord) -> None:
        """Record an exported file; its content is already in the blob folder."""

    def drop_exports(self, kept: int) -> list[str]:
        """Delete all but the newest exports; returns their digests."""


class DesignStore(Protocol):
    """A store of designs."""

    def reading(self) -> AbstractContextManager[Reader]:
        """Open a read transaction."""

    def writing(self) -> AbstractContextManager[Writer]:
        """Open a write transaction."""

    def close(self) -> None:
        """Close the store."""
