"""Types of tool parameters; clients see their schemas."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Literal

from msgspec import Meta

from dovetail import Param, ToolError
from dovetail_design.model import MAX_SIDE
from dovetail_design.model.element_groups import MAX_PAGES

__all__ = [
    "ApiKey",
    "Description",
    "DesignId",
    "DesignName",
    "DryRun",
    "ElementType",
    "Format",
    "IfVersion",
    "Limit",
    "Overwrite",
    "Page",
    "PageNumber",
    "Query",
    "SaveTo",
    "Side",
    "Visibility",
    "refuse_invisible",
]

# API key of the hosted service that this server replaces; accepted and ignored.
ApiKey = Annotated[Annotated[str, Meta(max_length=500)] | None, Param(hidden=True)]
DesignId = str
DesignName = Annotated[str, Meta(min_length=1, max_length=255)]
Description = Annotated[str, Meta(max_length=2_000)]
# Fail if the design is at another version, so that no concurrent change is lost.
IfVersion = Annotated[Annotated[int, Meta(ge=1)] | None, Param(hidden=True)]
ElementType = Literal[
    "rectangle",
    "circle",
    "text",
    "image",
    "line",
    "polygon",
    "star",
    "svg",
    "bezier",
    "container",
    "table",
    "qr",
    "barcode",
]
DryRun = Annotated[bool, "Only report what would happen."]
Limit = Annotated[int, Meta(ge=1, le=100, description="Results per page.")]
PageNumber = Annotated[int, Meta(ge=1, le=MAX_PAGES, description="Page of the design")]
Page = Annotated[int, Meta(ge=1, le=1_000_000, description="Page number, from 1.")]
Query = Annotated[str, Meta(min_length=1, max_length=200)]
Side = Annotated[int, Meta(ge=1, le=MAX_SIDE, description="Pixels, 1 to 10000.")]
Visibility = Literal["PRIVATE", "UNLISTED", "PUBLIC"]
Format = Literal["png", "jpg", "jpeg", "webp", "pdf", "svg", "pptx", "json"]
SaveTo = Annotated[
    Annotated[str, Meta(min_length=1, max_length=1_000)] | None,
    "Also save it to this path in a folder that the operator has opened.",
]
Overwrite = Annotated[bool, "Replace an existing file."]


def refuse_invisible(name: str) -> None:
    """Raise ToolError for a name that shows nothing or has control characters."""
    if not name.strip() or any(unicodedata.category(one) == "Cc" for one in name):
        raise ToolError(f"The name {name[:50]!r} is blank or has control characters")
