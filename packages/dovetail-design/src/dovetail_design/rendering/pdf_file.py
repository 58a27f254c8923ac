"""Renders designs to PDF with vector shapes and searchable text."""

from __future__ import annotations

from dovetail_design.model.design import Design
from dovetail_design.rendering.graphics import skia
from dovetail_design.rendering.render_options import RenderOptions
from dovetail_design.rendering.scene import background_marks, compose_scene
from dovetail_design.rendering.skia_painter import SkiaPainter

__all__ = ["render_pdf"]

# CSS has 96 pixels per inch, PDF 72 points.
_POINTS = 72 / 96
_PRODUCER = "dovetail design"
# Resolution of blurred shadows and filters, for print. A multiple of 72, because pages are cut to
# whole pixels.
_DPI = 216


def render_pdf(design: Design, options: RenderOptions | None = None) -> bytes:
    """Return the design as one page; the same design gives the same bytes. Raises ToolError."""
    options = options or RenderOptions()
    scale = _POINTS * options.scale
    metadata = skia.PDF.Metadata()
    metadata.fTitle = options.title
    metadata.fProducer = metadata.fCreator = _PRODUCER
    metadata.fRasterDPI = _DPI
    context = options.context
    stream = skia.DynamicMemoryWStream()
    with context.typesetter.lock:
        document = skia.PDF.MakeDocument(stream, metadata)
        try:
            canvas = document.beginPage(design.width * scale, design.height * scale)
            canvas.scale(scale, scale)
            painter = SkiaPainter(canvas, context.typesetter, is_document=True)
            if not options.transparent:
                painter.paint(background_marks(design))
            painter.paint(compose_scene(design, context, options.element_ids))
            document.endPage()
            document.close()
        except BaseException:
            # An open document writes to its stream when it is deleted, which may be after the
            # stream was: that would end the process.
            document.abort()
            raise
    return bytes(stream.detachAsData())
