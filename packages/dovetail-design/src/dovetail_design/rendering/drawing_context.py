"""The fonts and pictures that are needed to compose elements."""

from __future__ import annotations

from dataclasses import dataclass, field

from dovetail_design.fonts.font_book import FontBook, bundled_book
from dovetail_design.rendering.image_files import FindAsset
from dovetail_design.rendering.typesetting import Typesetter, typesetter_for

__all__ = ["DrawingContext"]


@dataclass(frozen=True, slots=True)
class DrawingContext:
    """The source of fonts and pictures."""

    book: FontBook = field(default_factory=bundled_book)
    find_asset: FindAsset | None = None

    @property
    def typesetter(self) -> Typesetter:
        """The typesetter for these fonts."""
        return typesetter_for(self.book)
