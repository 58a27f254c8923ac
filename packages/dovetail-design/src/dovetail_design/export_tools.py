"""The tool export_design, and its files as resources."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from dovetail import Context, EmbeddedResource, Image, ResourceNotFoundError, ToolResult
from dovetail_design.answers import Registrar, answer, tool
from dovetail_design.export_files import EXPORT_URI, FileBatch, link_to
from dovetail_design.exporting import SUFFIXES, Look, RenderRequest, draw, draw_small
from dovetail_design.inputs import ApiKey, DesignId, Format, Overwrite, PageNumber, SaveTo
from dovetail_design.operations import ElementIds
from dovetail_design.result_views import MOST_WARNINGS
from dovetail_design.results import Exported
from dovetail_design.studio import Studio, caller_of, may_see
from dovetail_serverkit.tool_descriptions import EDITS

__all__ = ["add_export_tools"]

_PREVIEW_WIDTH = 320


def add_export_tools(tools: Registrar, studio: Studio) -> None:
    """Register them."""

    @tool(
        tools,
        "export_design",
        "Export a design to a file, which you can read as a resource. Returns a link and a small "
        "preview.",
        EDITS,
        Exported,
    )
    def export_design(  # noqa: PLR0913 - parameters of the tool
        ctx: Context,
        designId: DesignId,
        format: Format = "png",
        quality: Annotated[int, Meta(ge=1, le=100, description="For jpg and webp")] = 90,
        scale: Annotated[
            float, Meta(ge=0.05, le=8, description="Pixels per pixel of the design")
        ] = 1.0,
        transparent: Annotated[bool, "Omit the background"] = False,
        outlines: Annotated[bool, "SVG: text as outlines, not letters with embedded fonts"] = False,
        page: Annotated[PageNumber | None, "Default: all for pdf and pptx, else 1"] = None,
        elementIds: Annotated[ElementIds | None, "Only these"] = None,
        saveTo: SaveTo = None,
        overwrite: Overwrite = False,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        caller = caller_of(ctx)
        record, state = studio.load(caller, designId)
        ids = tuple(elementIds or ())
        request = RenderRequest(
            format, quality, scale, transparent, ids, outlines=outlines, page=page or 0
        )
        with FileBatch(studio, overwrite=overwrite) as batch:
            if saveTo is not None:
                studio.folders.check(saveTo, overwrite=overwrite)
            drawn = draw(studio, state, request, record.owner)
            # Before the file is stored, so that a call that fails has stored nothing.
            small, _ = draw_small(studio, state, Look(_PREVIEW_WIDTH, page=page or 1), record.owner)
            batch.add(drawn, saveTo)
            with studio.store.writing() as writer:
                [file] = batch.finish(writer, caller, [record], SUFFIXES[format])
        result = Exported(
            design_id=designId,
            version=record.version,
            format=format,
            file=file,
            substituted_fonts=dict(drawn.substituted),
            warnings=list(drawn.warnings)[:MOST_WARNINGS],
        )
        return answer(result, link_to(file), Image(small.data, small.mime_type))

    @tools.server.resource(
        f"{EXPORT_URI}{{id}}/{{name}}",
        name="export",
        title="An exported file",
        mime_type="application/octet-stream",
    )
    def export(ctx: Context, id: str, name: str) -> Any:
        """A file that export_design or apply_template created."""
        uri = f"{EXPORT_URI}{id}/{name}"
        caller = caller_of(ctx)
        with studio.store.reading() as reader:
            record = reader.export(id)
            design = reader.design(record.design) if record is not None else None
        if record is None or record.name != name:
            raise ResourceNotFoundError(uri[:300])
        is_own = caller.is_trusted or record.owner == caller.owner
        if not is_own and (design is None or not may_see(design, caller)):
            raise ResourceNotFoundError(uri[:300])
        try:
            data = studio.blobs.load(record.digest)
        except FileNotFoundError:
            raise ResourceNotFoundError(uri[:300]) from None
        text_like = record.mime_type in ("image/svg+xml", "application/json")
        return EmbeddedResource(uri, data.decode() if text_like else data, record.mime_type)
