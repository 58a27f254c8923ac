"""What composing an element needs besides the element: fonts, pictures, and what went wrong."""

from __future__ import annotations

from dataclasses import dataclass, field

from dovetail_design.fonts.font_book import FontBook, bundled_book
from dovetail_design.rendering.image_files import FindAsset
from dovetail_design.rendering.typesetting import Typesetter, typesetter_for

__all__ = ["DrawingContext"]


@dataclass(frozen=True, slots=True)
class DrawingContext:
    """Where fonts and pictures come from."""

    book: FontBook = field(default_factory=bundled_book)
    find_asset: FindAsset | None = None

    @property
    def typesetter(self) -> Typesetter:
        """Who sets text in these fonts."""
        return typesetter_for(self.book)
