"""Everything embedded that can be put on a canvas as a picture, and how it is found.

Clipart, illustrations, patterns and backgrounds are the same kind of thing: layers of paint and
path in a box. A picture becomes a group of elements (which can be edited and recoloured), or an
SVG text (which an image or svg element takes as its source).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, Literal

from dovetail_design.library.backgrounds import (
    BACKGROUND_SIZE,
    BACKGROUNDS,
    build_background,
)
from dovetail_design.library.clipart import CLIPART
from dovetail_design.library.clipping import clip_path
from dovetail_design.library.patterns import PATTERN_SIZE, PATTERNS, build_pattern
from dovetail_design.library.ranking import rank
from dovetail_design.library.scenes import SCENE_SIZE, SCENES, build_scene
from dovetail_design.library.svg_text import write_svg

__all__ = ["KINDS", "Picture", "PictureKind", "find_picture", "list_pictures", "search_pictures"]

PictureKind = Literal["clipart", "illustration", "pattern", "background"]
Layer = tuple[str, str]
Box = tuple[float, float, float, float]

KINDS: tuple[PictureKind, ...] = ("clipart", "illustration", "pattern", "background")
_CLIPART_SIZE = (100, 100)


@dataclass(frozen=True, eq=False)
class Picture:
    """One embedded picture."""

    name: str
    kind: PictureKind
    tags: tuple[str, ...]
    width: int
    height: int
    category: str
    build: Callable[[], list[Layer]]

    @property
    def uri(self) -> str:
        """What an image or svg element names as its source."""
        return f"embedded:{self.kind}/{self.name}"

    @property
    def words(self) -> list[str]:
        """What a query is compared with, the most telling first."""
        return [*self.name.split("-"), *self.tags, self.category, self.kind]

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """Paint and path, bottom first, in a box of width by height and cut at its edges."""
        cut = ((paint, clip_path(path, self.width, self.height)) for paint, path in self.build())
        return tuple((paint, path) for paint, path in cut if path)

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
    found = [
        Picture(name, "clipart", tuple(tags.split()), *_CLIPART_SIZE, "object", partial(list, rows))
        for name, (tags, rows) in CLIPART.items()
    ]
    found += [
        Picture(
            name,
            "illustration",
            tuple(row[0].split()),
            *SCENE_SIZE,
            row[1],
            partial(build_scene, name),
        )
        for name, row in SCENES.items()
    ]
    found += [
        Picture(
            name,
            "pattern",
            tuple(row[0].split()),
            *PATTERN_SIZE,
            "pattern",
            partial(build_pattern, name),
        )
        for name, row in PATTERNS.items()
    ]
    found += [
        Picture(
            name,
            "background",
            tuple(tags.split()),
            *BACKGROUND_SIZE,
            "background",
            partial(build_background, name),
        )
        for name, tags in BACKGROUNDS.items()
    ]
    return {picture.uri: picture for picture in found}


def list_pictures(*kinds: PictureKind) -> list[Picture]:
    """The pictures of some kinds, or all."""
    return [picture for picture in _pictures().values() if not kinds or picture.kind in kinds]


def find_picture(uri: str) -> Picture | None:
    """The picture that a URI names (`embedded:pattern/waves`), or None."""
    return _pictures().get(uri)


def search_pictures(
    query: str, kinds: tuple[PictureKind, ...] = KINDS, category: str | None = None
) -> list[Picture]:
    """Pictures of these kinds that fit the words, best first; all for an empty query."""
    wanted = None if category is None else category.strip().lower()
    entries = {
        picture: picture.words
        for picture in list_pictures(*kinds)
        if wanted is None or wanted in (picture.category, *picture.tags)
    }
    return rank(query, entries)
