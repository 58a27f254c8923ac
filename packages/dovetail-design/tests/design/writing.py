"""A process that changes designs until it is done or killed.

python -m tests.design.writing DIR WHO COUNT: each change adds an element to one design and
counts up in its name, and makes an asset whose content it keeps; it is told on stdout once done.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dovetail_design.blobs import BlobFolder
from dovetail_design.canvases import Canvas
from dovetail_design.folders import Folders
from dovetail_design.fonts import FontBook
from dovetail_design.sqlite_store import SqliteStore
from dovetail_design.storage import AssetRecord, DesignRecord
from dovetail_design.studio import Caller, Studio


def open_studio(directory: Path) -> Studio:
    """What the server works on, without the server."""
    return Studio(
        SqliteStore(directory / "designs.db"),
        BlobFolder(directory / "blobs"),
        Folders(),
        FontBook(),
    )


def begin(studio: Studio) -> None:
    """The design that all processes change."""
    with studio.store.writing() as writer:
        if writer.design("shared") is None:
            record = DesignRecord("shared", "", "", "PRIVATE", "", 0, 0, 0, 0, 0, 0)
            state = {"name": "0", "width": 100, "height": 100, "elements": []}
            writer.add_design(record, state, "")


def main(directory: str, who: str, count: int) -> None:
    studio = open_studio(Path(directory))
    begin(studio)
    for number in range(count):
        name = f"{who}-{number}"

        def edit(canvas: Canvas, name: str = name) -> str:
            shape = {"type": "circle", "id": name, "x": 0, "y": 0, "width": 9, "height": 9}
            canvas.add(shape)
            canvas.set(name=str(len(canvas.elements)))
            return name

        studio.change(Caller(), "shared", "add", edit)
        data = f"content of {name}".encode()
        digest = studio.blobs.keep(data)
        with studio.store.writing() as writer:
            writer.add_asset(
                AssetRecord(name, name, "OTHER", "text/plain", len(data), digest, "", writer.now())
            )
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
    studio.store.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
