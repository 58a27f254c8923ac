"""The functions that run in worker processes: they give what callers sent to native code.

Arguments and results are plain values. The modules that load the graphics library are imported
inside the functions, because the server imports this module only to name them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from dovetail_design.canvases import to_design
from dovetail_design.fonts import FontBook
from dovetail_design.inputs import Format
from dovetail_design.library.pictures import find_picture
from dovetail_design.model import Barcode, Design, Table, Text, to_plain
from dovetail_design.overlays import grid_lines, label_elements
from dovetail_design.results import WarningView
from dovetail_design.storage import State

if TYPE_CHECKING:
    from dovetail_design.findings import Description
    from dovetail_design.rendering import DrawingContext

__all__ = [
    "Look",
    "RenderRequest",
    "SmallPicture",
    "Source",
    "adapt",
    "check",
    "describe",
    "draw",
    "draw_small",
    "find_picture_data",
    "resize",
]

MAX_PREVIEW_BYTES = 60_000
# Formats that have pages.
_DOCUMENTS = frozenset({"pdf", "pptx"})
_ATTEMPTS: tuple[tuple[Format, int], ...] = (("png", 100), ("jpg", 85), ("jpg", 65), ("jpg", 40))


@dataclass(frozen=True, slots=True)
class Source:
    """A design with the files that it uses; paths are bytes, as not all of them are text."""

    state: State
    # src -> path, for pictures that are assets.
    pictures: dict[str, bytes]
    # The operator's folder, or empty.
    fonts: bytes


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """How to render a design."""

    format: Format
    quality: int = 90
    scale: float = 1.0
    transparent: bool = False
    element_ids: tuple[str, ...] = ()
    # Faster but larger files, for previews.
    is_fast: bool = False
    # SVG: text as outlines instead of letters with embedded fonts.
    outlines: bool = False
    # 0: all pages of a document, the first one for formats without pages.
    page: int = 0


@dataclass(frozen=True, slots=True)
class Look:
    """The options of a preview."""

    max_width: int = 512
    element_ids: tuple[str, ...] = ()
    grid: bool = False
    labels: bool = False
    page: int = 1


@dataclass(frozen=True, slots=True)
class SmallPicture:
    """A preview, with the element id of each number on it."""

    data: bytes
    format: str
    width: int
    height: int
    labels: dict[str, str]


def draw(
    source: dict[str, Any], request: dict[str, Any]
) -> tuple[bytes, dict[str, str], list[WarningView]]:
    """Return the file, the families used for missing ones, and characters without a font.

    Raises ToolError.
    """
    from dovetail_design.findings import typefaces  # noqa: PLC0415 - loads the graphics library

    given, wanted = _read(source), msgspec.convert(request, RenderRequest)
    design = to_design(given.state)
    families = [
        one.fontFamily for one in design.elements if isinstance(one, Text | Table | Barcode)
    ]
    substituted = _book(given.fonts).substitutions(families)
    shown = [one for one in design.elements if one.visible]
    lost = typefaces.missing_glyphs(shown, _context(given))
    data = _render(given, design, wanted)
    return data, {one.asked: one.family for one in substituted}, _views(lost)


def draw_small(source: dict[str, Any], look: dict[str, Any], scale: float) -> SmallPicture:
    """Return a small picture; raises ToolError.

    PNG if it is small enough, because text stays sharp; else JPEG, with lower quality and then a
    smaller size.
    """
    given, wanted = _read(source), msgspec.convert(look, Look)
    state = {
        **given.state,
        "elements": [one for one in given.state["elements"] if one.get("page", 1) == wanted.page],
    }
    shown, labels = _overlay(state, wanted, scale)
    design = to_design(shown)
    ids = tuple(one["id"] for one in shown["elements"][len(state["elements"]) :])
    chosen = (*wanted.element_ids, *ids) if wanted.element_ids else ()
    while True:
        for format, quality in _ATTEMPTS:
            request = RenderRequest(format, quality, scale, element_ids=chosen, is_fast=True)
            data = _render(given, design, request)
            if len(data) <= MAX_PREVIEW_BYTES:
                width, height = (
                    max(1, round(side * scale)) for side in (design.width, design.height)
                )
                return SmallPicture(data, format, width, height, labels)
        scale *= 0.7


def check(source: dict[str, Any], ids: Collection[str]) -> list[WarningView]:
    """Return the findings about these elements."""
    return [one for page in _descriptions(_read(source)) for one in _views(page.about(ids))]


def describe(
    source: dict[str, Any],
    detail: Literal["outline", "full"],
    region: tuple[float, float, float, float] | None,
    longest: int,
) -> tuple[str, list[WarningView], list[str]]:
    """Return the design as text, its findings, and the ids of the elements in the region."""
    from dovetail_design.findings.boxes import Box  # noqa: PLC0415 - loads the graphics library

    pages = _descriptions(_read(source))
    texts, views, inside = [], [], []
    for number, found in enumerate(pages, 1):
        head = f"Page {number} of {len(pages)}\n" if len(pages) > 1 else ""
        text = found.text(detail, region, longest // len(pages) - len(head) - 2)
        texts.append(f"{head}{text}")
        if region is None:
            views += _views(found.findings)
            continue
        x, y, width, height = region
        near = [item.id for item in found.scene.near(Box(x, y, x + width, y + height))]
        views += _views(found.about(near))
        inside += near
    return "\n\n".join(texts), views, inside


def adapt(state: State, width: int, height: int, style: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the background and the elements in another size and style.

    Texts that do not fit become smaller, and texts that cannot be read get another colour.
    """
    from dovetail_design.generating import (  # noqa: PLC0415 - loads the graphics library
        autofix,
        recolouring,
    )

    change, _ = recolouring.read_style(style)
    design = to_design(recolouring.recolour(state, change))
    elements: list[dict[str, Any]] = []
    for page in design.split():
        fixed = autofix.fix_contrast(autofix.fit_texts(_resize(page, width, height)))
        elements += [to_plain(element) for element in fixed.elements]
    return design.background, elements


def resize(state: State, width: int, height: int) -> list[dict[str, Any]]:
    """Return the elements in a new layout."""
    pages = [_resize(page, width, height) for page in to_design(state).split()]
    return [to_plain(element) for page in pages for element in page.elements]


def _resize(page: Design, width: int, height: int) -> Design:
    """Return a page in another size; in columns only where these cause no problem."""
    from dovetail_design import findings  # noqa: PLC0415 - loads the graphics library
    from dovetail_design.generating import resizing  # noqa: PLC0415

    resized = resizing.resize(page, width, height)
    stacked = resizing.resize(page, width, height, in_columns=False)
    if resized == stacked:
        return resized
    found = [len(findings.describe(one).findings) for one in (resized, stacked)]
    return resized if found[0] <= found[1] else stacked


def find_picture_data(pictures: dict[str, bytes], src: str) -> bytes | None:
    """Return the bytes of a picture that is not a data URI, or None."""
    if src.startswith("embedded:"):
        picture = find_picture(src)
        return None if picture is None else picture.as_svg().encode()
    try:
        return Path(os.fsdecode(pictures[src])).read_bytes()
    except (KeyError, FileNotFoundError):
        return None


def _read(source: dict[str, Any]) -> Source:
    return msgspec.convert(source, Source)


@cache
def _book(fonts: bytes) -> FontBook:
    return FontBook(Path(os.fsdecode(fonts)) if fonts else None)


def _render(source: Source, design: Design, request: RenderRequest) -> bytes:
    from dovetail_design import rendering  # noqa: PLC0415 - loads the graphics library

    render = {
        "png": rendering.render_png,
        "jpg": rendering.render_jpeg,
        "jpeg": rendering.render_jpeg,
        "webp": rendering.render_webp,
        "pdf": rendering.render_pdf,
        "svg": rendering.render_svg,
        "pptx": rendering.render_pptx,
    }[request.format]
    options = rendering.RenderOptions(
        scale=request.scale,
        transparent=request.transparent,
        element_ids=request.element_ids or None,
        quality=request.quality,
        is_fast=request.is_fast,
        text_as_paths=request.outlines,
        title=source.state["name"],
        find_asset=partial(find_picture_data, source.pictures),
        book=_book(source.fonts),
    )
    if request.page or request.format not in _DOCUMENTS:
        # As its own first page, so that a document begins with it.
        elements = [
            msgspec.structs.replace(one, page=1) for one in design.page(request.page or 1).elements
        ]
        design = msgspec.structs.replace(design, elements=tuple(elements))
    return render(design, options)


def _overlay(state: State, look: Look, scale: float) -> tuple[State, dict[str, str]]:
    marks: list[dict[str, Any]] = []
    labels: dict[str, str] = {}
    if look.grid:
        marks += grid_lines(state, scale)
    if look.labels:
        frames, labels = label_elements(state, scale)
        marks += frames
    return {**state, "elements": [*state["elements"], *marks]}, labels


def _descriptions(source: Source) -> list[Description]:
    """Return a description of each page."""
    from dovetail_design import findings  # noqa: PLC0415 - loads the graphics library

    pages = to_design(source.state).split()
    return [findings.describe(page, _context(source)) for page in pages]


def _context(source: Source) -> DrawingContext:
    from dovetail_design import rendering  # noqa: PLC0415 - loads the graphics library

    return rendering.DrawingContext(
        _book(source.fonts), partial(find_picture_data, source.pictures)
    )


def _views(found: Iterable[Any]) -> list[WarningView]:
    return [
        WarningView(
            code=one.code, message=one.message, element_ids=list(one.element_ids), fix=one.fix
        )
        for one in found
    ]
