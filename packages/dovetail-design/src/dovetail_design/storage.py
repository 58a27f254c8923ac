"""What the tools ask of a store. Another database is another implementation of this.

A reading sees one whole state; a writing is all or nothing and sees what it has written. Reader
and Writer are only good inside their `with`. States are plain data: a store knows no element.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = [
    "NOBODY",
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
# an `id`. Whatever else the model adds is kept as it is.
State = dict[str, Any]

# Who owns what was made without a principal.
NOBODY = ""


@dataclass(frozen=True, slots=True)
class DesignRecord:
    """A design as lists show it."""

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
    # 0: not in the trash.
    deleted: int = 0
    is_template: bool = False
    category: str = ""
    # Of a template: the slots as its author described them, as JSON.
    slots: str = ""


@dataclass(frozen=True, slots=True)
class VersionRecord:
    """One version: what made it, and where undo and redo lead from it."""

    number: int
    at: int
    action: str
    detail: str
    by: str
    label: str
    # The version of the line of edits that this state is; itself, but for undo and redo.
    stands_at: int
    # What the version in `stands_at` is undone to; 0: nothing.
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
    """A file that was made of a design."""

    id: str
    design: str
    version: int
    name: str
    mime_type: str
    size: int
    digest: str
    created: int
    owner: str = NOBODY


@dataclass(frozen=True, slots=True)
class Page:
    """A stretch of a list, and how long the whole is."""

    items: Sequence[Any]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignQuery:
    """Which designs, newest change first."""

    # None: everybody's. Others' designs only where they are PUBLIC.
    viewer: str | None = None
    search: str = ""
    category: str = ""
    is_template: bool = False
    in_trash: bool = False
    skip: int = 0
    limit: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetQuery:
    """Which assets, newest first."""

    viewer: str | None = None
    kind: str = ""
    skip: int = 0
    limit: int = 20


class Reader(Protocol):
    """One state of everything."""

    def design(self, id: str) -> DesignRecord | None:
        """A design, also one in the trash."""

    def designs(self, query: DesignQuery) -> Page:
        """DesignRecords."""

    def ids_starting_with(self, prefix: str, viewer: str | None, limit: int) -> list[str]:
        """Ids of designs, for completion."""

    def state(self, id: str, version: int | None = None) -> State | None:
        """A design as it is, or as it was at a version."""

    def versions(self, id: str, before: int | None = None, limit: int = 50) -> list[VersionRecord]:
        """Versions, the newest first."""

    def version(self, id: str, number: int) -> VersionRecord | None:
        """One version."""

    def labelled(self, id: str, label: str) -> VersionRecord | None:
        """The newest version with this label."""

    def asset(self, id: str) -> AssetRecord | None:
        """An asset."""

    def assets(self, query: AssetQuery) -> Page:
        """AssetRecords."""

    def export(self, id: str) -> ExportRecord | None:
        """A file that was made of a design."""

    def is_blob_used(self, digest: str) -> bool:
        """Whether an asset or an export has this content."""

    def asset_bytes(self) -> int:
        """How much all assets take."""

    def last_change(self) -> int:
        """The number of the last change of anything."""

    def changed_since(self, sequence: int, limit: int) -> list[tuple[int, str]]:
        """Changes after this one: their number and the design's id, or "assets"."""


class Writer(Reader, Protocol):
    """A change, all or nothing."""

    def now(self) -> int:
        """The moment of this change, after all before."""

    def add_design(self, record: DesignRecord, state: State, by: str) -> DesignRecord:
        """A new design at version 1."""

    def add_version(self, record: DesignRecord, state: State, version: VersionRecord) -> int:
        """A new version; its number. `version.number`, `at` are set by the store."""

    def set_label(self, id: str, number: int, label: str) -> None:
        """Name a version."""

    def describe(self, record: DesignRecord) -> None:
        """Visibility, trash and what makes a template: what is no part of a version."""

    def erase_design(self, id: str) -> list[str]:
        """A design with all its versions and exports, for good; the contents the exports had."""

    def add_asset(self, record: AssetRecord) -> None:
        """An uploaded file; its content is in the blob folder already."""

    def add_export(self, record: ExportRecord) -> None:
        """A file made of a design; its content is in the blob folder already."""

    def drop_exports(self, kept: int) -> list[str]:
        """All but the newest so many; the contents they had."""


class DesignStore(Protocol):
    """A store of designs."""

    def reading(self) -> AbstractContextManager[Reader]:
        """Look at one whole state."""

    def writing(self) -> AbstractContextManager[Writer]:
        """Change it, all or nothing."""

    def close(self) -> None:
        """Let go of it."""
