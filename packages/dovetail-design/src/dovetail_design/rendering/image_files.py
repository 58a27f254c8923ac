"""Loads untrusted pictures: resolves `src` and checks the bytes before decoding.

Only the header is read to get the size, so that a small file that would decompress to gigabytes
is rejected before it is decoded.
"""

from __future__ import annotations

import base64
import binascii
import functools
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from dovetail import ToolError
from dovetail_design.rendering.graphics import skia
from dovetail_design.rendering.safe_svg import SvgDrawing, looks_like_svg, read_svg

__all__ = [
    "MAX_PICTURE_BYTES",
    "MAX_PICTURE_PIXELS",
    "FindAsset",
    "Picture",
    "load_picture",
    "read_picture",
]

MAX_PICTURE_BYTES = 20 * 1024 * 1024
# 40 megapixels take 160 MB decoded; common cameras stay below.
MAX_PICTURE_PIXELS = 40_000_000
# Pictures up to this size are cached, for previews in a row.
_SMALL = 512 * 1024

# Returns the bytes for an asset's id or URI, or None.
FindAsset = Callable[[str], bytes | None]

_FORMATS = {
    skia.EncodedImageFormat.kPNG: "image/png",
    skia.EncodedImageFormat.kJPEG: "image/jpeg",
    skia.EncodedImageFormat.kWEBP: "image/webp",
    skia.EncodedImageFormat.kGIF: "image/gif",
}


class Picture(NamedTuple):
    """An encoded picture with a valid header."""

    data: bytes
    width: int
    height: int
    mime_type: str


def load_picture(src: str, find_asset: FindAsset | None) -> Picture | SvgDrawing | None:
    """Return the picture of a `src`, or None if it is missing; raises ToolError."""
    if src.startswith("data:"):
        return read_picture(_read_data_uri(src))
    data = find_asset(src) if find_asset is not None else None
    return None if data is None else read_picture(data)


def read_picture(data: bytes) -> Picture | SvgDrawing:
    """Return a picture or a drawing; raises ToolError."""
    return _read_kept(data) if len(data) <= _SMALL else _read(data)


def _read(data: bytes) -> Picture | SvgDrawing:
    if len(data) > MAX_PICTURE_BYTES:
        raise ToolError(
            f"The picture has {len(data):,} bytes; at most {MAX_PICTURE_BYTES:,} are allowed"
        )
    if looks_like_svg(data):
        return read_svg(data)
    codec = _open(data)
    mime_type = None if codec is None else _FORMATS.get(codec.getEncodedFormat())
    if codec is None or mime_type is None:
        raise ToolError(
            f"The picture begins with {data[:8]!r} and cannot be read; allowed: PNG, "
            "JPEG, WebP, GIF, SVG"
        )
    size = codec.dimensions()
    if size.width() * size.height() > MAX_PICTURE_PIXELS:
        raise ToolError(
            f"The picture is {size.width():,} x {size.height():,} pixels; at most "
            f"{MAX_PICTURE_PIXELS:,} pixels are allowed"
        )
    image = skia.Image.MakeFromEncoded(skia.Data.MakeWithCopy(data))
    if image is None:
        raise ToolError("The picture is damaged and cannot be decoded")
    return Picture(data, image.width(), image.height(), mime_type)


_read_kept = functools.lru_cache(maxsize=64)(_read)


def _open(data: bytes) -> skia.Codec | None:
    try:
        return skia.Codec.MakeFromData(skia.Data.MakeWithCopy(data))
    except RuntimeError:
        return None


def _read_data_uri(src: str) -> bytes:
    head, comma, body = src.partition(",")
    if not comma:
        raise ToolError(f"{src[:40]!r} is not a data URI; expected data:image/png;base64,...")
    if not head.endswith(";base64"):
        return unquote_to_bytes(body)
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ToolError(f"The data URI {src[:40]!r}... is not valid base64: {error}") from None
