"""Builds the server: tools, resources and prompts for one directory of designs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dovetail import Options, Server
from dovetail_design.ai_tools import add_ai_tools
from dovetail_design.answers import Registrar
from dovetail_design.asset_tools import add_asset_tools
from dovetail_design.blobs import BlobFolder
from dovetail_design.canvas_tools import add_canvas_tools
from dovetail_design.compact_tools import add_compact_tools
from dovetail_design.design_prompts import add_design_prompts
from dovetail_design.design_resources import add_design_resources, follow
from dovetail_design.design_tools import add_design_tools
from dovetail_design.edit_tools import add_edit_tools
from dovetail_design.export_tools import add_export_tools
from dovetail_design.folders import Folders
from dovetail_design.fonts import FontBook
from dovetail_design.history_tools import add_history_tools
from dovetail_design.library_tools import add_library_tools
from dovetail_design.preview_tools import add_preview_tools
from dovetail_design.sqlite_store import SqliteStore
from dovetail_design.studio import Studio
from dovetail_design.template_tools import add_template_tools
from dovetail_serverkit.tool_sets import ToolSet

__all__ = ["DesignOptions", "build_server"]

_LOOK_EVERY = 0.25
_PAGE = 100
# A 20 MB asset as base64, plus the rest of the message.
_LONGEST_MESSAGE = 30_000_000

_INSTRUCTIONS: dict[ToolSet, str] = {
    "default": (
        "Begin with create_design, or fill a template (list_templates, generate_design) with "
        "apply_template. edit_design makes many changes at once. Then look: render_preview, and "
        "describe_design for problems; every change returns warnings. export_design creates "
        "files. design_history undoes."
    ),
    "compact": (
        "Begin with create_design, or find a template with search_library and fill it with "
        "apply_template. Change with edit_design. Then look with read_design: picture, and outline "
        "for problems; every change returns warnings. export_design creates files."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignOptions:
    """Options of the design server."""

    # Folders that clients may upload from and save exports to.
    folders: Sequence[Path] = ()
    # Directory of additional fonts.
    fonts: Path | None = None
    # The tools that are listed; all of them can be called.
    tools: ToolSet = "default"


def build_server(directory: Path, options: DesignOptions | None = None) -> Server:
    """Build a server for the designs in this directory."""
    options = options or DesignOptions()
    studio = Studio(
        SqliteStore(directory / "designs.db"),
        BlobFolder(directory / "blobs"),
        Folders(options.folders),
        FontBook(options.fonts),
    )
    server = Server(
        "design",
        version="1.0.0",
        title="Design studio",
        description="Create, check and export designs, with version history.",
        instructions=_INSTRUCTIONS[options.tools],
        lifespan=lambda server: _serving(server, studio),
        # Some models send an element as a JSON string.
        options=Options(
            page_size=_PAGE,
            accept_json_strings=True,
            current_context=True,
            max_message_bytes=_LONGEST_MESSAGE,
            list_output_schemas=False,
        ),
    )
    registrar = Registrar(server, options.tools)
    for add in (
        add_design_tools,
        add_canvas_tools,
        add_edit_tools,
        add_preview_tools,
        add_export_tools,
        add_template_tools,
        add_asset_tools,
        add_library_tools,
        add_ai_tools,
        add_history_tools,
        add_compact_tools,
    ):
        add(registrar, studio)
    add_design_resources(server, studio)
    add_design_prompts(server, studio)
    return server


@contextlib.asynccontextmanager
async def _serving(server: Server, studio: Studio) -> AsyncIterator[None]:
    follower = asyncio.create_task(follow(server, studio, _LOOK_EVERY))
    try:
        yield
    finally:
        follower.cancel()
        await asyncio.gather(follower, return_exceptions=True)
        await asyncio.to_thread(studio.close)
