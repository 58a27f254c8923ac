from __future__ import annotations

import io
from pathlib import Path

import PIL.Image
import pytest

from dovetail import ToolError
from dovetail_design.fonts.bundled import bundled_faces
from dovetail_design.inspecting import inspect_asset


def picture(kind: str) -> bytes:
    stream = io.BytesIO()
    PIL.Image.new("RGB", (30, 20), "red").save(stream, kind)
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_picture_has_a_size_and_is_read_to_its_end(kind: str) -> None:
    data = picture(kind)
    assert inspect_asset(data, f"image/{kind.lower()}", "a") == (30, 20)
    with pytest.raises(ToolError, match="'a' was not stored"):
        inspect_asset(data[: len(data) // 2], f"image/{kind.lower()}", "a")


def test_a_drawing_has_the_size_it_says() -> None:
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' width='12' height='7'/>"
    assert inspect_asset(svg, "image/svg+xml", "a") == (12, 7)


def test_a_font_is_one_or_it_is_refused() -> None:
    font = Path(bundled_faces()[0].path).read_bytes()
    assert inspect_asset(font, "font/otf", "a") == (0, 0)
    with pytest.raises(ToolError, match="'a' is not a font"):
        inspect_asset(font[:200], "font/otf", "a")


def test_other_files_are_taken_as_they_are() -> None:
    assert inspect_asset(b"anything", "audio/mpeg", "a") == (0, 0)
