"""The embedded icon set, loaded on first use from one compressed file.

The icons are from Phosphor 2.1, under the MIT licence in the file beside it. Each has two weights;
both are filled outlines, so one svg element draws either.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

__all__ = ["LICENCE", "VIEW_BOX", "Icon", "Weight", "find_icon", "load_icons"]

Weight = Literal["regular", "fill"]

VIEW_BOX = "0 0 256 256"
LICENCE = "Phosphor Icons, MIT"


@dataclass(frozen=True, eq=False)
class Icon:
    """An icon with its search words."""

    name: str
    categories: tuple[str, ...]
    tags: tuple[str, ...]
    regular: str
    fill: str

    @property
    def words(self) -> list[str]:
        """The words that a query is compared with, most important first."""
        parts = self.name.split("-")
        tags = [word for tag in self.tags for word in tag.lower().replace("-", " ").split()]
        groups = [word for group in self.categories for word in group.split() if word != "&"]
        return [self.name, *(parts if len(parts) > 1 else ()), *tags, *groups]

    def as_element(self, box: tuple[float, float, float, float], **style: Any) -> dict[str, Any]:
        """Return an svg element in a box (x, y, width, height); `weight="fill"` makes it solid."""
        weight = style.pop("weight", "regular")
        x, y, width, height = box
        return {
            "type": "svg",
            "name": self.name,
            "x": x,
            "y": y,
            "width": width,
            "height": height,
            "svgPath": self.fill if weight == "fill" else self.regular,
            "svgViewBox": VIEW_BOX,
            **style,
        }


@cache
def load_icons() -> dict[str, Icon]:
    """Return all icons by name, sorted."""
    packed = resources.files(__package__).joinpath("phosphor.tsv.gz").read_bytes()
    icons = {}
    for line in gzip.decompress(packed).decode().splitlines():
        name, categories, tags, regular, fill = line.split("\t")
        icons[name] = Icon(name, _split(categories), _split(tags), regular, fill)
    return icons


def find_icon(name: str) -> Icon | None:
    """Return the icon with this name, or None."""
    return load_icons().get(name)


def _split(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))
