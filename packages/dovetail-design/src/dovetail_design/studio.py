"""The context of all tools: the store, the files, access rules, and how changes are made."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from dovetail import Context, ToolError
from dovetail_design.blobs import BlobFolder
from dovetail_design.canvases import Canvas
from dovetail_design.folders import Folders
from dovetail_design.fonts import FontBook
from dovetail_design.render_pool import RenderPool
from dovetail_design.storage import (
    ANONYMOUS,
    DesignQuery,
    DesignRecord,
    DesignStore,
    Reader,
    State,
    VersionRecord,
    Writer,
)

__all__ = ["Caller", "Change", "Studio", "caller_of", "show_moment"]

_CANVAS = ("width", "height", "background")


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller: the owner of new designs, and which designs it sees."""

    owner: str = ANONYMOUS
    # The operator of the server sees everything.
    is_trusted: bool = False

    @property
    def viewer(self) -> str | None:
        """The viewer for queries of the store."""
        return None if self.is_trusted else self.owner


def caller_of(ctx: Context) -> Caller:
    """Return the caller that the guard authenticated."""
    principal = ctx.principal
    if principal is None:
        return Caller()
    return Caller(principal.id, principal.trusted)


def show_moment(microseconds: int) -> str:
    """Format a timestamp as ISO 8601."""
    moment = datetime.fromtimestamp(microseconds / 1_000_000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Change:
    """The result of a change."""

    record: DesignRecord
    state: State
    element_ids: list[str]
    # False if nothing differed, so that no version was written.
    is_new: bool = True
    # The canvas itself has changed, which may affect every element.
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Studio:
    """Designs and files, with access control."""

    store: DesignStore
    blobs: BlobFolder
    folders: Folders
    book: FontBook
    renderer: RenderPool = field(default_factory=RenderPool)

    def close(self) -> None:
        """Close the store and end the workers."""
        self.renderer.close()
        self.store.close()

    def find(
        self, reader: Reader, caller: Caller, id: str, *, in_trash: bool = False
    ) -> DesignRecord:
        """Return a design that the caller may see; others are reported as unknown."""
        record = reader.design(id)
        if record is None or not may_see(record, caller):
            raise ToolError(_explain_missing(reader, caller, id))
        if record.deleted and not in_trash:
            raise ToolError(
                f"The design {id!r} ({record.name!r}) is in the trash; design_history with action "
                '"restore" takes it out'
            )
        return record

    def find_to_change(
        self,
        reader: Reader,
        caller: Caller,
        id: str,
        if_version: int | None = None,
        *,
        in_trash: bool = False,
    ) -> DesignRecord:
        """Return a design that the caller owns, if it is at the expected version."""
        record = self.find(reader, caller, id, in_trash=in_trash)
        if not is_owner(record, caller):
            raise ToolError(
                f"The design {id!r} belongs to another user; duplicate_design creates your own copy"
            )
        if if_version is not None and if_version != record.version:
            raise ToolError(_explain_conflict(reader, record, if_version))
        return record

    def load(self, caller: Caller, id: str) -> tuple[DesignRecord, State]:
        """Return a design and its current state."""
        with self.store.reading() as reader:
            record = self.find(reader, caller, id)
            state = reader.state(id)
        assert state is not None
        return record, state

    def change(
        self,
        caller: Caller,
        id: str,
        action: str,
        edit: Callable[[Canvas], str],
        *,
        if_version: int | None = None,
        dry_run: bool = False,
        visibility: str | None = None,
    ) -> Change:
        """Change a design as one new version; `edit` returns a summary and may raise ToolError."""
        with self.store.writing() as writer:
            record = self.find_to_change(writer, caller, id, if_version)
            state = writer.state(id)
            assert state is not None
            canvas = Canvas(state, show_moment(writer.now()))
            detail = edit(canvas)
            after = canvas.state()
            touched = list(canvas.touched)
            is_whole = any(state.get(key) != after.get(key) for key in _CANVAS)
            if dry_run:
                return Change(record, after, touched, is_new=False, is_whole=is_whole)
            is_new = after != state
            if is_new:
                number = add_edit(writer, record, after, caller, action, detail)
                record = renumbered(record, after, number)
            if visibility is not None and visibility != record.visibility:
                is_new = True
                record = replace(record, visibility=visibility)
                writer.describe(record)
        return Change(record, after, touched, is_new=is_new, is_whole=is_whole)


def add_edit(
    writer: Writer, record: DesignRecord, state: State, caller: Caller, action: str, detail: str
) -> int:
    """Add a version that can be undone."""
    before = writer.version(record.id, record.version)
    undo_to = record.version if before is None else before.stands_at
    version = VersionRecord(0, 0, action, detail[:300], caller.owner, "", 0, undo_to, ())
    return writer.add_version(record, state, version)


def renumbered(record: DesignRecord, state: State, number: int) -> DesignRecord:
    """Return the record after a version was added."""
    return replace(
        record,
        version=number,
        name=state["name"],
        description=state.get("description", ""),
        width=state["width"],
        height=state["height"],
        elements=len(state["elements"]),
    )


def is_owner(record: DesignRecord, caller: Caller) -> bool:
    """Return whether the caller may change it."""
    return caller.is_trusted or record.owner == caller.owner


def may_see(record: DesignRecord, caller: Caller) -> bool:
    """Return whether the caller may see it; only the owner sees designs in the trash."""
    if is_owner(record, caller):
        return True
    return record.visibility != "PRIVATE" and not record.deleted


def _explain_missing(reader: Reader, caller: Caller, id: str) -> str:
    found = reader.designs(DesignQuery(viewer=caller.viewer, limit=200)).items
    by_name = [one.id for one in found if one.name.casefold() == id.casefold()]
    close = by_name or difflib.get_close_matches(id, [one.id for one in found], n=3)
    hint = f"; did you mean {', '.join(map(repr, close[:3]))}?" if close else ""
    return f"There is no design {id[:100]!r}{hint or '; list_designs lists them'}"


def _explain_conflict(reader: Reader, record: DesignRecord, given: int) -> str:
    if given > record.version:
        return (
            f"The design {record.id!r} is at version {record.version}; there is no version {given} "
            f"yet. Nothing was changed. Repeat with ifVersion {record.version}"
        )
    since = reader.versions(record.id, limit=min(5, record.version - given))
    done = "; ".join(f"{one.number}: {one.action} {one.detail}".strip() for one in since)
    return (
        f"The design {record.id!r} is at version {record.version}, not {given}: it was changed "
        f"meanwhile ({done[:600]}). Nothing was changed. Look at it again with get_design, or at "
        f'what changed with design_history action "diff" fromVersion {given}, then repeat with '
        f"ifVersion {record.version}"
    )
