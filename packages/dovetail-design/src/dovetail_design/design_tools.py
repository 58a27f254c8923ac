"""The tools for whole designs: list, create, get, update, delete, duplicate."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from msgspec import Meta

from dovetail import Context, ToolError, ToolResult
from dovetail_design.answers import MAX_CHARS, Registrar, answer, tool
from dovetail_design.canvases import Canvas, new_id, refuse_too_many, shorten, to_design
from dovetail_design.filling import find_fields
from dovetail_design.inputs import (
    ApiKey,
    Description,
    DesignId,
    DesignName,
    IfVersion,
    Limit,
    Page,
    Side,
    Visibility,
    refuse_invisible,
)
from dovetail_design.library.presets import PRESETS, find_preset
from dovetail_design.model.values import Paint
from dovetail_design.operations import ElementId
from dovetail_design.result_views import changed, fit_budget, show_design
from dovetail_design.results import Changed, DesignDetail, DesignPage
from dovetail_design.sources import copy_assets
from dovetail_design.storage import DesignQuery, DesignRecord, State
from dovetail_design.studio import Change, Studio, caller_of
from dovetail_serverkit.answer_size import AnswerBudget
from dovetail_serverkit.tool_descriptions import CHANGES, DESTROYS, READS, SETS

__all__ = ["add_design_tools", "new_design"]

# Long values such as data URIs would fill a result alone.
_LONGEST, _LONGEST_ALONE = 2_000, 6_000
_PresetName = Annotated[
    Annotated[str, Meta(max_length=50)] | None,
    f"Instead of width and height: {', '.join(PRESETS)}.",
]


def add_design_tools(tools: Registrar, studio: Studio) -> None:
    """Register them."""

    @tool(
        tools,
        "list_designs",
        "List designs, last changed first: yours, and PUBLIC ones of others.",
        READS,
        DesignPage,
    )
    def list_designs(
        ctx: Context,
        page: Page = 1,
        limit: Limit = 20,
        search: Annotated[str, Meta(max_length=200)] | None = None,
        trash: Annotated[bool, "Those in the trash instead"] = False,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        query = DesignQuery(
            viewer=caller_of(ctx).viewer,
            search=search or "",
            in_trash=trash,
            skip=(page - 1) * limit,
            limit=limit,
        )
        with studio.store.reading() as reader:
            found = reader.designs(query)
        shown = fit_budget([show_design(one) for one in found.items], AnswerBudget(MAX_CHARS))
        end = query.skip + len(shown)
        return answer(
            DesignPage(
                designs=shown,
                page=page,
                total=found.total,
                has_more=end < found.total,
                not_listed=len(found.items) - len(shown),
            )
        )

    @tool(
        tools,
        "create_design",
        "Create an empty design. Returns its id.",
        CHANGES,
        Changed,
    )
    def create_design(  # noqa: PLR0913 - parameters of the tool
        ctx: Context,
        name: DesignName,
        width: Annotated[Side | None, "Default: 1920"] = None,
        height: Annotated[Side | None, "Default: 1080"] = None,
        description: Description = "",
        visibility: Visibility = "PRIVATE",
        preset: _PresetName = None,
        background: Paint = "#ffffff",
        apiKey: ApiKey = None,
    ) -> ToolResult:
        refuse_invisible(name)
        sides = _size(preset, width, height)
        state = {
            "name": name,
            "description": description,
            "width": sides[0],
            "height": sides[1],
            "background": background,
            "elements": [],
        }
        to_design(state)
        caller = caller_of(ctx)
        with studio.store.writing() as writer:
            record = writer.add_design(new_design(visibility, caller.owner), state, caller.owner)
        text = f"Created {name!r}, {record.width} x {record.height} px."
        return answer(changed(studio, Change(record, state, []), text))

    @tool(
        tools,
        "get_design",
        "Read a design with its elements, bottom first, without default values. Pass nextOffset as "
        "offset for more. describe_design is shorter and lists problems.",
        READS,
        DesignDetail,
    )
    def get_design(
        ctx: Context,
        designId: DesignId,
        version: Annotated[Annotated[int, Meta(ge=1)] | None, "Default: the current one"] = None,
        offset: Annotated[int, Meta(ge=0, le=10_000)] = 0,
        elementIds: Annotated[list[ElementId] | None, "Only these"] = None,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        with studio.store.reading() as reader:
            record = studio.find(reader, caller_of(ctx), designId, in_trash=True)
            state = reader.state(designId, version)
        if state is None:
            raise ToolError(
                f"The design {designId!r} has no version {version}; it is at {record.version}"
            )
        if version is not None:
            record = replace(record, version=version, **_head(state))
        return answer(_detail(record, state, offset, elementIds))

    _add_changes(tools, studio)


def _add_changes(tools: Registrar, studio: Studio) -> None:
    @tool(
        tools,
        "update_design",
        "Change the given values of a design. All but visibility can be undone.",
        SETS,
        Changed,
    )
    def update_design(  # noqa: PLR0913 - parameters of the tool
        ctx: Context,
        designId: DesignId,
        name: DesignName | None = None,
        description: Description | None = None,
        visibility: Visibility | None = None,
        width: Side | None = None,
        height: Side | None = None,
        background: Paint | None = None,
        canvasData: Annotated[
            dict[str, Any] | None,
            'Replaces all elements: {"elements": [...]}',
        ] = None,
        ifVersion: IfVersion = None,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        values = _given(
            name=name,
            description=description,
            width=width,
            height=height,
            background=background,
        )
        if not values and canvasData is None and visibility is None:
            raise ToolError(
                "Nothing to change: pass name, description, visibility, width, height, "
                "background or canvasData"
            )

        def edit(canvas: Canvas) -> str:
            canvas.set(**values)
            if canvasData is not None:
                _replace_elements(canvas, canvasData)
            to_design({**canvas.state(), "elements": []})
            return ", ".join([*values, *(["canvasData"] if canvasData is not None else [])])

        change = studio.change(
            caller_of(ctx),
            designId,
            "update_design",
            edit,
            if_version=ifVersion,
            visibility=visibility,
        )
        return answer(changed(studio, change, f"Updated {change.record.name!r}."))

    @tool(
        tools,
        "delete_design",
        "Move a design to the trash; design_history, action restore, takes it out again.",
        DESTROYS,
        Changed,
    )
    def delete_design(
        ctx: Context,
        designId: DesignId,
        permanent: Annotated[bool, "Delete it with all versions and exports"] = False,
        ifVersion: IfVersion = None,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        caller = caller_of(ctx)
        with studio.store.writing() as writer:
            record = studio.find_to_change(writer, caller, designId, ifVersion, in_trash=True)
            if permanent:
                for digest in writer.erase_design(designId):
                    if not writer.is_blob_used(digest):
                        studio.blobs.forget(digest)
            elif not record.deleted:
                writer.describe(replace(record, deleted=writer.now()))
        done = "Erased" if permanent else "Moved to the trash:"
        return answer(
            Changed(
                design_id=designId,
                version=record.version,
                element_ids=[],
                warnings=[],
                message=f"{done} {record.name!r}.",
            )
        )

    @tool(
        tools,
        "duplicate_design",
        "Copy a design. The copy is yours, PRIVATE and has no history.",
        CHANGES,
        Changed,
    )
    def duplicate_design(
        ctx: Context,
        designId: DesignId,
        newName: DesignName | None = None,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        caller = caller_of(ctx)
        if newName is not None:
            refuse_invisible(newName)
        with studio.store.writing() as writer:
            source = studio.find(writer, caller, designId)
            state = writer.state(designId)
            assert state is not None
            state = copy_assets(writer, state, source.owner, caller.owner)
            copy = {**state, "name": newName or f"{source.name[:240]} (copy)"}
            record = writer.add_design(new_design("PRIVATE", caller.owner), copy, caller.owner)
        ids = [element["id"] for element in copy["elements"]]
        return answer(changed(studio, Change(record, copy, ids), f"Copied {source.name!r}."))


def new_design(visibility: str, owner: str, **more: Any) -> DesignRecord:
    """Return the record for a new design; the store fills in the rest."""
    return DesignRecord(
        id=new_id("dsn"),
        name="",
        description="",
        visibility=visibility,
        owner=owner,
        width=0,
        height=0,
        version=0,
        elements=0,
        created=0,
        updated=0,
        **more,
    )


def _size(preset: str | None, width: int | None, height: int | None) -> tuple[int, int]:
    if preset is None:
        return width or 1920, height or 1080
    found = find_preset(preset)
    if found is None:
        raise ToolError(
            f"There is no preset {preset[:50]!r}; the presets are: {', '.join(PRESETS)}"
        )
    if width is not None or height is not None:
        raise ToolError("Pass either a preset or width and height, not both")
    return found.width, found.height


def _given(**values: Any) -> dict[str, Any]:
    """Return the values that were passed."""
    if values["name"] is not None:
        refuse_invisible(values["name"])
    return {key: value for key, value in values.items() if value is not None}


def _head(state: State) -> dict[str, Any]:
    return {
        "name": state["name"],
        "description": state.get("description", ""),
        "width": state["width"],
        "height": state["height"],
        "elements": len(state["elements"]),
    }


def _detail(record: DesignRecord, state: State, offset: int, ids: list[str] | None) -> DesignDetail:
    elements = state["elements"]
    longest = _LONGEST
    if ids is not None:
        canvas = Canvas(state)
        elements = [canvas.get(id) for id in ids]
        longest = _LONGEST_ALONE
    shown = fit_budget(
        [shorten(one, longest) for one in elements[offset:]], AnswerBudget(MAX_CHARS)
    )
    end = offset + len(shown)
    return DesignDetail(
        design=show_design(record),
        background=state.get("background", "#ffffff"),
        elements=shown,
        offset=offset,
        has_more=end < len(elements),
        next_offset=end if end < len(elements) else None,
        fields=list(find_fields(state["elements"]))[:100],
        connectors=dict(list(state.get("connectors", {}).items())[:50]),
    )


def _replace_elements(canvas: Canvas, data: dict[str, Any]) -> None:
    unknown = sorted(data.keys() - {"elements", "background", "canvasMode"})
    elements = data.get("elements")
    if unknown or not isinstance(elements, list):
        raise ToolError(
            'canvasData is {"elements": [...]}, perhaps with background; '
            f"got the keys {', '.join(data)[:200] or 'none'}"
        )
    refuse_too_many(len(elements))
    canvas.elements.clear()
    if "background" in data:
        canvas.set(background=data["background"])
    for number, element in enumerate(elements):
        try:
            canvas.add(element)
        except ToolError as error:
            raise ToolError(f"canvasData.elements[{number}]: {error}") from None
