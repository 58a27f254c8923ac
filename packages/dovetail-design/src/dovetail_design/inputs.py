"""Types of tool parameters; clients see their schemas."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from dovetail_design.model import MAX_SIDE
from dovetail_design.model.element_groups import MAX_PAGES

__all__ = [
    "ApiKey",
    "Description",
    "DesignId",
    "DesignName",
    "DryRun",
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
]

# No control characters, and not only blanks.
_VISIBLE = r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$"

ApiKey = Annotated[
    Annotated[str, Meta(max_length=500)] | None,
    "API key of the hosted service that this server replaces; accepted and ignored.",
]
DesignId = Annotated[str, Meta(min_length=1, max_length=100, description="The id of a design.")]
DesignName = Annotated[str, Meta(min_length=1, max_length=255, pattern=_VISIBLE)]
Description = Annotated[str, Meta(max_length=2_000)]
IfVersion = Annotated[
    Annotated[int, Meta(ge=1)] | None,
    "Fail if the design is at another version, so that no concurrent change is lost.",
]
DryRun = Annotated[bool, "Report what would happen without changing anything."]
Limit = Annotated[int, Meta(ge=1, le=100, description="Results per page.")]
PageNumber = Annotated[int, Meta(ge=1, le=MAX_PAGES, description="Page of the design.")]
Page = Annotated[int, Meta(ge=1, le=1_000_000, description="Page number, from 1.")]
Query = Annotated[str, Meta(min_length=1, max_length=200)]
Side = Annotated[int, Meta(ge=1, le=MAX_SIDE, description="Pixels, 1 to 10000.")]
Visibility = Literal["PRIVATE", "UNLISTED", "PUBLIC"]
Format = Literal["png", "jpg", "jpeg", "webp", "pdf", "svg", "pptx", "json"]
SaveTo = Annotated[
    Annotated[str, Meta(min_length=1, max_length=1_000)] | None,
    "Also save it to this path, inside a folder that the operator has opened.",
]
Overwrite = Annotated[bool, "Replace an existing file."]
