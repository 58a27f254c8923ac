"""Renders designs to bytes, by format and within limits, in worker processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from dovetail import ToolError
from dovetail_design import render_jobs
from dovetail_design.canvases import Canvas
from dovetail_design.render_jobs import Look, RenderRequest, SmallPicture
from dovetail_design.results import WarningView
from dovetail_design.sources import source_of
from dovetail_design.storage import State
from dovetail_design.studio import Studio

__all__ = ["SUFFIXES", "Drawn", "Look", "RenderRequest", "draw", "draw_preview", "draw_small"]

# Format -> file extension.
SUFFIXES: dict[str, str] = {
    "png": "png",
    "jpg": "jpg",
    "jpeg": "jpg",
    "webp": "webp",
    "pdf": "pdf",
    "svg": "svg",
    "pptx": "pptx",
    "json": "json",
}


@dataclass(frozen=True, slots=True)
class Drawn:
    """A rendered design; width and height are 0 for formats without pixels."""

    data: bytes
    mime_type: str
    width: int = 0
    height: int = 0
    substituted: Mapping[str, str] = field(default_factory=dict)
    # Characters that no font has.
    warnings: Sequence[WarningView] = ()


def draw(studio: Studio, state: State, request: RenderRequest, owner: str) -> Drawn:
    """Render a design of this owner; raises ToolError, for example for too many pixels."""
    if request.format == "json":
        plain = {key: value for key, value in state.items() if value not in ("", {})}
        return Drawn(msgspec.json.format(msgspec.json.encode(plain), indent=2), _MIME["json"])
    _check_ids(state, request.element_ids)
    width, height = round(state["width"] * request.scale), round(state["height"] * request.scale)
    most = _LONGEST_SIDE.get(request.format, width + height)
    if max(width, height) > most:
        raise ToolError(
            f"{width:,} x {height:,} pixels are too large for {request.format}, whose sides have "
            f"at most {most:,}; use a smaller scale, or png"
        )
    data, substituted, warnings = studio.renderer.run(
        render_jobs.draw,
        source_of(studio, state, owner),
        request,
        returns=tuple[bytes, dict[str, str], list[WarningView]],
    )
    return Drawn(data, _MIME[request.format], width, height, substituted, warnings)


def draw_preview(studio: Studio, state: State, width: int, owner: str) -> bytes:
    """Render a small PNG."""
    request = RenderRequest("png", scale=_fit(state, width), is_fast=True)
    return draw(studio, state, request, owner).data


def draw_small(
    studio: Studio, state: State, look: Look, owner: str
) -> tuple[Drawn, dict[str, str]]:
    """Render a picture of less than 60 KB; returns it with the element id of each number on it."""
    _check_ids(state, look.element_ids)
    small = studio.renderer.run(
        render_jobs.draw_small,
        source_of(studio, state, owner),
        look,
        _fit(state, look.max_width),
        returns=SmallPicture,
    )
    drawn = Drawn(small.data, _MIME[small.format], small.width, small.height)
    return drawn, small.labels


# The largest sides that the formats support.
_LONGEST_SIDE: dict[str, int] = {"jpg": 65_500, "jpeg": 65_500, "webp": 16_383}
_MIME: dict[str, str] = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "pdf": "application/pdf",
    "svg": "image/svg+xml",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "json": "application/json",
}


def _fit(state: State, width: int) -> float:
    """Return the scale that makes a design at most this wide, and not much higher."""
    return float(min(1.0, width / state["width"], 2 * width / state["height"]))


def _check_ids(state: State, ids: tuple[str, ...]) -> None:
    canvas = Canvas(state)
    for id in ids:
        canvas.get(id)
