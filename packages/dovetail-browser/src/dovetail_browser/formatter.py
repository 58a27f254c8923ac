"""Formats the parts of a text; this base class formats plain text.

Texts are single lines, except for code and tables.
"""

from __future__ import annotations

__all__ = ["Formatter"]


class Formatter:
    """Plain text without markup."""

    quote = "> "

    def escape(self, text: str, in_link: bool) -> str:
        """Escape text."""
        return text

    def paragraph(self, text: str) -> str:
        """Format a paragraph of escaped text."""
        return text

    def heading(self, level: int, text: str) -> str:
        """Format a heading."""
        return text

    def emphasis(self, kind: str, text: str) -> str:
        """Format strong, emphasised or deleted text."""
        return text

    def code(self, text: str) -> str:
        """Format inline code."""
        return text

    def code_block(self, text: str, language: str) -> str:
        """Format a code block."""
        return text

    def link(self, text: str, url: str) -> str:
        """Format a link."""
        return text

    def image(self, alt: str, url: str) -> str:
        """Format an image."""
        return alt

    def item(self, number: int | None) -> str:
        """Return the prefix of a list item."""
        return "- " if number is None else f"{number}. "

    def description(self) -> str:
        """Return the prefix of the description of a term."""
        return "  "

    def rule(self) -> str:
        """Return a horizontal rule."""
        return ""

    def line_break(self) -> str:
        """Return a line break inside a paragraph."""
        return "\n"

    def table(self, rows: list[list[str]], has_head: bool) -> str:
        """Format a table whose rows have the same length."""
        return "\n".join("\t".join(row).rstrip() for row in rows)
