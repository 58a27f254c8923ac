from __future__ import annotations

import base64
import io

import PIL.Image
import pytest

from dovetail import ToolError
from dovetail_design.rendering.image_files import Picture, load_picture, read_picture
from dovetail_design.rendering.safe_svg import SvgDrawing


def encoded(kind: str, size: tuple[int, int] = (4, 3)) -> bytes:
    stream = io.BytesIO()
    PIL.Image.new("RGB", size, "red").save(stream, kind)
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_pictures_are_known_by_their_bytes(kind: str) -> None:
    data = encoded(kind)
    assert read_picture(data) == Picture(data, 4, 3, f"image/{kind.lower()}")


def test_other_formats_are_refused() -> None:
    for kind in ("BMP", "TIFF"):
        with pytest.raises(ToolError, match="allowed: PNG, JPEG, WebP, GIF, SVG"):
            read_picture(encoded(kind))


def test_too_many_bytes_are_refused() -> None:
    with pytest.raises(ToolError, match="at most 20,971,520 are allowed"):
        read_picture(bytes(20 * 1024 * 1024 + 1))


def test_a_source_is_a_data_uri_or_an_asset() -> None:
    data = encoded("PNG")
    uri = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    assert load_picture(uri, None) == load_picture("asset", {"asset": data}.get)
    assert load_picture("asset", None) is None
    assert isinstance(load_picture("data:image/svg+xml,%3Csvg/%3E", None), SvgDrawing)
    with pytest.raises(ToolError, match="is not a data URI"):
        load_picture("data:image/png", None)
