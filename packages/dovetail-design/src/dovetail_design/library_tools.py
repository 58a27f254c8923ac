"""The tools for the embedded library: icons, pictures, shapes, fonts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta

from dovetail import ToolResult
from dovetail_design.answers import MAX_CHARS, Registrar, answer, tool
from dovetail_design.inputs import ApiKey, Page, Query
from dovetail_design.library.font_catalogue import font_advice
from dovetail_design.library.font_catalogue import list_fonts as fonts_of
from dovetail_design.library.icons.catalogue import LICENCE, Icon
from dovetail_design.library.icons.searching import search_icons as find_icons
from dovetail_design.library.pictures import Picture, PictureKind, search_pictures
from dovetail_design.library.shapes import CATEGORIES, Shape, search_shapes
from dovetail_design.library.shapes import list_shapes as shapes_of
from dovetail_design.result_views import fit_budget, fit_page
from dovetail_design.results import FontCatalogue, Found, ShapePage
from dovetail_design.studio import Studio
from dovetail_serverkit.answer_size import AnswerBudget
from dovetail_serverkit.tool_descriptions import READS

__all__ = ["add_library_tools", "show_fonts"]

_PerPage = Annotated[int, Meta(ge=1, le=100, description="Results")]
_Category = Literal[
    "basic", "arrows", "stars", "callouts", "nature", "symbols", "geometric", "extra", "all"
]
_STOCK: tuple[PictureKind, ...] = ("background", "pattern")

# Prefix of a query -> what it searches, as in the hosted service. Default: backgrounds, patterns.
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


def add_library_tools(tools: Registrar, studio: Studio) -> None:
    """Register them."""
    _add_searches(tools)

    @tool(
        tools,
        "list_fonts",
        "List the font families with weights, uses and pairings.",
        READS,
        FontCatalogue,
    )
    def list_fonts(
        category: Annotated[
            Literal["sans-serif", "serif", "display", "script", "monospace", "other"] | None,
            "Kind",
        ] = None,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        return answer(show_fonts(studio, category))


def show_fonts(studio: Studio, category: str | None = None) -> FontCatalogue:
    """Return the available families, and advice."""
    found = fonts_of(category, studio.book)
    shown = fit_budget(found, AnswerBudget(MAX_CHARS))
    return FontCatalogue(fonts=shown, total=len(found), source="embedded", **font_advice())


def _add_searches(tools: Registrar) -> None:

    @tool(
        tools,
        "search_stock_images",
        "Search embedded backgrounds and patterns; `uri` is the src of an image. Prefixes search "
        "elsewhere: icon:, clipart:, illustration:, photo:, pattern:.",
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
        tools,
        "search_icons",
        "Search icons. Each result has an `element` for add_element.",
        READS,
        Found,
    )
    def search_icons(
        query: Query,
        page: Page = 1,
        perPage: _PerPage = 10,
        style: Literal["regular", "fill"] = "regular",
        apiKey: ApiKey = None,
    ) -> ToolResult:
        return _page(query, find_icons(query), page, perPage, style)

    @tool(
        tools,
        "search_clipart",
        "Search embedded clipart; `uri` is the src of an image.",
        READS,
        Found,
    )
    def search_clipart(
        query: Query,
        tag: Annotated[Annotated[str, Meta(max_length=50)] | None, "Tag"] = None,
        page: Page = 1,
        perPage: _PerPage = 20,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        return _page(query, search_pictures(query, ("clipart",), tag), page, perPage)

    @tool(
        tools,
        "search_illustrations",
        "Search embedded illustrations; `uri` is the src of an image.",
        READS,
        Found,
    )
    def search_illustrations(
        query: Query,
        category: Annotated[Annotated[str, Meta(max_length=50)] | None, "Category"] = None,
        page: Page = 1,
        perPage: _PerPage = 20,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        found = search_pictures(query, ("illustration",), category)
        return _page(query, found, page, perPage)

    @tool(
        tools,
        "list_shapes",
        "List or search shapes: svgPath in a 100 by 100 box, for an svg element.",
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
        shown = fit_budget([_show_shape(one) for one in found[offset:]], AnswerBudget(MAX_CHARS))
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
    shown, has_more = fit_page([_show(one, style) for one in found], page, size, MAX_CHARS)
    return answer(
        Found(
            query=query,
            results=shown,
            page=page,
            total=len(found),
            has_more=has_more,
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
