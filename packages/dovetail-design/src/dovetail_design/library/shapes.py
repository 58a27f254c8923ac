"""The shape library: what list_shapes shows, by category, each a path in a 100 by 100 box."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from dovetail_design.library.ranking import rank
from dovetail_design.library.shape_outlines import OUTLINES

__all__ = ["CATEGORIES", "VIEW_BOX", "Shape", "find_shape", "list_shapes", "search_shapes"]

VIEW_BOX = "0 0 100 100"
SOURCE = "embedded"

CATEGORIES = {
    "basic": "Basic shapes",
    "arrows": "Arrows",
    "stars": "Stars and bursts",
    "callouts": "Speech and thought",
    "nature": "Nature and weather",
    "symbols": "Symbols",
    "geometric": "Geometric",
    "extra": "Tiles, frames and free forms",
}


@dataclass(frozen=True)
class Shape:
    """One shape: its path fills a box of 100 by 100 and scales to any size."""

    id: str
    name: str
    category: str
    svg_path: str

    def as_element(self, x: float, y: float, width: float, height: float) -> dict[str, Any]:
        """An svg element with this outline, ready for add_element."""
        return {
            "type": "svg",
            "name": self.id,
            "x": x,
            "y": y,
            "width": width,
            "height": height,
            "svgPath": self.svg_path,
            "svgViewBox": VIEW_BOX,
        }


@cache
def _shapes() -> dict[str, Shape]:
    return {
        name: Shape(name, name.replace("-", " ").capitalize(), category, path)
        for category, outlines in OUTLINES.items()
        for name, path in outlines.items()
    }


def list_shapes(category: str = "all") -> list[Shape]:
    """The shapes of a category, in the order of the table."""
    if category != "all" and category not in CATEGORIES:
        allowed = ", ".join(["all", *CATEGORIES])
        raise ValueError(f"no shape category {category!r}; there are {allowed}")
    return [shape for shape in _shapes().values() if category in ("all", shape.category)]


def find_shape(name: str) -> Shape | None:
    """The shape of this id, or None."""
    return _shapes().get(name)


def search_shapes(query: str) -> list[Shape]:
    """Shapes whose name or category fits the words, best first."""
    words = {shape: [*shape.id.split("-"), shape.category] for shape in _shapes().values()}
    return rank(query, words)
