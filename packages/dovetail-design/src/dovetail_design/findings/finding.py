"""A finding: a problem of a design and how to fix it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["CODES", "Code", "Finding"]

Code = Literal[
    "overlap",
    "text-overflow",
    "off-canvas",
    "low-contrast",
    "missing-font",
    "missing-glyph",
    "invisible",
    "empty-data",
    "bad-data",
    "unfilled-field",
]

# The meaning of each code, for the docs and the outline; codes never change their meaning.
CODES: dict[Code, str] = {
    "overlap": "Content overlaps other content",
    "text-overflow": "Text does not fit into its box",
    "off-canvas": "An element is outside the canvas, or content is cut off at its edge",
    "low-contrast": "Text or a code has too little contrast with its background",
    "missing-font": "A font is missing and another is used instead",
    "missing-glyph": "No font has a character, so an empty box is drawn",
    "invisible": "An element is not visible",
    "empty-data": "An element has no content",
    "bad-data": "An element's data cannot be drawn",
    "unfilled-field": "A {{field}} is not filled",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, the elements that it concerns, and a fix."""

    code: Code
    message: str
    element_ids: tuple[str, ...]
    fix: str
