"""Renders designs to bytes, by format and within limits.

The renderer is imported on first use, because it loads the graphics library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from dovetail import ToolError
from dovetail_design.canvases import Canvas, to_design
from dovetail_design.inputs import Format
from dovetail_design.model import Barcode, Design, Table, Text
from dovetail_design.overlays import grid_lines, label_elements
from dovetail_design.sources import find_picture_source
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
MAX_PREVIEW_BYTES = 60_000


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """How to render a design."""

    format: Format
    quality: int = 90
    scale: float = 1.0
    transparent: bool = False
    element_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Look:
    """The options of a preview."""

    max_width: int = 512
    element_ids: tuple[str, ...] = ()
    grid: bool = False
    labels: bool = False


@dataclass(frozen=True, slots=True)
class Drawn:
    """A rendered design; width and height are 0 for formats without pixels."""

    data: bytes
    mime_type: str
    width: int = 0
    height: int = 0
    substituted: Mapping[str, str] = field(default_factory=dict)


def draw(studio: Studio, state: State, request: RenderRequest) -> Drawn:
    """Render a design; raises ToolError, for example if the picture would be too large."""
    if request.format == "json":
        plain = {key: value for key, value in state.items() if value not in ("", {})}
        return Drawn(msgspec.json.format(msgspec.json.encode(plain), indent=2), _MIME["json"])
    _check_ids(state, request.element_ids)
    design = to_design(state)
    render, options = _renderer(studio, state, request)
    width, height = round(design.width * request.scale), round(design.height * request.scale)
    most = _LONGEST_SIDE.get(request.format, width + height)
    if max(width, height) > most:
        raise ToolError(
            f"{width:,} x {height:,} pixels are too large for {request.format}, whose sides have "
            f"at most {most:,}; use a smaller scale, or png"
        )
    substituted = {
        choice.asked: choice.family for choice in studio.book.substitutions(_families(design))
    }
    return Drawn(render(design, options), _MIME[request.format], width, height, substituted)


def draw_preview(studio: Studio, state: State, width: int) -> bytes:
    """Render a small PNG."""
    small = RenderRequest("png", scale=_fit(state, width))
    render, options = _renderer(studio, state, small, is_fast=True)
    return render(to_design(state), options)


def draw_small(studio: Studio, state: State, look: Look) -> tuple[Drawn, dict[str, str]]:
    """Render a small picture; returns it with the element id of each number on it.

    PNG if it is small enough, because text stays sharp; else JPEG, with lower quality and then a
    smaller size.
    """
    _check_ids(state, look.element_ids)
    scale = _fit(state, look.max_width)
    shown, labels = _overlay(state, look, scale)
    design = to_design(shown)
    ids = tuple(one["id"] for one in shown["elements"][len(state["elements"]) :])
    chosen = (*look.element_ids, *ids) if look.element_ids else ()
    while True:
        for format, quality in _ATTEMPTS:
            request = RenderRequest(format, quality, scale, element_ids=chosen)
            render, options = _renderer(studio, state, request, is_fast=True)
            data = render(design, options)
            if len(data) <= MAX_PREVIEW_BYTES:
                sides = max(1, round(design.width * scale)), max(1, round(design.height * scale))
                return Drawn(data, _MIME[format], *sides), labels
        scale *= 0.7


_ATTEMPTS: tuple[tuple[Format, int], ...] = (("png", 100), ("jpg", 85), ("jpg", 65), ("jpg", 40))
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


def _renderer(
    studio: Studio, state: State, request: RenderRequest, *, is_fast: bool = False
) -> tuple[Callable[[Design, Any], bytes], Any]:
    from dovetail_design import rendering  # noqa: PLC0415 - loads the graphics library

    renderers = {
        "png": rendering.render_png,
        "jpg": rendering.render_jpeg,
        "jpeg": rendering.render_jpeg,
        "webp": rendering.render_webp,
        "pdf": rendering.render_pdf,
        "svg": rendering.render_svg,
        "pptx": rendering.render_pptx,
    }
    options = rendering.RenderOptions(
        scale=request.scale,
        transparent=request.transparent,
        element_ids=request.element_ids or None,
        quality=request.quality,
        is_fast=is_fast,
        title=state["name"],
        find_asset=partial(find_picture_source, studio),
        book=studio.book,
    )
    return renderers[request.format], options


def _fit(state: State, width: int) -> float:
    """Return the scale that makes a design at most this wide, and not much higher."""
    return float(min(1.0, width / state["width"], 2 * width / state["height"]))


def _overlay(state: State, look: Look, scale: float) -> tuple[State, dict[str, str]]:
    marks: list[dict[str, Any]] = []
    labels: dict[str, str] = {}
    if look.grid:
        marks += grid_lines(state, scale)
    if look.labels:
        frames, labels = label_elements(state, scale)
        marks += frames
    return {**state, "elements": [*state["elements"], *marks]}, labels


def _check_ids(state: State, ids: tuple[str, ...]) -> None:
    canvas = Canvas(state)
    for id in ids:
        canvas.get(id)


def _families(design: Design) -> list[str]:
    return [one.fontFamily for one in design.elements if isinstance(one, Text | Table | Barcode)]
