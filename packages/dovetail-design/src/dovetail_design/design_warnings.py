"""Warnings and descriptions of designs.

The findings are imported on first use: they measure text and load the graphics library.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from dovetail_design.canvases import to_design
from dovetail_design.results import WarningView
from dovetail_design.sources import find_picture_source, has_picture_source
from dovetail_design.storage import State
from dovetail_design.studio import Studio

__all__ = ["Region", "describe_state", "find_missing_pictures", "find_warnings", "near"]


# Left, top, right, bottom.
Sides = tuple[float, float, float, float]
# Overflowing text, shadows and outlines extend beyond the box of an element.
_ROOM = 40


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the canvas."""

    x: float
    y: float
    width: float
    height: float


def find_warnings(studio: Studio, state: State, ids: Collection[str]) -> list[WarningView]:
    """Return warnings about these elements."""
    part = near(state, ids)
    if not part["elements"]:
        return []
    chosen = set(ids)
    lost = [
        one for one in find_missing_pictures(studio, part) if chosen.intersection(one.element_ids)
    ]
    return [*_views(_describe(studio, part).about(ids)), *lost]


def near(state: State, ids: Collection[str]) -> State:
    """Return the design reduced to these elements and their neighbours.

    Problems of an element depend on what it touches, so a small change of a large design does not
    need a check of everything. describe_design always checks everything.
    """
    chosen = set(ids)
    reach = {one["id"]: _reach(one) for one in state["elements"]}
    changed = [reach[id] for id in reach if id in chosen]
    if len(changed) > len(reach) // 2:
        return state if changed else {**state, "elements": []}
    parents = {one.get("groupId") for one in state["elements"] if one["id"] in chosen}
    kept = [
        one
        for one in state["elements"]
        if one["id"] in chosen
        or one["id"] in parents
        or any(_meet(reach[one["id"]], other) for other in changed)
    ]
    return {**state, "elements": kept}


def _reach(element: dict[str, Any]) -> Sides:
    """Return a box that contains the element at any rotation, with some margin."""
    width, height = element["width"], element["height"]
    across, down = width / 2, height / 2
    if element.get("rotation"):
        across = down = math.hypot(across, down)
    room = _ROOM + max(width, height) / 4
    middle = element["x"] + width / 2, element["y"] + height / 2
    return (
        middle[0] - across - room,
        middle[1] - down - room,
        middle[0] + across + room,
        middle[1] + down + room,
    )


def _meet(one: Sides, other: Sides) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def describe_state(
    studio: Studio,
    state: State,
    detail: Literal["outline", "full"],
    region: Region | None,
    longest: int,
) -> tuple[str, list[WarningView]]:
    """Return the design in text, and its warnings; only for a region if one is given."""
    from dovetail_design.findings.boxes import Box  # noqa: PLC0415 - as below

    found = _describe(studio, state)
    lost = find_missing_pictures(studio, state)
    if region is None:
        return found.text(detail, None, longest), [*_views(found.findings), *lost]
    x, y, width, height = part = (region.x, region.y, region.width, region.height)
    inside = {item.id for item in found.scene.near(Box(x, y, x + width, y + height))}
    lost = [one for one in lost if inside.intersection(one.element_ids)]
    return found.text(detail, part, longest), [*_views(found.about(inside)), *lost]


def find_missing_pictures(studio: Studio, state: State) -> list[WarningView]:
    """Return warnings for pictures whose source does not exist."""
    return [
        WarningView(
            code="missing-picture",
            message=f"The picture {element['src'][:80]!r} of {element['id']!r} was not found",
            element_ids=[element["id"]],
            fix="Set src to the uri of an asset (upload_asset, list_assets), an embedded:... uri "
            "from search_*, or a data: URI; nothing is downloaded.",
        )
        for element in state["elements"]
        if _is_elsewhere(element.get("src")) and not has_picture_source(studio, element["src"])
    ]


def _is_elsewhere(src: str | None) -> bool:
    return src is not None and src != "" and not src.startswith("data:") and "{{" not in src


def _describe(studio: Studio, state: State) -> Any:
    from dovetail_design.findings import (  # noqa: PLC0415 - loads the graphics library
        DrawingContext,
        describe,
    )

    context = DrawingContext(studio.book, partial(find_picture_source, studio))
    return describe(to_design(state), context)


def _views(found: Iterable[Any]) -> list[WarningView]:
    return [
        WarningView(
            code=one.code, message=one.message, element_ids=list(one.element_ids), fix=one.fix
        )
        for one in found
    ]
