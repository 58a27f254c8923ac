"""The merged tools of the compact set: one read and one search, which call the other tools."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from dovetail import Context, ToolError, ToolResult
from dovetail_design.answers import Registrar, tool
from dovetail_design.inputs import Limit, Page, PageNumber
from dovetail_design.operations import ElementIds
from dovetail_design.studio import Studio
from dovetail_serverkit.tool_descriptions import READS

__all__ = ["add_compact_tools"]

_What = Literal["outline", "picture", "elements", "list", "properties"]
_Kind = Literal[
    "templates", "icons", "clipart", "illustrations", "backgrounds", "shapes", "fonts", "assets"
]
# Kind -> tool, and the names of its parameters for a query and for the number of results.
_SEARCHES: dict[str, tuple[str, str | None, str | None]] = {
    "templates": ("list_templates", "search", "limit"),
    "icons": ("search_icons", "query", "perPage"),
    "clipart": ("search_clipart", "query", "perPage"),
    "illustrations": ("search_illustrations", "query", "perPage"),
    "backgrounds": ("search_stock_images", "query", "perPage"),
    "shapes": ("list_shapes", "search", None),
    "fonts": ("list_fonts", None, None),
    "assets": ("list_assets", None, "limit"),
}
_NEEDS_QUERY = frozenset({"icons", "clipart", "illustrations", "backgrounds"})


def add_compact_tools(tools: Registrar, _: Studio) -> None:
    """Register them."""

    @tool(
        tools,
        "read_design",
        "Read a design. outline: elements and problems with fixes; picture: look at it; elements: "
        "all properties; list: the designs, searched; properties: those of an elementType.",
        READS,
        None,
    )
    def read_design(
        ctx: Context,
        designId: str | None = None,
        what: _What = "outline",
        elementIds: ElementIds | None = None,
        elementType: str | None = None,
        search: str | None = None,
        page: PageNumber = 1,
        offset: int = 0,
    ) -> ToolResult:
        if what == "list":
            return tools.functions["list_designs"](ctx, search=search, page=page)
        if what == "properties":
            return tools.functions["describe_design"](ctx, elementType=elementType or "text")
        if designId is None:
            raise ToolError(f"{what} needs a designId; what=list lists the designs")
        if what == "picture":
            return tools.functions["render_preview"](
                ctx, designId, elementIds=elementIds, page=page
            )
        if what == "elements":
            return tools.functions["get_design"](
                ctx, designId, elementIds=elementIds, offset=offset
            )
        return tools.functions["describe_design"](ctx, designId)

    @tool(
        tools,
        "search_library",
        "Search templates (with their slots for apply_template), pictures, icons, shapes, fonts "
        "or your assets. Use the `uri` of a picture as src, and the `element` of an icon with add.",
        READS,
        None,
    )
    def search_library(
        ctx: Context,
        kind: _Kind,
        query: Annotated[str | None, "Words"] = None,
        page: Page = 1,
        limit: Limit = 5,
    ) -> ToolResult:
        name, query_name, limit_name = _SEARCHES[kind]
        if query is None and kind in _NEEDS_QUERY:
            raise ToolError(f"{kind} needs a `query`")
        given: dict[str, Any] = {}
        if query is not None and query_name is not None:
            given[query_name] = query
        if limit_name is not None:
            given |= {limit_name: limit, "page": page}
        function = tools.functions[name]
        # Searches of the embedded library do not depend on the caller.
        return function(ctx, **given) if kind in ("templates", "assets") else function(**given)
