"""The fonts of the studio: bundled files, an operator's folder, and who stands in for whom."""

from dovetail_design.fonts.font_book import (
    DEFAULT_FAMILY,
    Family,
    FontBook,
    FontChoice,
    bundled_book,
)

__all__ = ["DEFAULT_FAMILY", "Family", "FontBook", "FontChoice", "bundled_book"]
