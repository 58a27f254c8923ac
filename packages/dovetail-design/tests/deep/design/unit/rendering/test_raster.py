from __future__ import annotations

import io

import PIL.Image

from dovetail_design.model import parse_design
from dovetail_design.rendering.raster import render_jpeg, render_png, render_webp
from dovetail_design.rendering.render_options import RenderOptions

DESIGN = parse_design(
    {
        "width": 40,
        "height": 30,
        "background": "transparent",
        "elements": [
            {"type": "rectangle", "x": 0, "y": 0, "width": 20, "height": 30, "fill": "#10203080"}
        ],
    }
)


def test_half_transparent_colours_are_what_they_were() -> None:
    image = PIL.Image.open(io.BytesIO(render_png(DESIGN)))
    red, green, blue, alpha = image.getpixel((5, 5))  # type: ignore[misc]
    assert alpha == 128
    assert max(abs(red - 16), abs(green - 32), abs(blue - 48)) <= 1
    assert image.getpixel((35, 5)) == (0, 0, 0, 0)


def test_jpeg_is_drawn_on_white() -> None:
    image = PIL.Image.open(io.BytesIO(render_jpeg(DESIGN, RenderOptions(quality=95))))
    assert image.getpixel((35, 5)) == (255, 255, 255)


def test_webp_of_the_best_quality_loses_nothing() -> None:
    best = PIL.Image.open(io.BytesIO(render_webp(DESIGN, RenderOptions(quality=100))))
    assert (
        best.convert("RGBA").tobytes() == PIL.Image.open(io.BytesIO(render_png(DESIGN))).tobytes()
    )


def test_quality_is_paid_in_bytes() -> None:
    low, high = (render_jpeg(DESIGN, RenderOptions(quality=quality)) for quality in (10, 95))
    assert len(low) < len(high)
