"""Resolves the `src` of a picture: an asset or a picture of the embedded library.

Nothing is downloaded: URLs of other hosts are not resolved.
"""

from __future__ import annotations

from dovetail_design.library.pictures import find_picture
from dovetail_design.studio import Studio

__all__ = ["ASSET_URI", "asset_uri", "find_picture_source", "has_picture_source"]

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


def find_picture_source(studio: Studio, src: str) -> bytes | None:
    """Return the bytes of a picture that is not a data URI, or None."""
    if src.startswith("embedded:"):
        picture = find_picture(src)
        return None if picture is None else picture.as_svg().encode()
    with studio.store.reading() as reader:
        asset = reader.asset(src.removeprefix(ASSET_URI))
    if asset is None:
        return None
    try:
        return studio.blobs.load(asset.digest)
    except FileNotFoundError:
        return None
