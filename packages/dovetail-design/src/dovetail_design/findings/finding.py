"""One thing that looks wrong, and the words for it."""

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
    "invisible",
    "empty-data",
    "bad-data",
    "unfilled-field",
]

# What each code means, for the docs and the outline; codes never change their meaning.
CODES: dict[Code, str] = {
    "overlap": "Content lies over other content",
    "text-overflow": "Text does not fit into its box",
    "off-canvas": "Something lies outside the canvas, or content is cut by its edge",
    "low-contrast": "Text or a code can hardly be told from what lies behind it",
    "missing-font": "A font is not there and another stands in",
    "invisible": "An element draws nothing that can be seen",
    "empty-data": "An element has nothing to show",
    "bad-data": "An element's data cannot be drawn",
    "unfilled-field": "A {{field}} has no value yet",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, with which elements, and what would mend it."""

    code: Code
    message: str
    element_ids: tuple[str, ...]
    fix: str
