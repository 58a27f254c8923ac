"""Checks that an uploaded file is complete and safe, and reads its size in pixels.

It decodes foreign files with native code, so it runs in a worker process.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from dovetail import ToolError, UsageError
from dovetail_design.fonts.font_files import read_faces

__all__ = ["inspect_asset"]

_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")


def inspect_asset(data: bytes, mime_type: str, name: str) -> tuple[int, int]:
    """Return width and height, or 0 for files without a size; raises ToolError."""
    if mime_type.startswith("image/"):
        return _inspect_picture(data, name)
    if mime_type.startswith("font/"):
        _inspect_font(data, name)
    return 0, 0


def _inspect_picture(data: bytes, name: str) -> tuple[int, int]:
    # Imported here because it loads the graphics library.
    from dovetail_design.rendering import Picture, read_picture  # noqa: PLC0415

    try:
        found = read_picture(data)
        if isinstance(found, Picture):
            _decode(data)
    except ToolError as error:
        raise ToolError(f"{name!r} was not stored: {error}") from None
    return round(found.width), round(found.height)


def _decode(data: bytes) -> None:
    """Decode the whole file, so that a truncated one is found now and not when it is drawn."""
    from PIL import Image  # noqa: PLC0415 - as above

    from dovetail_design.rendering import MAX_PICTURE_PIXELS  # noqa: PLC0415 - as above

    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as picture:
            # Checked before for one decoder; another may read a different size.
            if picture.width * picture.height > MAX_PICTURE_PIXELS:
                raise ToolError(
                    f"The picture is {picture.width:,} x {picture.height:,} pixels; at most "
                    f"{MAX_PICTURE_PIXELS:,} pixels are allowed"
                )
            picture.load()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ToolError(f"The picture is damaged: {error}") from None


def _inspect_font(data: bytes, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "font"
        place.write_bytes(data)
        try:
            read_faces(place)
        except UsageError as error:
            reason = str(error).removeprefix("'font' ")
            raise ToolError(f"{name!r} {reason}") from None
