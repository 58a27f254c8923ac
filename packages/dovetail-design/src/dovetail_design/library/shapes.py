"""The shape library behind list_shapes: outlines by category.

`data/shapes/index.json` lists the names by category; the outline of each is the one path of an SVG
file with a 100 by 100 view box.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from dovetail_design.library.data_files import read_json, read_svg
from dovetail_design.library.ranking import rank

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
    """A shape: a path in a box of 100 by 100 that scales to any size."""

    id: str
    name: str
    category: str
    svg_path: str

    def as_element(self, x: float, y: float, width: float, height: float) -> dict[str, Any]:
        """Return an svg element with this outline, ready for add_element."""
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
        name: Shape(name, name.replace("-", " ").capitalize(), category, _read_path(name))
        for category, names in read_json("shapes/index.json", dict[str, list[str]]).items()
        for name in names
    }


def _read_path(name: str) -> str:
    ((_, path),) = read_svg(f"shapes/{name}.svg", 100, 100)
    return path


def list_shapes(category: str = "all") -> list[Shape]:
    """Return the shapes of a category, in the order of the index; raises ValueError."""
    if category != "all" and category not in CATEGORIES:
        allowed = ", ".join(["all", *CATEGORIES])
        raise ValueError(f"no shape category {category!r}; the categories are {allowed}")
    return [shape for shape in _shapes().values() if category in ("all", shape.category)]


def find_shape(name: str) -> Shape | None:
    """Return the shape with this id, or None."""
    return _shapes().get(name)


def search_shapes(query: str) -> list[Shape]:
    """Return the shapes whose name or category matches the query, best first."""
    words = {shape: [*shape.id.split("-"), shape.category] for shape in _shapes().values()}
    return rank(query, words)
