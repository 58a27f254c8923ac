"""The embedded pictures: clipart, illustrations, patterns and backgrounds.

All are layers of paint and path in a box. `data/<folder>/index.json` lists the pictures of a kind;
the layers are in an SVG file of the same name, or in the index if they are one or more paints
over the whole box. A picture becomes a group of elements (which can be edited and recoloured), or
an SVG text (which an image or svg element can use as its source).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

import msgspec

from dovetail_design.library.data_files import Layer, read_json, read_svg
from dovetail_design.library.ranking import rank
from dovetail_design.library.svg_text import rectangle, write_svg
from dovetail_design.library.textures import Texture, build_texture

__all__ = ["KINDS", "Picture", "PictureKind", "find_picture", "list_pictures", "search_pictures"]

PictureKind = Literal["clipart", "illustration", "pattern", "background"]
Box = tuple[float, float, float, float]

# Kind -> its folder in library/data.
_FOLDERS: dict[PictureKind, str] = {
    "clipart": "clipart",
    "illustration": "illustrations",
    "pattern": "patterns",
    "background": "backgrounds",
}
KINDS: tuple[PictureKind, ...] = tuple(_FOLDERS)


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    category: str
    tags: tuple[str, ...]
    # Without paints and texture the layers are in the SVG file of this name.
    paints: tuple[str, ...] = ()
    texture: Texture | None = None


class _Index(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    width: int
    height: int
    pictures: tuple[_Entry, ...]


@dataclass(frozen=True, eq=False)
class Picture:
    """One embedded picture."""

    kind: PictureKind
    width: int
    height: int
    entry: _Entry

    @property
    def name(self) -> str:
        """The name, unique within the kind."""
        return self.entry.name

    @property
    def category(self) -> str:
        """What it shows, such as landscape or city."""
        return self.entry.category

    @property
    def tags(self) -> tuple[str, ...]:
        """More words that find it."""
        return self.entry.tags

    @property
    def uri(self) -> str:
        """The source that an image or svg element gives to show it."""
        return f"embedded:{self.kind}/{self.name}"

    @property
    def words(self) -> list[str]:
        """The words that a query is compared with, most important first."""
        return [*self.name.split("-"), *self.tags, self.category, self.kind]

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """Paint and path, bottom first, in a box of width by height."""
        if self.entry.texture is not None:
            return build_texture(self.entry.texture, self.name, self.width, self.height)
        if self.entry.paints:
            path = rectangle(self.width, self.height)
            return tuple((paint, path) for paint in self.entry.paints)
        return read_svg(f"{_FOLDERS[self.kind]}/{self.name}.svg", self.width, self.height)

    def as_svg(self) -> str:
        """The picture as an SVG text."""
        return write_svg(self.layers, self.width, self.height)

    def as_elements(self, box: Box, group: str) -> list[dict[str, Any]]:
        """The picture as svg elements of one group, filling the box (x, y, width, height)."""
        x, y, width, height = box
        return [
            {
                "type": "svg",
                "name": f"{self.name} {number}",
                "groupId": group,
                "x": x,
                "y": y,
                "width": width,
                "height": height,
                "svgPath": path,
                "svgViewBox": f"0 0 {self.width} {self.height}",
                "fill": paint,
            }
            for number, (paint, path) in enumerate(self.layers, 1)
        ]


@cache
def _pictures() -> dict[str, Picture]:
    found = {}
    for kind, folder in _FOLDERS.items():
        index = read_json(f"{folder}/index.json", _Index)
        for entry in index.pictures:
            picture = Picture(kind, index.width, index.height, entry)
            found[picture.uri] = picture
    return found


def list_pictures(*kinds: PictureKind) -> list[Picture]:
    """Return the pictures of these kinds, or all."""
    return [picture for picture in _pictures().values() if not kinds or picture.kind in kinds]


def find_picture(uri: str) -> Picture | None:
    """Return the picture of a URI such as `embedded:pattern/waves`, or None."""
    return _pictures().get(uri)


def search_pictures(
    query: str, kinds: tuple[PictureKind, ...] = KINDS, category: str | None = None
) -> list[Picture]:
    """Return the pictures that match the query, best first; all for an empty query."""
    wanted = None if category is None else category.strip().lower()
    entries = {
        picture: picture.words
        for picture in list_pictures(*kinds)
        if wanted is None or wanted in (picture.category, *picture.tags)
    }
    return rank(query, entries)
