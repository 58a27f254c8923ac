"""Exported files: stored by content, readable as resources, and saved to a folder on request."""

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
# Older exports are deleted, so that the directory does not grow without limit.
MOST_EXPORTS = 2_000


def file_name(title: str, version: int, suffix: str) -> str:
    """Return a descriptive name that is valid on every file system."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^A-Za-z0-9]+", "-", plain).strip("-").lower()[:60] or "design"
    return f"{slug}-v{version}.{suffix}"


def link_to(file: FileView) -> ResourceLink:
    """Return a resource link to the file."""
    return ResourceLink(uri=file.uri, name=file.name, mime_type=file.mime_type, size=file.size)


@dataclass(frozen=True, slots=True)
class _File:
    """A stored drawing, and the pending file if it is also saved to a folder."""

    mime_type: str
    size: int
    sides: tuple[int, int]
    digest: str
    save_to: str | None
    saving: Saving | None


class FileBatch:
    """Files that are created together: all or none.

    Each file is written as soon as it is drawn, so they are not all held in memory. Files that were
    replaced (`overwrite`) cannot be recovered.
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
        """Store a drawing, and write it under a temporary name if it is to be saved."""
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
        """Record the files, then rename the saved ones to their final names.

        Called inside the transaction: if a rename fails, nothing is recorded.
        """
        views = []
        for file, design in zip(self._files, designs, strict=True):
            if not self._studio.blobs.has(file.digest):
                # The last design with the same content was deleted in the meantime.
                raise ToolError(
                    "A file was deleted while it was created. Nothing was made; try again"
                )
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
