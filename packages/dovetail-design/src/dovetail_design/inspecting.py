"""Whether an uploaded file is whole and harmless; its size in pixels where it has one."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from dovetail import ToolError, UsageError
from dovetail_design.fonts.font_files import read_faces

__all__ = ["inspect_asset"]


def inspect_asset(data: bytes, mime_type: str, name: str) -> tuple[int, int]:
    """Width and height, 0 for what has none; raises ToolError."""
    if mime_type.startswith("image/"):
        return _inspect_picture(data, name)
    if mime_type.startswith("font/"):
        _inspect_font(data, name)
    return 0, 0


def _inspect_picture(data: bytes, name: str) -> tuple[int, int]:
    # The graphics library is loaded when there is a picture to look at, not before.
    from dovetail_design.rendering import Picture, read_picture  # noqa: PLC0415

    try:
        found = read_picture(data)
        if isinstance(found, Picture):
            _decode(data)
    except ToolError as error:
        raise ToolError(f"{name!r} was not kept: {error}") from None
    return round(found.width), round(found.height)


def _decode(data: bytes) -> None:
    """All of it once: a file that is cut off would otherwise be found out when it is drawn."""
    from PIL import Image  # noqa: PLC0415 - as above

    try:
        with Image.open(io.BytesIO(data)) as picture:
            picture.load()
    except (OSError, ValueError, SyntaxError) as error:
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
