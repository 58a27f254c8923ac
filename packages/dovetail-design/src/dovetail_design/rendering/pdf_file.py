"""Renders designs to PDF with vector shapes and searchable text."""

from __future__ import annotations

from dovetail_design.model.design import Design
from dovetail_design.rendering.graphics import skia
from dovetail_design.rendering.pdf_text import DocumentFonts
from dovetail_design.rendering.render_options import MAX_PIXELS, RenderOptions
from dovetail_design.rendering.scene import page_marks
from dovetail_design.rendering.skia_painter import SkiaPainter

__all__ = ["raster_dpi", "render_pdf"]

# CSS has 96 pixels per inch, PDF 72 points.
_POINTS = 72 / 96
_PRODUCER = "dovetail design"
# Resolution of blurred shadows and filters, for print.
_DPI = 216


def render_pdf(design: Design, options: RenderOptions | None = None) -> bytes:
    """Return the design with its pages; the same design gives the same bytes. Raises ToolError."""
    options = options or RenderOptions()
    scale = _POINTS * options.scale
    metadata = skia.PDF.Metadata()
    metadata.fTitle = options.title
    metadata.fProducer = metadata.fCreator = _PRODUCER
    size = design.width * scale, design.height * scale
    metadata.fRasterDPI = raster_dpi(*size)
    context = options.context
    stream = skia.DynamicMemoryWStream()
    with context.typesetter.lock:
        pages = [page_marks(page, options) for page in design.split()]
        fonts = DocumentFonts(context.typesetter, [mark for page in pages for mark in page])
        document = skia.PDF.MakeDocument(stream, metadata)
        try:
            for marks in pages:
                canvas = document.beginPage(*size)
                canvas.scale(scale, scale)
                SkiaPainter(canvas, fonts.typesetter, is_document=True).paint(marks)
                document.endPage()
            document.close()
        except BaseException:
            # An open document writes to its stream when it is deleted, which may be after the
            # stream was: that would end the process.
            document.abort()
            raise
    return fonts.name_glyphs(bytes(stream.detachAsData()))


def raster_dpi(width: float, height: float) -> float:
    """Return the resolution of blurs on a page of this size in points.

    It is lower on large pages, because a blur may cover the page. A multiple of 72 if possible,
    because pages are cut to whole pixels.
    """
    most: float = 72 * (MAX_PIXELS / (width * height)) ** 0.5
    return min(_DPI, most // 72 * 72 or most)
