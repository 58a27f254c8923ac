"""Renders designs to PNG, JPEG and WebP.

The bytes depend only on the design and the options: one thread, no clock, no metadata.
"""

from __future__ import annotations

import io

import PIL.Image

from dovetail import ToolError
from dovetail_design.model.design import Design
from dovetail_design.rendering.graphics import skia
from dovetail_design.rendering.render_options import RenderOptions, pixel_size
from dovetail_design.rendering.scene import background_marks, compose_scene
from dovetail_design.rendering.skia_painter import SkiaPainter

__all__ = ["render_jpeg", "render_png", "render_webp"]

_WHITE = 0xFFFFFFFF
_FAST_LEVEL, _USUAL_LEVEL = 1, 6


def _draw(design: Design, options: RenderOptions, *, is_opaque: bool) -> PIL.Image.Image:
    width, height = pixel_size(design, options)
    info = skia.ImageInfo.Make(
        width, height, skia.ColorType.kRGBA_8888_ColorType, skia.AlphaType.kPremul_AlphaType
    )
    surface = skia.Surface.MakeRaster(info)
    if surface is None:
        raise ToolError(f"There is not enough memory for {width:,} x {height:,} pixels")
    canvas = surface.getCanvas()
    canvas.clear(_WHITE if is_opaque else 0)
    canvas.scale(width / design.width, height / design.height)
    context = options.context
    painter = SkiaPainter(canvas, context.typesetter)
    with context.typesetter.lock:
        if not options.transparent or is_opaque:
            painter.paint(background_marks(design))
        painter.paint(compose_scene(design, context, options.element_ids))
    straight = info.makeAlphaType(skia.AlphaType.kUnpremul_AlphaType)
    pixels = bytearray(straight.computeMinByteSize())
    surface.readPixels(straight, pixels, straight.minRowBytes(), 0, 0)
    return PIL.Image.frombuffer("RGBA", (width, height), bytes(pixels), "raw", "RGBA", 0, 1)


def _without_alpha(image: PIL.Image.Image) -> PIL.Image.Image:
    """Drop the alpha channel of an opaque picture, which saves a third of the work."""
    lowest, _ = image.getchannel("A").getextrema()
    return image.convert("RGB") if lowest == 255 else image


def render_png(design: Design, options: RenderOptions | None = None) -> bytes:
    """Render a PNG; raises ToolError."""
    options = options or RenderOptions()
    image = _without_alpha(_draw(design, options, is_opaque=False))
    level = _FAST_LEVEL if options.is_fast else _USUAL_LEVEL
    return _save(image, "PNG", compress_level=level)


def render_jpeg(design: Design, options: RenderOptions | None = None) -> bytes:
    """Render a JPEG, on white where the design is transparent; raises ToolError."""
    options = options or RenderOptions()
    image = _draw(design, options, is_opaque=True).convert("RGB")
    return _save(image, "JPEG", quality=options.quality, subsampling=0)


def render_webp(design: Design, options: RenderOptions | None = None) -> bytes:
    """Render a WebP, lossless at quality 100; raises ToolError."""
    options = options or RenderOptions()
    image = _without_alpha(_draw(design, options, is_opaque=False))
    method = 0 if options.is_fast else 4
    lossless = options.quality >= 100
    return _save(image, "WEBP", quality=options.quality, method=method, lossless=lossless)


def _save(image: PIL.Image.Image, kind: str, **settings: int | bool) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **settings)
    return stream.getvalue()
