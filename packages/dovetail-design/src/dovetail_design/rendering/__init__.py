"""Renders designs to PNG, JPEG, WebP, PDF, SVG and PPTX, all from the same marks.

Importing this package loads the graphics library.
"""

from dovetail_design.rendering.drawing_context import DrawingContext
from dovetail_design.rendering.image_files import (
    MAX_PICTURE_BYTES,
    MAX_PICTURE_PIXELS,
    FindAsset,
    Picture,
    read_picture,
)
from dovetail_design.rendering.pdf_file import render_pdf
from dovetail_design.rendering.raster import render_jpeg, render_png, render_webp
from dovetail_design.rendering.render_options import MAX_PIXELS, RenderOptions
from dovetail_design.rendering.safe_svg import SvgDrawing, read_svg
from dovetail_design.rendering.slides import render_pptx
from dovetail_design.rendering.svg_writer import render_svg
from dovetail_design.rendering.text_marks import (
    Overflow,
    missing_letters,
    text_extent,
    text_overflow,
)

__all__ = [
    "MAX_PICTURE_BYTES",
    "MAX_PICTURE_PIXELS",
    "MAX_PIXELS",
    "DrawingContext",
    "FindAsset",
    "Overflow",
    "Picture",
    "RenderOptions",
    "SvgDrawing",
    "missing_letters",
    "read_picture",
    "read_svg",
    "render_jpeg",
    "render_pdf",
    "render_png",
    "render_pptx",
    "render_svg",
    "render_webp",
    "text_extent",
    "text_overflow",
]
