"""Exports as files: kept by content, named, readable as resources, saved where asked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

from dovetail import ResourceLink, ToolError
from dovetail_design.canvases import new_id
from dovetail_design.exporting import Drawn
from dovetail_design.folders import Saving
from dovetail_design.results import FileView
from dovetail_design.storage import DesignRecord, ExportRecord, Writer
from dovetail_design.studio import Caller, Studio

__all__ = ["EXPORT_URI", "MOST_EXPORTS", "FileBatch", "file_name", "link_to"]

EXPORT_URI = "canvelete://api/export/"
# Older ones go, so that the directory does not grow with every look at a design.
MOST_EXPORTS = 2_000


def file_name(title: str, version: int, suffix: str) -> str:
    """A name that every file system takes, and that says what it is."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^A-Za-z0-9]+", "-", plain).strip("-").lower()[:60] or "design"
    return f"{slug}-v{version}.{suffix}"


def link_to(file: FileView) -> ResourceLink:
    """A pointer that the client can read."""
    return ResourceLink(uri=file.uri, name=file.name, mime_type=file.mime_type, size=file.size)


@dataclass(frozen=True, slots=True)
class _File:
    """A drawing that is kept, and perhaps written beside its place."""

    mime_type: str
    size: int
    sides: tuple[int, int]
    digest: str
    save_to: str | None
    saving: Saving | None


class FileBatch:
    """Files that are made together: all of them get their names, or none does.

    Each is written as soon as it is drawn, so that not all have to be held at once. What is
    replaced (`overwrite`) cannot be brought back.
    """

    def __init__(self, studio: Studio, *, overwrite: bool) -> None:
        self._studio = studio
        self._overwrite = overwrite
        self._files: list[_File] = []

    def __enter__(self) -> FileBatch:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        for one in self._files:
            if one.saving is not None:
                one.saving.close()

    def add(self, drawn: Drawn, save_to: str | None) -> None:
        """Keep a drawing, and write it beside where it shall be saved."""
        saving = None
        if save_to is not None:
            if any(one.save_to == save_to for one in self._files):
                raise ToolError(f"Two files would be saved as {save_to!r}. Nothing was made")
            self._studio.folders.check(save_to, overwrite=self._overwrite)
            saving = self._studio.folders.prepare(save_to, drawn.data)
        digest = self._studio.blobs.keep(drawn.data)
        sides = (drawn.width, drawn.height)
        size = len(drawn.data)
        self._files.append(_File(drawn.mime_type, size, sides, digest, save_to, saving))

    def finish(
        self, writer: Writer, caller: Caller, designs: Sequence[DesignRecord], suffix: str
    ) -> list[FileView]:
        """Write down whose they are, then give the saved ones their names.

        Called inside the transaction: if a name cannot be given, nothing is written down.
        """
        views = []
        for file, design in zip(self._files, designs, strict=True):
            if not self._studio.blobs.has(file.digest):
                # Somebody erased the last design that had the same content, just now.
                raise ToolError("A file was erased while it was made. Nothing was made; try again")
            record = ExportRecord(
                id=new_id("exp"),
                design=design.id,
                version=design.version,
                name=file_name(design.name, design.version, suffix),
                mime_type=file.mime_type,
                size=file.size,
                digest=file.digest,
                created=writer.now(),
                owner=caller.owner,
            )
            writer.add_export(record)
            views.append(_show(record, file))
        self._give_names()
        for digest in writer.drop_exports(MOST_EXPORTS):
            if not writer.is_blob_used(digest):
                self._studio.blobs.forget(digest)
        return views

    def _give_names(self) -> None:
        done: list[Saving] = []
        try:
            for one in self._files:
                if one.saving is not None:
                    one.saving.finish(overwrite=self._overwrite)
                    done.append(one.saving)
        except BaseException:
            if not self._overwrite:
                for saving in done:
                    saving.undo()
            raise


def _show(record: ExportRecord, file: _File) -> FileView:
    width, height = file.sides
    return FileView(
        uri=f"{EXPORT_URI}{record.id}/{record.name}",
        name=record.name,
        mime_type=record.mime_type,
        size=record.size,
        width=width or None,
        height=height or None,
        saved_to=file.save_to,
        design_id=record.design or None,
    )
