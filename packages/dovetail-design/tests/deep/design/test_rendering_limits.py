"""What may not be drawn is refused in words, before it costs anything."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import PIL.Image
import pytest

from dovetail import ToolError, UsageError
from dovetail_design.fonts import FontBook
from dovetail_design.model import Design, parse_design
from dovetail_design.rendering import (
    RenderOptions,
    render_pdf,
    render_png,
    render_pptx,
    render_svg,
    skia_painter,
)
from tests.deep.design.render_cases import PHOTO


def uri(data: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def image(src: str, kind: str = "image") -> Design:
    element: dict[str, Any] = {"type": kind, "id": "it", "x": 0, "y": 0, "width": 9, "height": 9}
    return parse_design({"width": 10, "height": 10, "elements": [{**element, "src": src}]})


def png_header(width: int, height: int) -> bytes:
    """A PNG that claims a size and holds next to nothing."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        check = zlib.crc32(kind + body)
        return struct.pack(">L", len(body)) + kind + body + struct.pack(">L", check)

    header = struct.pack(">LLBBBBB", width, height, 8, 6, 0, 0, 0)
    body = (
        chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")
    )
    return b"\x89PNG\r\n\x1a\n" + body


def test_a_canvas_with_too_many_pixels_is_refused_with_a_scale_that_works() -> None:
    huge = Design(width=10_000, height=10_000)
    with pytest.raises(ToolError, match=r"40,000,000.*scale of 0.63 or less"):
        render_png(huge)
    assert render_svg(huge)
    assert PIL.Image.open(io.BytesIO(render_png(huge, RenderOptions(max_width=64)))).size == (
        64,
        64,
    )


@pytest.mark.parametrize("scale", [0, -1, 17])
def test_a_scale_out_of_bounds_is_refused(scale: float) -> None:
    with pytest.raises(ToolError, match="scale must be more than 0"):
        render_png(Design(), RenderOptions(scale=scale))


def test_fifty_thousand_elements_are_refused() -> None:
    element = {"type": "rectangle", "x": 0, "y": 0, "width": 1, "height": 1}
    with pytest.raises(ToolError, match=r"50,000 elements are too many.*10,000"):
        parse_design({"width": 10, "height": 10, "elements": [element] * 50_000})


SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">{}</svg>'
BOMB = (
    '<!DOCTYPE svg [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]>'
    '<svg xmlns="http://www.w3.org/2000/svg"><title>&b;</title></svg>'
)


@pytest.mark.parametrize(
    ("markup", "reason"),
    [
        (SVG.format("<script>alert(1)</script>"), "<script>, which is not allowed"),
        (SVG.format('<path d="M0 0" onclick="x()"/>'), "event handler"),
        (SVG.format('<image href="https://example.org/a.png"/>'), "<image>, which is not allowed"),
        (SVG.format('<rect fill="url(https://example.org/a)"/>'), "only url"),
        (SVG.format('<rect style="fill:url(file:///etc/passwd)"/>'), "only url"),
        (SVG.format('<linearGradient xlink:href="https://example.org"/>'), "inside the document"),
        (SVG.format("<style>@import 'x'</style>"), "<style>, which is not allowed"),
        (SVG.format("<foreignObject/>"), "<foreignObject>, which is not allowed"),
        (SVG.format('<use href="#a"/>'), "<use>, which is not allowed"),
        (BOMB, "entities"),
        (
            '<!DOCTYPE svg SYSTEM "file:///etc/passwd">' + SVG.format("&x;"),
            "entities|not well-formed",
        ),
        ('<?xml-stylesheet href="x"?>' + SVG.format(""), "processing instruction"),
        (SVG.format("<g>" * 100 + "</g>" * 100), "levels"),
        (SVG.format("<g>"), "not well-formed"),
        ("<?xml version='1.0'?><html/>", "<html>, which is not allowed"),
    ],
)
def test_an_svg_that_is_more_than_a_drawing_is_refused(markup: str, reason: str) -> None:
    with pytest.raises(ToolError, match=reason) as told:
        render_png(image(uri(markup.encode(), "image/svg+xml"), "svg"))
    assert str(told.value).startswith("Element 'it': ")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (png_header(60_000, 60_000), "60,000 x 60,000 pixels; at most 40,000,000"),
        (b"not a picture at all", "cannot be read; allowed: PNG, JPEG"),
        (b"", "cannot be read"),
        (b"\x89PNG\r\n\x1a\n" + bytes(30), "cannot be read|damaged"),
    ],
)
def test_a_picture_that_may_not_be_decoded_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        render_png(image(uri(data)))


def test_a_data_uri_that_is_none_is_refused() -> None:
    with pytest.raises(ToolError, match="not valid base64"):
        render_png(image("data:image/png;base64,%%%"))


def test_a_remote_address_is_never_fetched() -> None:
    asked: list[str] = []

    def find_asset(src: str) -> bytes | None:
        asked.append(src)
        return None

    render_png(image("https://example.org/a.png"), RenderOptions(find_asset=find_asset))
    assert asked == ["https://example.org/a.png"]


def test_an_asset_is_drawn() -> None:
    data = base64.b64decode(PHOTO.partition(",")[2])
    drawn = render_png(image("asset-1"), RenderOptions(find_asset={"asset-1": data}.get))
    assert drawn == render_png(image(PHOTO))


@pytest.mark.parametrize(
    "data", [b"", b"hello, I am no font", b"\0\1\0\0" + bytes(200), b"ttcf" + b"\xff" * 40]
)
def test_a_font_that_is_none_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "fake.ttf").write_bytes(data)
    with pytest.raises(UsageError, match=r"'fake.ttf' is not a font: "):
        FontBook(tmp_path)


def test_a_folder_without_fonts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="contains no font"):
        FontBook(tmp_path)
    with pytest.raises(UsageError, match="is not a folder"):
        FontBook(tmp_path / "nowhere")


# Allowed, and at the edge: nothing of it may crash, whatever it looks like.
EXTREMES: dict[str, dict[str, Any]] = {
    "flat line": {"type": "line", "width": 0, "height": 0, "lineEnd": "arrow", "lineDash": "3"},
    "points in one place": {"type": "polygon", "polygonPoints": [{"x": 5, "y": 5}] * 3},
    "curve in one place": {"type": "bezier", "bezierPoints": [{"x": 0, "y": 0}] * 7},
    "star without an inside": {"type": "star", "starInnerRadius": 0, "starPoints": 200},
    "thin dots": {"type": "rectangle", "strokeWidth": 0.001, "borderStyle": "dotted"},
    "period of nothing": {
        "type": "rectangle",
        "fill": "repeating-radial-gradient(circle 0px, red 5px, blue 5px)",
    },
    "stops before the beginning": {
        "type": "rectangle",
        "fill": "repeating-conic-gradient(red -50%, blue -20%)",
    },
    "control characters": {"type": "text", "text": "a\0b\x01\ufffe\U0010ffff", "name": "\x02"},
    "only controls": {"type": "text", "text": "\u202e\u2067\u2066" * 100},
    "letters on each other": {"type": "text", "text": "hello", "letterSpacing": -200},
    "tiny text": {"type": "text", "text": "words " * 50, "fontSize": 1, "width": 1},
    "large text": {"type": "text", "text": "W", "fontSize": 2000},
    "tiny barcode": {"type": "barcode", "barcodeValue": "A" * 100, "width": 1, "height": 1},
    "full code": {"type": "qr", "qrValue": "x" * 2331, "width": 30},
    "picture far away": {
        "type": "image",
        "src": PHOTO,
        "objectFit": "none",
        "objectPosition": "-99999px 99999px",
    },
    "outside": {"type": "circle", "x": -99_999, "y": 99_999, "width": 20_000, "rotation": 33},
}


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("write", [render_png, render_svg, render_pdf, render_pptx])
def test_the_extreme_is_drawn(write: Callable[[Design], bytes], name: str) -> None:
    element = {"x": 1, "y": 1, "width": 50, "height": 40, **EXTREMES[name]}
    assert write(parse_design({"width": 60, "height": 50, "elements": [element]}))


def test_drawing_ends_after_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skia_painter, "MAX_SECONDS", -1)
    with pytest.raises(ToolError, match="use fewer elements"):
        render_png(image(PHOTO))
