"""The door to `pptx_file`, so that the library for slides is loaded with the first slide."""

from __future__ import annotations

from dovetail_design.model.design import Design
from dovetail_design.rendering.render_options import RenderOptions

__all__ = ["render_pptx"]


def render_pptx(design: Design, options: RenderOptions | None = None) -> bytes:
    """The design as a presentation of one slide; raises ToolError."""
    # A quarter of what loading this room takes, and few ask for slides.
    from dovetail_design.rendering.pptx_file import write_slide  # noqa: PLC0415

    return write_slide(design, options or RenderOptions())
