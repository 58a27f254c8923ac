"""The tools for what the studio ships with: icons, pictures, shapes, fonts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta

from dovetail import Server, ToolResult
from dovetail_design.answers import MAX_CHARS, answer, tool
from dovetail_design.inputs import ApiKey, Page, Query
from dovetail_design.library.font_catalogue import font_advice
from dovetail_design.library.font_catalogue import list_fonts as fonts_of
from dovetail_design.library.icons.catalogue import LICENCE, Icon
from dovetail_design.library.icons.searching import search_icons as find_icons
from dovetail_design.library.pictures import Picture, PictureKind, search_pictures
from dovetail_design.library.shapes import CATEGORIES, Shape, search_shapes
from dovetail_design.library.shapes import list_shapes as shapes_of
from dovetail_design.results import FontCatalogue, Found, ShapePage
from dovetail_design.showing import fitting
from dovetail_design.studio import Studio
from dovetail_serverkit.budget import Budget
from dovetail_serverkit.describing import READS

__all__ = ["add_library_tools", "show_fonts"]

_PerPage = Annotated[int, Meta(ge=1, le=100, description="How many on a page.")]
_Category = Literal[
    "basic", "arrows", "stars", "callouts", "nature", "symbols", "geometric", "extra", "all"
]
_STOCK: tuple[PictureKind, ...] = ("background", "pattern")

# Prefix of a query -> where it looks, as in the hosted service; without: backgrounds, patterns.
_PLACES: dict[str, Callable[[str], Sequence[Any]]] = {
    **dict.fromkeys(("icon", "icons", "iconify"), find_icons),
    **dict.fromkeys(("clipart", "clip"), lambda query: search_pictures(query, ("clipart",))),
    **dict.fromkeys(
        ("illustration", "illustrations"),
        lambda query: search_pictures(query, ("illustration",)),
    ),
    **dict.fromkeys(
        ("photo", "unsplash", "background"),
        lambda query: search_pictures(query, ("background",)),
    ),
    "pattern": lambda query: search_pictures(query, ("pattern",)),
}


def add_library_tools(server: Server, studio: Studio) -> None:
    """Register them."""
    _add_searches(server)

    @tool(
        server,
        "list_fonts",
        "Font families that are there, with weights and what they are good for, and which go "
        "together. Other families are substituted, and warnings say by which.",
        READS,
        FontCatalogue,
    )
    def list_fonts(
        category: Annotated[
            Literal["sans-serif", "serif", "display", "script", "monospace", "other"] | None,
            "Only of this kind.",
        ] = None,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        return answer(show_fonts(studio, category))


def show_fonts(studio: Studio, category: str | None = None) -> FontCatalogue:
    """The families that are there, and advice."""
    found = fonts_of(category, studio.book)
    shown = fitting(found, Budget(MAX_CHARS))
    return FontCatalogue(fonts=shown, total=len(found), source="embedded", **font_advice())


def _add_searches(server: Server) -> None:

    @tool(
        server,
        "search_stock_images",
        "Backgrounds and patterns that the studio draws itself, by words; nothing is fetched. "
        "`src` of an image takes the `uri`. A prefix looks elsewhere: icon:, clipart:, "
        "illustration:, photo:, pattern:.",
        READS,
        Found,
    )
    def search_stock_images(
        query: Query, page: Page = 1, perPage: _PerPage = 20, apiKey: ApiKey = None
    ) -> ToolResult:
        prefix, colon, rest = query.partition(":")
        place = _PLACES.get(prefix.strip().lower()) if colon else None
        found = place(rest) if place is not None else search_pictures(query, _STOCK)
        return _page(query, found, page, perPage)

    @tool(
        server,
        "search_icons",
        "Icons by words. Each result has an svg element to hand to add_element: give it x, y, "
        "width, height and fill.",
        READS,
        Found,
    )
    def search_icons(
        query: Query,
        page: Page = 1,
        perPage: _PerPage = 10,
        style: Annotated[Literal["regular", "fill"], "Outlines, or solid."] = "regular",
        apiKey: ApiKey = None,
    ) -> ToolResult:
        return _page(query, find_icons(query), page, perPage, style)

    @tool(
        server,
        "search_clipart",
        "Clipart by words, drawn by the studio; `src` of an image takes the `uri`.",
        READS,
        Found,
    )
    def search_clipart(
        query: Query,
        tag: Annotated[Annotated[str, Meta(max_length=50)] | None, "Only with this tag."] = None,
        page: Page = 1,
        perPage: _PerPage = 20,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        return _page(query, search_pictures(query, ("clipart",), tag), page, perPage)

    @tool(
        server,
        "search_illustrations",
        "Illustrations by words, drawn by the studio; `src` of an image takes the `uri`.",
        READS,
        Found,
    )
    def search_illustrations(
        query: Query,
        category: Annotated[
            Annotated[str, Meta(max_length=50)] | None, "Only of this category."
        ] = None,
        page: Page = 1,
        perPage: _PerPage = 20,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        found = search_pictures(query, ("illustration",), category)
        return _page(query, found, page, perPage)

    @tool(
        server,
        "list_shapes",
        "Shapes by category, or by words with `search`. Each has an svgPath in a box of 100 by 100 "
        "for an svg element. Long lists come in pages: follow nextOffset.",
        READS,
        ShapePage,
    )
    def list_shapes(
        category: _Category = "all",
        search: Annotated[Annotated[str, Meta(max_length=100)] | None, "Words."] = None,
        offset: Annotated[int, Meta(ge=0, le=10_000)] = 0,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        found = shapes_of(category)
        if search:
            found = [one for one in search_shapes(search) if one in found]
        shown = fitting([_show_shape(one) for one in found[offset:]], Budget(MAX_CHARS))
        end = offset + len(shown)
        return answer(
            ShapePage(
                shapes=shown,
                total=len(found),
                has_more=end < len(found),
                next_offset=end if end < len(found) else None,
                categories=list(CATEGORIES),
                source="embedded",
            )
        )


def _page(
    query: str, found: Sequence[Any], page: int, size: int, style: str = "regular"
) -> ToolResult:
    start = (page - 1) * size
    shown = fitting([_show(one, style) for one in found[start : start + size]], Budget(MAX_CHARS))
    end = start + len(shown)
    return answer(
        Found(
            query=query,
            results=shown,
            page=page,
            total=len(found),
            has_more=end < len(found),
            source="embedded",
        )
    )


def _show(one: Icon | Picture, style: str) -> dict[str, Any]:
    if isinstance(one, Picture):
        return {
            "name": one.name,
            "kind": one.kind,
            "category": one.category,
            "tags": list(one.tags),
            "uri": one.uri,
            "width": one.width,
            "height": one.height,
            "source": "embedded",
        }
    element = one.as_element((0, 0, 64, 64), weight=style)
    return {
        "name": one.name,
        "kind": "icon",
        "tags": list(one.tags)[:8],
        "licence": LICENCE,
        "source": "embedded",
        "element": element,
    }


def _show_shape(one: Shape) -> dict[str, Any]:
    return {
        "id": one.id,
        "name": one.name,
        "category": one.category,
        "svgPath": one.svg_path,
        "svgViewBox": "0 0 100 100",
        "source": "embedded",
    }
