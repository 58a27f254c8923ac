"""The tools render_preview and describe_design."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from dovetail import Context, Image, ToolError, ToolResult
from dovetail_design.answers import MAX_CHARS, Registrar, answer, tool
from dovetail_design.design_warnings import Region, describe_state
from dovetail_design.element_schema import describe_type
from dovetail_design.exporting import Look, draw_small
from dovetail_design.inputs import ApiKey, DesignId, ElementType, PageNumber
from dovetail_design.operations import ElementIds
from dovetail_design.result_views import fit_budget
from dovetail_design.results import Described, Previewed
from dovetail_design.studio import Studio, caller_of
from dovetail_serverkit.answer_size import AnswerBudget
from dovetail_serverkit.tool_descriptions import READS

__all__ = ["add_preview_tools"]

_Number = Annotated[float, Meta(ge=-100_000, le=100_000)]


class RegionBox(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A part of the canvas."""

    x: _Number
    y: _Number
    width: Annotated[float, Meta(gt=0, le=100_000)]
    height: Annotated[float, Meta(gt=0, le=100_000)]


def add_preview_tools(tools: Registrar, studio: Studio) -> None:
    """Register them."""

    @tool(
        tools,
        "render_preview",
        "Look at a design: returns a small picture. grid draws coordinates; labels numbers each "
        "element, and the result maps numbers to ids.",
        READS,
        Previewed,
    )
    def render_preview(
        ctx: Context,
        designId: DesignId,
        maxWidth: Annotated[int, Meta(ge=32, le=1_200)] = 512,
        elementIds: Annotated[ElementIds | None, "Only these"] = None,
        page: PageNumber = 1,
        grid: bool = False,
        labels: bool = False,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        record, state = studio.load(caller_of(ctx), designId)
        look = Look(maxWidth, tuple(elementIds or ()), grid=grid, labels=labels, page=page)
        small, numbers = draw_small(studio, state, look, record.owner)
        result = Previewed(
            design_id=designId,
            version=record.version,
            width=small.width,
            height=small.height,
            scale=round(small.width / record.width, 4),
            mime_type=small.mime_type,
            size=len(small.data),
            labels=numbers,
        )
        return answer(result, Image(small.data, small.mime_type))

    @tool(
        tools,
        "describe_design",
        "Describe a design in text: its elements, bottom first, and its problems, each with a fix "
        "(overlaps, overflowing text, low contrast, missing characters...). With elementType: "
        "the properties of that type instead.",
        READS,
        Described,
    )
    def describe_design(
        ctx: Context,
        designId: DesignId | None = None,
        elementType: ElementType | None = None,
        detail: Literal["outline", "full"] = "outline",
        region: RegionBox | None = None,
        limit: Annotated[int, Meta(ge=1, le=200)] = 50,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        if elementType is not None:
            return answer(Described(text=describe_type(elementType)))
        if designId is None:
            raise ToolError("Pass a designId, or an elementType for its properties")
        record, state = studio.load(caller_of(ctx), designId)
        part = None if region is None else Region(region.x, region.y, region.width, region.height)
        text, found = describe_state(studio, state, detail, part, MAX_CHARS // 5, record.owner)
        shown = fit_budget(found[:limit], AnswerBudget(MAX_CHARS // 2))
        return answer(
            Described(
                design_id=designId,
                version=record.version,
                text=text,
                findings=shown,
                element_count=record.elements,
                more_findings=len(found) - len(shown),
            )
        )
