"""Resources: lists, designs, canvases, the library, and change notifications."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from dovetail import Context, ResourceNotFoundError, Server, ToolError
from dovetail_design.answers import MAX_CHARS
from dovetail_design.asset_tools import show_asset
from dovetail_design.element_schema import element_definitions
from dovetail_design.exporting import draw_preview
from dovetail_design.filling import find_fields
from dovetail_design.library.presets import PRESETS
from dovetail_design.library_tools import show_fonts
from dovetail_design.media import MAX_BYTES
from dovetail_design.model import MAX_ELEMENTS, MAX_SIDE
from dovetail_design.result_views import design_uri, fit_budget, show_design
from dovetail_design.storage import AssetQuery, DesignQuery, DesignRecord, State
from dovetail_design.studio import Caller, Studio, caller_of
from dovetail_design.template_tools import show_templates
from dovetail_serverkit.answer_size import AnswerBudget

__all__ = ["add_design_resources", "complete_design", "follow"]

_BASE = "canvelete://api"
_JSON = "application/json"
_MOST_LISTED = 100
_MOST_SUGGESTED = 101
_PREVIEW_WIDTH = 512
# Resources of one design, by its id.
_OF_DESIGN = (
    "{base}/design/{id}",
    "{base}/design/{id}/preview.png",
    "{base}/canvas/{id}",
    "{base}/canvas/{id}/elements",
)


def add_design_resources(server: Server, studio: Studio) -> None:
    """Register them."""
    _add_lists(server, studio)
    _add_designs(server, studio)
    _add_facts(server, studio)


def _add_lists(server: Server, studio: Studio) -> None:
    @server.resource(f"{_BASE}/designs/list", name="designs", title="Designs", mime_type=_JSON)
    def designs(ctx: Context) -> Any:
        """The designs that were changed most recently."""
        query = DesignQuery(viewer=caller_of(ctx).viewer, limit=_MOST_LISTED)
        with studio.store.reading() as reader:
            found = reader.designs(query)
        shown = fit_budget([show_design(one) for one in found.items], AnswerBudget(MAX_CHARS))
        return {"designs": msgspec.to_builtins(shown), "total": found.total}

    @server.resource(
        f"{_BASE}/designs/templates", name="templates", title="Templates", mime_type=_JSON
    )
    def templates(ctx: Context) -> Any:
        """Templates with their fields."""
        found = show_templates(studio, caller_of(ctx))
        shown = fit_budget(found, AnswerBudget(MAX_CHARS))
        return {"templates": msgspec.to_builtins(shown), "total": len(found)}

    @server.resource(
        f"{_BASE}/assets/library", name="assets", title="Uploaded files", mime_type=_JSON
    )
    def assets(ctx: Context) -> Any:
        """The files that were uploaded most recently."""
        query = AssetQuery(viewer=caller_of(ctx).viewer, limit=_MOST_LISTED)
        with studio.store.reading() as reader:
            found = reader.assets(query)
        shown = fit_budget([show_asset(one) for one in found.items], AnswerBudget(MAX_CHARS))
        return {"assets": msgspec.to_builtins(shown), "total": found.total}


def _add_designs(server: Server, studio: Studio) -> None:
    def load(ctx: Context, id: str, uri: str) -> tuple[DesignRecord, State]:
        try:
            return studio.load(caller_of(ctx), id)
        except ToolError as error:
            raise ResourceNotFoundError(uri[:300], str(error)) from None

    @server.resource(f"{_BASE}/design/{{id}}", name="design", title="A design", mime_type=_JSON)
    def design(ctx: Context, id: str) -> Any:
        """A design's name, size, version and fields."""
        record, state = load(ctx, id, design_uri(id))
        return {
            **msgspec.to_builtins(show_design(record)),
            "background": state.get("background"),
            "fields": list(find_fields(state["elements"])),
            "preview": f"{design_uri(id)}/preview.png",
            "canvas": f"{_BASE}/canvas/{id}",
        }

    @server.resource(
        f"{_BASE}/canvas/{{designId}}", name="canvas", title="A canvas", mime_type=_JSON
    )
    def canvas(ctx: Context, designId: str) -> Any:
        """Everything on a design: its size, background and elements, bottom first."""
        record, state = load(ctx, designId, f"{_BASE}/canvas/{designId}")
        return {"designId": record.id, "version": record.version, **state}

    @server.resource(
        f"{_BASE}/canvas/{{designId}}/elements",
        name="elements",
        title="Elements",
        mime_type=_JSON,
    )
    def elements(ctx: Context, designId: str) -> Any:
        """The elements of a design, bottom first."""
        record, state = load(ctx, designId, f"{_BASE}/canvas/{designId}/elements")
        return {"designId": record.id, "version": record.version, "elements": state["elements"]}

    @server.resource(
        f"{_BASE}/design/{{id}}/preview.png",
        name="preview",
        title="A picture of a design",
        mime_type="image/png",
    )
    def preview(ctx: Context, id: str) -> bytes:
        """What a design looks like, at most 512 pixels wide."""
        record, state = load(ctx, id, f"{design_uri(id)}/preview.png")
        return draw_preview(studio, state, _PREVIEW_WIDTH, record.owner)

    for template, argument in (
        (f"{_BASE}/design/{{id}}", "id"),
        (f"{_BASE}/design/{{id}}/preview.png", "id"),
        (f"{_BASE}/canvas/{{designId}}", "designId"),
        (f"{_BASE}/canvas/{{designId}}/elements", "designId"),
    ):

        def ids(ctx: Context, typed: str) -> list[str]:
            return complete_design(studio, caller_of(ctx), typed)

        server.complete(template, argument)(ids)


def _add_facts(server: Server, studio: Studio) -> None:
    @server.resource(f"{_BASE}/assets/fonts", name="fonts", title="Fonts", mime_type=_JSON)
    def fonts() -> Any:
        """The available font families."""
        return msgspec.to_builtins(show_fonts(studio))

    @server.resource(f"{_BASE}/user/profile", name="profile", title="You", mime_type=_JSON)
    def profile(ctx: Context) -> Any:
        """The caller, and how many designs and assets there are."""
        caller = caller_of(ctx)
        with studio.store.reading() as reader:
            designs = reader.designs(DesignQuery(viewer=caller.viewer, limit=1)).total
            files = reader.assets(AssetQuery(viewer=caller.viewer, limit=1)).total
        return {
            "id": caller.owner or None,
            "known": bool(caller.owner),
            "designs": designs,
            "assets": files,
        }

    @server.resource(
        f"{_BASE}/user/preferences", name="preferences", title="Settings", mime_type=_JSON
    )
    def preferences() -> Any:
        """Default settings of calls."""
        return {
            "defaultWidth": 1920,
            "defaultHeight": 1080,
            "defaultVisibility": "PRIVATE",
            "defaultFont": "Inter",
            "canSaveFiles": bool(studio.folders.paths),
        }

    @server.resource(
        f"{_BASE}/metadata/schema", name="schema", title="The design system", mime_type=_JSON
    )
    def schema() -> Any:
        """Element types as JSON Schema, canvas presets, limits."""
        return {
            "element": {"$ref": "#/$defs/AnyElement", "$defs": element_definitions()},
            "presets": {
                one.id: {"name": one.name, "width": one.width, "height": one.height}
                for one in PRESETS.values()
            },
            "bounds": {
                "side": MAX_SIDE,
                "elements": MAX_ELEMENTS,
                "assetBytes": MAX_BYTES,
            },
        }


def complete_design(studio: Studio, caller: Caller, typed: str) -> list[str]:
    """Return ids that start with the typed text, then ids of designs whose name contains it."""
    with studio.store.reading() as reader:
        ids = reader.ids_starting_with(typed, caller.viewer, _MOST_SUGGESTED)
        if typed and len(ids) < 10:
            named = reader.designs(DesignQuery(viewer=caller.viewer, search=typed, limit=20))
            ids += [one.id for one in named.items]
    return list(dict.fromkeys(ids))


async def follow(server: Server, studio: Studio, interval: float) -> None:
    """Notify clients of changes, including those by other processes."""

    def look(seen: int) -> tuple[int, list[str]]:
        with studio.store.reading() as reader:
            found = reader.changed_since(seen, 500)
        return (found[-1][0], [id for _, id in found]) if found else (seen, [])

    def begin() -> int:
        with studio.store.reading() as reader:
            return reader.last_change()

    seen = await asyncio.to_thread(begin)
    while True:
        await asyncio.sleep(interval)
        seen, ids = await asyncio.to_thread(look, seen)
        for id in dict.fromkeys(ids):
            if id == "assets":
                server.resource_updated(f"{_BASE}/assets/library")
                continue
            for uri in _OF_DESIGN:
                server.resource_updated(uri.format(base=_BASE, id=id))
        if any(id != "assets" for id in ids):
            server.resource_updated(f"{_BASE}/designs/list")
            server.resource_updated(f"{_BASE}/designs/templates")
