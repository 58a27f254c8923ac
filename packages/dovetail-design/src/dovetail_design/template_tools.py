"""The tools for templates: list_templates, create_template, apply_template."""

from __future__ import annotations

import json
from typing import Annotated, Any

from msgspec import Meta

from dovetail import Context, Server, ToolError, ToolResult
from dovetail_design.answers import MAX_CHARS, answer, tool
from dovetail_design.applying import Application
from dovetail_design.design_tools import new_design
from dovetail_design.filling import find_fields, read_rows
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
)
from dovetail_design.library.templates import list_templates as embedded_templates
from dovetail_design.looking import find_warnings
from dovetail_design.results import (
    AppliedTemplate,
    MadeTemplate,
    TemplatePage,
    TemplateView,
)
from dovetail_design.showing import MOST_WARNINGS, fitting
from dovetail_design.sqlite_reader import fold
from dovetail_design.storage import DesignRecord, State
from dovetail_design.studio import Caller, Studio, caller_of
from dovetail_design.templates import find_source, own_templates
from dovetail_serverkit.budget import Budget
from dovetail_serverkit.describing import CHANGES, EDITS, READS

__all__ = ["add_template_tools", "show_templates"]

_Category = Annotated[str, Meta(max_length=50)]


def add_template_tools(server: Server, studio: Studio) -> None:
    """Register them."""

    @tool(
        server,
        "list_templates",
        "Templates, your own first, with their fields and examples of what goes into them. Fill "
        "them with apply_template.",
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
        start = (page - 1) * limit
        shown = fitting(found[start : start + limit], Budget(MAX_CHARS))
        return answer(
            TemplatePage(
                templates=shown,
                page=page,
                total=len(found),
                has_more=start + len(shown) < len(found),
                categories=sorted({one.category for one in every})[:100],
            )
        )

    @tool(
        server,
        "create_template",
        "Make a template of a design: a copy whose {{fields}} apply_template fills. `slots` gives "
        "an example value for each field.",
        CHANGES,
        MadeTemplate,
    )
    def create_template(
        ctx: Context,
        designId: DesignId,
        name: DesignName,
        description: Description = "",
        category: _Category = "own",
        slots: Annotated[
            dict[str, Any] | None, "Field to example value; all fields, or none."
        ] = None,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        caller = caller_of(ctx)
        with studio.store.writing() as writer:
            source = studio.find(writer, caller, designId)
            state = writer.state(designId)
            assert state is not None
            _check_slots(state, slots)
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
        found = find_warnings(studio, copy, ids)
        return answer(
            MadeTemplate(
                **{name: getattr(view, name) for name in view.__struct_fields__},
                design_id=record.id,
                version=record.version,
                element_ids=ids[:200],
                # Fields are what a template is for.
                warnings=[one for one in found if one.code != "unfilled-field"][:MOST_WARNINGS],
            )
        )

    _add_application(server, studio)


def _add_application(server: Server, studio: Studio) -> None:
    @tool(
        server,
        "apply_template",
        "Fill a template with data: an object for one row, a list of objects or CSV for many. With "
        "designId one row replaces what is on that design (undo brings it back); without, each "
        "row becomes a new design, or with `format` a file too. Data must name every field and no "
        "other; without data the examples are shown. All rows or none.",
        EDITS,
        AppliedTemplate,
    )
    def apply_template(  # noqa: PLR0913 - the seed's parameters and eight more
        ctx: Context,
        templateId: DesignId,
        designId: Annotated[DesignId | None, "Put it on this design; for one row."] = None,
        data: Annotated[
            dict[str, Any] | list[dict[str, Any]] | str | None,
            "Field to value; or a list of such rows; or CSV or JSON as text.",
        ] = None,
        useSamples: Annotated[bool, "Fill fields that data leaves out with the examples."] = False,
        name: Annotated[DesignName | None, "Of the designs; may hold {{fields}} and {{n}}."] = None,
        format: Annotated[Format | None, "Make a file of each row too."] = None,
        saveTo: Annotated[
            Annotated[str, Meta(min_length=1, max_length=1_000)] | None,
            "Save the files: a path with {{fields}} or {{n}}, such as cards/{{n}}-{{name}}.png.",
        ] = None,
        keepDesigns: Annotated[bool, "False: only the files are kept."] = True,
        overwrite: Overwrite = False,
        ifVersion: IfVersion = None,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        rows: list[dict[str, Any] | None] = [None] if data is None else list(read_rows(data))
        wish = Application(
            studio,
            caller_of(ctx),
            useSamples,
            name,
            format,
            saveTo,
            keepDesigns,
            overwrite,
            ctx,
        )
        wish.check(len(rows), designId)
        with studio.store.reading() as reader:
            source = find_source(studio, reader, wish.caller, templateId)
        states = wish.fill(source, rows)
        if designId is not None:
            return answer(*wish.replace(source, designId, states[0], ifVersion))
        return answer(*wish.create(source, states, rows))


def show_templates(studio: Studio, caller: Caller) -> list[TemplateView]:
    """Every template, one's own first."""
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
        parts = [f"without example: {', '.join(missing)}"] if missing else []
        parts += [f"not in the design: {', '.join(surplus)}"] if surplus else []
        raise ToolError(
            f"slots names every field of the design and no other ({'; '.join(parts)}); fields: "
            f"{', '.join(fields) or 'none'}"
        )
