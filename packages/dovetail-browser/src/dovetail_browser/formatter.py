"""How the parts of a text are spelled; this one spells them in no way at all.

Texts are one line each, but for code and tables.
"""

from __future__ import annotations

__all__ = ["Notation"]


class Notation:
    """Words and nothing around them."""

    quote = "> "

    def escape(self, text: str, in_link: bool) -> str:
        """Running text."""
        return text

    def paragraph(self, text: str) -> str:
        """A whole paragraph, of texts that are escaped already."""
        return text

    def heading(self, level: int, text: str) -> str:
        """A heading."""
        return text

    def emphasis(self, kind: str, text: str) -> str:
        """Text that is strong, emphasised or deleted."""
        return text

    def code(self, text: str) -> str:
        """Code in a line."""
        return text

    def code_block(self, text: str, language: str) -> str:
        """Code in lines of its own."""
        return text

    def link(self, text: str, url: str) -> str:
        """A link."""
        return text

    def image(self, alt: str, url: str) -> str:
        """An image."""
        return alt

    def item(self, number: int | None) -> str:
        """What stands before an item of a list."""
        return "- " if number is None else f"{number}. "

    def description(self) -> str:
        """What stands before the description of a term."""
        return "  "

    def rule(self) -> str:
        """A line between two parts."""
        return ""

    def line_break(self) -> str:
        """The end of a line inside a paragraph."""
        return "\n"

    def table(self, rows: list[list[str]], has_head: bool) -> str:
        """A table whose rows are of the same length."""
        return "\n".join("\t".join(row).rstrip() for row in rows)
