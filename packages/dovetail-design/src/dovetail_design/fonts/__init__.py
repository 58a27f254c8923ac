"""Fonts: bundled files, the operator's folder, and substitutions."""

from dovetail_design.fonts.font_book import (
    DEFAULT_FAMILY,
    Family,
    FontBook,
    FontChoice,
    bundled_book,
)

__all__ = ["DEFAULT_FAMILY", "Family", "FontBook", "FontChoice", "bundled_book"]
