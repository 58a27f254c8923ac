"""Warnings and descriptions of designs; worker processes measure and draw for them."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from dovetail import ToolError
from dovetail_design import render_jobs
from dovetail_design.results import WarningView
from dovetail_design.sources import has_picture_source, source_of
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


def find_warnings(
    studio: Studio, state: State, ids: Collection[str], owner: str
) -> list[WarningView]:
    """Return warnings about these elements.

    Never raises ToolError: the change that they are about is already stored.
    """
    part = near(state, ids)
    if not part["elements"]:
        return []
    chosen = set(ids)
    lost = [
        one
        for one in find_missing_pictures(studio, part, owner)
        if chosen.intersection(one.element_ids)
    ]
    try:
        found = studio.renderer.run(
            render_jobs.check,
            source_of(studio, part, owner),
            list(ids),
            returns=list[WarningView],
            kept="",
        )
    except ToolError as error:
        found = [_not_checked(ids, error)]
    return [*found, *lost]


def _not_checked(ids: Collection[str], error: ToolError) -> WarningView:
    return WarningView(
        code="not-checked",
        message=f"The change is stored, but it could not be checked: {error}",
        element_ids=list(ids)[:20],
        fix="Look at it with render_preview; if that fails too, undo it with design_history.",
    )


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
    owner: str,
) -> tuple[str, list[WarningView]]:
    """Return the design in text, and its warnings; only for a region if one is given."""
    part = None
    if region is not None:
        part = (region.x, region.y, region.width, region.height)
    text, found, inside = studio.renderer.run(
        render_jobs.describe,
        source_of(studio, state, owner),
        detail,
        part,
        longest,
        returns=tuple[str, list[WarningView], list[str]],
    )
    lost = find_missing_pictures(studio, state, owner)
    if region is not None:
        lost = [one for one in lost if set(inside).intersection(one.element_ids)]
    return text, [*found, *lost]


def find_missing_pictures(studio: Studio, state: State, owner: str) -> list[WarningView]:
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
        if _is_elsewhere(element.get("src"))
        and not has_picture_source(studio, element["src"], owner)
    ]


def _is_elsewhere(src: str | None) -> bool:
    return src is not None and src != "" and not src.startswith("data:") and "{{" not in src
