"""Options of rendering, and the limits of all formats."""

from __future__ import annotations

from dataclasses import dataclass, field

from dovetail import ToolError
from dovetail_design.fonts.font_book import FontBook, bundled_book
from dovetail_design.model.design import Design
from dovetail_design.rendering.drawing_context import DrawingContext
from dovetail_design.rendering.image_files import FindAsset

__all__ = ["MAX_PIXELS", "RenderOptions", "pixel_size"]

# 40 megapixels take 160 MB while they are drawn; A3 at 300 dpi has 17.
MAX_PIXELS = 40_000_000
MAX_SCALE = 16.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderOptions:
    """Options of a rendering."""

    # Pixels in the picture per pixel of the canvas.
    scale: float = 1.0
    # Reduce the scale so that the picture is not wider, for previews.
    max_width: int | None = None
    # Omit the background (not possible in JPEG).
    transparent: bool = False
    # Only these elements, and the children of those that are containers.
    element_ids: tuple[str, ...] | None = None
    # 1 to 100, for JPEG and WebP.
    quality: int = 90
    # Faster but larger files, for previews.
    is_fast: bool = False
    # SVG: text as paths, so that it looks the same without the fonts.
    text_as_paths: bool = False
    # PDF and PPTX.
    title: str = ""
    find_asset: FindAsset | None = None
    book: FontBook = field(default_factory=bundled_book)

    @property
    def context(self) -> DrawingContext:
        """The context for composing."""
        return DrawingContext(self.book, self.find_asset)


def pixel_size(design: Design, options: RenderOptions) -> tuple[int, int]:
    """Return the size of the picture; raises ToolError if it is too large."""
    if not 0 < options.scale <= MAX_SCALE:
        raise ToolError(
            f"scale must be more than 0 and at most {MAX_SCALE:g}, not {options.scale:g}"
        )
    scale = options.scale
    if options.max_width is not None:
        scale = min(scale, max(options.max_width, 1) / design.width)
    width = max(round(design.width * scale), 1)
    height = max(round(design.height * scale), 1)
    if width * height > MAX_PIXELS:
        most = (MAX_PIXELS / (design.width * design.height)) ** 0.5
        raise ToolError(
            f"{width:,} x {height:,} pixels are too many; the limit is {MAX_PIXELS:,}. "
            f"Use a scale of {int(most * 100) / 100:g} or less, or export PDF or SVG"
        )
    return width, height
