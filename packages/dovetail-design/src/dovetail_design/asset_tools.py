"""The tools for uploaded files: list_assets, upload_asset."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from dovetail import Context, ResourceLink, ResourceNotFoundError, ToolError, ToolResult
from dovetail_design.answers import MAX_CHARS, Registrar, answer, tool
from dovetail_design.canvases import new_id
from dovetail_design.inputs import ApiKey, Limit, Page
from dovetail_design.inspecting import inspect_asset
from dovetail_design.media import MAX_BYTES, MAX_TOTAL_BYTES, identify, read_data_uri
from dovetail_design.result_views import fit_budget
from dovetail_design.results import AssetPage, AssetView
from dovetail_design.sources import ASSET_URI, asset_uri
from dovetail_design.storage import AssetQuery, AssetRecord
from dovetail_design.studio import Caller, Studio, caller_of, show_moment
from dovetail_serverkit.answer_size import AnswerBudget
from dovetail_serverkit.tool_descriptions import CHANGES, READS

__all__ = ["add_asset_tools", "show_asset"]

_Kind = Literal["IMAGE", "FONT", "VIDEO", "AUDIO", "OTHER"]


def add_asset_tools(tools: Registrar, studio: Studio) -> None:
    """Register them."""

    @tool(
        tools,
        "list_assets",
        "List uploaded files, newest first.",
        READS,
        AssetPage,
    )
    def list_assets(
        ctx: Context,
        type: _Kind | None = None,
        page: Page = 1,
        limit: Limit = 20,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        query = AssetQuery(
            viewer=caller_of(ctx).viewer, kind=type or "", skip=(page - 1) * limit, limit=limit
        )
        with studio.store.reading() as reader:
            found = reader.assets(query)
        shown = fit_budget([show_asset(one) for one in found.items], AnswerBudget(MAX_CHARS))
        end = query.skip + len(shown)
        return answer(
            AssetPage(
                assets=shown,
                page=page,
                total=found.total,
                has_more=end < found.total,
                not_listed=len(found.items) - len(shown),
            )
        )

    @tool(
        tools,
        "upload_asset",
        "Upload a file of at most 20 MB. Use the `uri` of the result as the src of an image.",
        CHANGES,
        AssetView,
    )
    def upload_asset(
        ctx: Context,
        file: Annotated[
            str,
            Meta(
                min_length=1,
                max_length=28_000_000,
                description="A data: URI, or a path in a folder that the operator has opened",
            ),
        ],
        name: Annotated[str, Meta(min_length=1, max_length=255)],
        type: _Kind = "IMAGE",
        apiKey: ApiKey = None,
    ) -> ToolResult:
        if file.startswith("data:"):
            data = read_data_uri(file)
        else:
            data = studio.folders.read(file, MAX_BYTES)
        record = keep_asset(studio, caller_of(ctx), data, name, type)
        link = ResourceLink(
            uri=asset_uri(record.id), name=name, mime_type=record.mime_type, size=record.size
        )
        return answer(show_asset(record), link)

    @tools.server.resource(
        f"{ASSET_URI}{{id}}", name="asset", title="An asset", mime_type="application/octet-stream"
    )
    def asset(ctx: Context, id: str) -> Any:
        """An uploaded file."""
        caller = caller_of(ctx)
        with studio.store.reading() as reader:
            record = reader.asset(id)
        if record is None or not _may_see(record, caller):
            raise ResourceNotFoundError(asset_uri(id[:100]))
        try:
            return studio.blobs.load(record.digest)
        except FileNotFoundError:
            raise ResourceNotFoundError(asset_uri(id[:100])) from None


def keep_asset(studio: Studio, caller: Caller, data: bytes, name: str, kind: str) -> AssetRecord:
    """Validate a file and store it."""
    _refuse_large(len(data), name)
    media = identify(data, kind, name)
    size = studio.renderer.run(
        inspect_asset,
        data,
        media.mime_type,
        name,
        returns=tuple[int, int],
        kept=f"; {name!r} was not stored",
    )
    with studio.store.writing() as writer:
        if writer.asset_bytes() + len(data) > MAX_TOTAL_BYTES:
            raise ToolError(
                f"The assets are full: together they may have at most {MAX_TOTAL_BYTES:,} bytes"
            )
        # Inside the transaction, so that a concurrent cleanup cannot remove this content as unused.
        digest = studio.blobs.keep(data)
        record = AssetRecord(
            id=new_id("ast"),
            name=name,
            kind=media.kind,
            mime_type=media.mime_type,
            size=len(data),
            digest=digest,
            owner=caller.owner,
            created=writer.now(),
            width=size[0],
            height=size[1],
        )
        writer.add_asset(record)
    return record


def _refuse_large(size: int, name: str) -> None:
    """Raise ToolError if an asset is larger than the limit."""
    if size > MAX_BYTES:
        raise ToolError(f"{name!r} has {size:,} bytes; the limit is {MAX_BYTES:,}")


def _may_see(record: AssetRecord, caller: Caller) -> bool:
    return caller.is_trusted or record.owner == caller.owner


def show_asset(record: AssetRecord) -> AssetView:
    """Return an asset as lists show it."""
    return AssetView(
        id=record.id,
        name=record.name,
        type=record.kind,
        mime_type=record.mime_type,
        size=record.size,
        uri=asset_uri(record.id),
        width=record.width or None,
        height=record.height or None,
        created_at=show_moment(record.created),
    )
