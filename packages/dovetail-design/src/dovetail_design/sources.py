"""Resolves the `src` of a picture: an asset or a picture of the embedded library.

Nothing is downloaded: URLs of other hosts are not resolved.
"""

from __future__ import annotations

import os
from dataclasses import replace

from dovetail_design.canvases import new_id
from dovetail_design.library.pictures import find_picture
from dovetail_design.render_jobs import Source
from dovetail_design.storage import AssetRecord, Reader, State, Writer
from dovetail_design.studio import Studio

__all__ = ["ASSET_URI", "asset_uri", "copy_assets", "has_picture_source", "source_of"]

ASSET_URI = "canvelete://api/asset/"


def asset_uri(id: str) -> str:
    """Return the resource URI of an asset, which `src` accepts too."""
    return f"{ASSET_URI}{id}"


def has_picture_source(studio: Studio, src: str, owner: str) -> bool:
    """Return whether a design of this owner may show the picture."""
    if src.startswith("embedded:"):
        return find_picture(src) is not None
    with studio.store.reading() as reader:
        return _own_asset(reader, src, owner) is not None


def source_of(studio: Studio, state: State, owner: str) -> Source:
    """Return a design of this owner with the files that rendering it needs."""
    wanted = {one.get("src") or "" for one in state["elements"]}
    pictures: dict[str, bytes] = {}
    with studio.store.reading() as reader:
        for src in wanted:
            if not src or src.startswith(("data:", "embedded:")):
                continue
            asset = _own_asset(reader, src, owner)
            if asset is not None:
                pictures[src] = os.fsencode(studio.blobs.locate(asset.digest))
    return Source(state, pictures, os.fsencode(studio.book.folder or ""))


def copy_assets(writer: Writer, state: State, owner: str, new_owner: str) -> State:
    """Return a design for another owner, who gets an entry for each asset that it shows."""
    if owner == new_owner:
        return state
    uris: dict[str, str] = {}
    for src in {one.get("src") or "" for one in state["elements"]}:
        asset = _own_asset(writer, src, owner)
        if asset is not None:
            copy = replace(asset, id=new_id("ast"), owner=new_owner, created=writer.now())
            writer.add_asset(copy)
            uris[src] = asset_uri(copy.id)
    elements = [
        {**one, "src": uris[one["src"]]} if one.get("src") in uris else one
        for one in state["elements"]
    ]
    return {**state, "elements": elements}


def _own_asset(reader: Reader, src: str, owner: str) -> AssetRecord | None:
    """Return an asset; those of other owners do not exist for a design."""
    asset = reader.asset(src.removeprefix(ASSET_URI))
    return asset if asset is not None and asset.owner == owner else None
