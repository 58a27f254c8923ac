"""Imports `pptx_file` on first use, because it loads python-pptx."""

from __future__ import annotations

from dovetail_design.model.design import Design
from dovetail_design.rendering.render_options import RenderOptions

__all__ = ["render_pptx"]


def render_pptx(design: Design, options: RenderOptions | None = None) -> bytes:
    """Return a presentation with a slide for each page; raises ToolError."""
    # python-pptx takes a quarter of the import time of this package, and is rarely needed.
    from dovetail_design.rendering.pptx_file import write_slides  # noqa: PLC0415

    return write_slides(design, options or RenderOptions())
