"""The tools for templates: list_templates, create_template, apply_template."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated, Any

from msgspec import Meta

from dovetail import Context, ToolError, ToolResult
from dovetail_design.answers import MAX_CHARS, Registrar, answer, tool
from dovetail_design.applying import Adaption, Application
from dovetail_design.design_tools import new_design
from dovetail_design.design_warnings import find_warnings
from dovetail_design.filling import find_fields, list_names, read_rows
from dovetail_design.inputs import (
    ApiKey,
    Description,
    DesignId,
    DesignName,
    Format,
    IfVersion,
    Limit,
    Overwrite,
    Page,
    PageNumber,
    Side,
    refuse_invisible,
)
from dovetail_design.library.templates import list_templates as embedded_templates
from dovetail_design.result_views import MOST_WARNINGS, fit_page
from dovetail_design.results import (
    AppliedTemplate,
    MadeTemplate,
    TemplatePage,
    TemplateView,
)
from dovetail_design.sources import copy_assets
from dovetail_design.sqlite_reader import fold
from dovetail_design.storage import DesignRecord, State
from dovetail_design.studio import Caller, Studio, caller_of
from dovetail_design.templates import find_source, own_templates
from dovetail_serverkit.tool_descriptions import CHANGES, EDITS, READS

__all__ = ["add_template_tools", "show_templates"]

_Category = Annotated[str, Meta(max_length=50)]


def add_template_tools(tools: Registrar, studio: Studio) -> None:
    """Register them."""

    @tool(
        tools,
        "list_templates",
        "List templates, your own first, with their fields and example values.",
        READS,
        TemplatePage,
    )
    def list_templates(
        ctx: Context,
        category: _Category | None = None,
        search: Annotated[Annotated[str, Meta(max_length=100)] | None, "Words."] = None,
        page: Page = 1,
        limit: Limit = 20,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        every = show_templates(studio, caller_of(ctx))
        found = [one for one in every if _fits(one, category, search)]
        shown, has_more = fit_page(found, page, limit, MAX_CHARS)
        return answer(
            TemplatePage(
                templates=shown,
                page=page,
                total=len(found),
                has_more=has_more,
                categories=sorted({one.category for one in every})[:100],
            )
        )

    @tool(
        tools,
        "create_template",
        "Save a copy of a design as a template, whose {{fields}} apply_template fills.",
        CHANGES,
        MadeTemplate,
    )
    def create_template(
        ctx: Context,
        designId: DesignId,
        name: DesignName,
        description: Description = "",
        category: _Category = "own",
        slots: Annotated[dict[str, Any] | None, "Example value of each field"] = None,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        caller = caller_of(ctx)
        refuse_invisible(name)
        with studio.store.writing() as writer:
            source = studio.find(writer, caller, designId)
            state = writer.state(designId)
            assert state is not None
            _check_slots(state, slots)
            state = copy_assets(writer, state, source.owner, caller.owner)
            copy = {**state, "name": name, "description": description or source.description}
            made = new_design(
                "PRIVATE",
                caller.owner,
                is_template=True,
                category=fold(category),
                slots=json.dumps(slots or {}),
            )
            record = writer.add_design(made, copy, caller.owner)
        view = _show_own(record, copy)
        ids = [element["id"] for element in copy["elements"]]
        found = find_warnings(studio, copy, ids, caller.owner)
        return answer(
            MadeTemplate(
                **{name: getattr(view, name) for name in view.__struct_fields__},
                design_id=record.id,
                version=record.version,
                element_ids=ids[:200],
                # A template without fields has no use.
                warnings=[one for one in found if one.code != "unfilled-field"][:MOST_WARNINGS],
            )
        )

    _add_application(tools, studio)


def _add_application(tools: Registrar, studio: Studio) -> None:
    @tool(
        tools,
        "apply_template",
        "Fill a template. Each row of data becomes a new design, and with `format` a file; with "
        "designId one row replaces that design or one of its pages. A row has a value for every "
        'field ("" leaves it out); without data the examples are used. With width, height or '
        "style the layout is adapted and texts are made to fit.",
        EDITS,
        AppliedTemplate,
    )
    def apply_template(  # noqa: PLR0913 - parameters of the tool
        ctx: Context,
        templateId: DesignId,
        designId: Annotated[DesignId | None, "Replace the content of this design"] = None,
        data: Annotated[
            dict[str, Any] | list[dict[str, Any]] | str | None,
            "Values by field, a list of such rows, or CSV",
        ] = None,
        useSamples: Annotated[bool, "Use the examples for missing fields"] = False,
        page: Annotated[PageNumber | None, "With designId: only this page"] = None,
        width: Side | None = None,
        height: Side | None = None,
        style: Annotated[
            Annotated[str, Meta(max_length=200)] | None,
            "A hue such as blue, a manner such as dark or pastel, or both",
        ] = None,
        name: Annotated[DesignName | None, "With {{fields}} and {{n}}"] = None,
        format: Annotated[Format | None, "Also export each row"] = None,
        saveTo: Annotated[
            Annotated[str, Meta(min_length=1, max_length=1_000)] | None,
            "Such as cards/{{n}}-{{name}}.png",
        ] = None,
        keepDesigns: Annotated[bool, "false: only files"] = True,
        overwrite: Overwrite = False,
        ifVersion: IfVersion = None,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        rows: list[dict[str, Any] | None] = [None] if data is None else list(read_rows(data))
        application = Application(
            studio,
            caller_of(ctx),
            Adaption(width, height, style),
            useSamples,
            name,
            format,
            saveTo,
            keepDesigns,
            overwrite,
            ctx,
        )
        application.check(len(rows), designId, page)
        with studio.store.reading() as reader:
            source = find_source(studio, reader, application.caller, templateId)
        if source.owner not in (None, application.caller.owner):
            with studio.store.writing() as writer:
                state = copy_assets(
                    writer, source.state, source.owner or "", application.caller.owner
                )
            source = replace(source, state=state)
        if designId is not None and page is not None:
            _, whole = studio.load(application.caller, designId)
            adaption = Adaption(whole["width"], whole["height"], style)
            application = replace(application, adaption=adaption)
        states = application.fill(source, rows)
        if designId is not None:
            return answer(*application.replace(source, designId, states[0], ifVersion, page))
        return answer(*application.create(source, states, rows))


def show_templates(studio: Studio, caller: Caller) -> list[TemplateView]:
    """Return every template, the caller's own first."""
    with studio.store.reading() as reader:
        own = [_show_own(one, reader.state(one.id) or {}) for one in own_templates(reader, caller)]
    return own + [
        TemplateView(
            id=one.id,
            name=one.name,
            description=one.description,
            category=one.category,
            width=one.width,
            height=one.height,
            slots=dict(one.slots),
            tags=list(one.tags),
            source="embedded",
        )
        for one in embedded_templates()
    ]


def _show_own(record: DesignRecord, state: State) -> TemplateView:
    samples = json.loads(record.slots) if record.slots else {}
    fields = find_fields(state.get("elements", ()))
    return TemplateView(
        id=record.id,
        name=record.name,
        description=record.description,
        category=record.category,
        width=record.width,
        height=record.height,
        slots={name: samples.get(name, "") for name in fields},
        source="own",
    )


def _fits(one: TemplateView, category: str | None, search: str | None) -> bool:
    if category and fold(category) != fold(one.category):
        return False
    text = fold(" ".join([one.id, one.name, one.description, one.category, *one.tags]))
    return all(word in text for word in fold(search or "").split())


def _check_slots(state: State, slots: dict[str, Any] | None) -> None:
    if slots is None:
        return
    fields = find_fields(state["elements"])
    surplus = [name for name in slots if name not in fields]
    missing = [name for name in fields if name not in slots]
    if surplus or missing:
        parts = [f"without example: {list_names(missing)}"] if missing else []
        parts += [f"not in the design: {list_names(surplus)}"] if surplus else []
        raise ToolError(
            f"slots must have every field of the design and no other ({'; '.join(parts)}); fields: "
            f"{list_names(fields)}"
        )
