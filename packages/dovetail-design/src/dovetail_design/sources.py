"""Resolves the `src` of a picture: an asset or a picture of the embedded library.

Nothing is downloaded: URLs of other hosts are not resolved.
"""

from __future__ import annotations

import os

from dovetail_design.library.pictures import find_picture
from dovetail_design.render_jobs import Source
from dovetail_design.storage import State
from dovetail_design.studio import Studio

__all__ = ["ASSET_URI", "asset_uri", "has_picture_source", "source_of"]

ASSET_URI = "canvelete://api/asset/"


def asset_uri(id: str) -> str:
    """Return the resource URI of an asset, which `src` accepts too."""
    return f"{ASSET_URI}{id}"


def has_picture_source(studio: Studio, src: str) -> bool:
    """Return whether the picture exists."""
    if src.startswith("embedded:"):
        return find_picture(src) is not None
    with studio.store.reading() as reader:
        return reader.asset(src.removeprefix(ASSET_URI)) is not None


def source_of(studio: Studio, state: State) -> Source:
    """Return a design with the files that rendering it needs."""
    wanted = {one.get("src") or "" for one in state["elements"]}
    pictures: dict[str, bytes] = {}
    with studio.store.reading() as reader:
        for src in wanted:
            if not src or src.startswith(("data:", "embedded:")):
                continue
            asset = reader.asset(src.removeprefix(ASSET_URI))
            if asset is not None:
                pictures[src] = os.fsencode(studio.blobs.locate(asset.digest))
    return Source(state, pictures, os.fsencode(studio.book.folder or ""))
