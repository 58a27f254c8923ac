"""Helpers for all tools: registration and results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dovetail import ResourceLink, Server, ToolAnnotations, ToolResult
from dovetail_design.bounding import bound
from dovetail_design.examples import EXAMPLES, SHOWN
from dovetail_serverkit.tool_descriptions import schema_of
from dovetail_serverkit.tool_sets import ToolSet

__all__ = [
    "COMPACT",
    "MAX_CHARS",
    "UNLISTED",
    "Registrar",
    "answer",
    "tool",
]

# The most characters of a result: text, structured content and links together, without pictures.
MAX_CHARS = 20_000
# The fields of a result around its content.
_FRAME, _LINK = 500, 200

# The tools that the compact set lists; all others can be called as well.
COMPACT = frozenset(
    {
        "create_design",
        "read_design",
        "edit_design",
        "export_design",
        "apply_template",
        "search_library",
        "upload_asset",
        "design_history",
        "duplicate_design",
        "resize_canvas",
        "delete_design",
    }
)
# The tools that the default set does not list: they repeat what others do.
UNLISTED = frozenset({"arrange_elements", "read_design", "search_library"})


class Registrar:
    """Registers tools on a server, and knows their functions, which other tools call."""

    def __init__(self, server: Server, tools: ToolSet) -> None:
        self.server = server
        self._is_compact = tools == "compact"
        self.functions: dict[str, Callable[..., ToolResult]] = {}

    def lists(self, name: str) -> bool:
        """Return whether the list of tools shows this one."""
        return name in COMPACT if self._is_compact else name not in UNLISTED


def tool(
    tools: Registrar,
    name: str,
    text: str,
    hints: ToolAnnotations,
    result: type[msgspec.Struct] | None,
    **more: Any,
) -> Callable[[Callable[..., Any]], Any]:
    """Register a tool; its description has an example where the call is not obvious."""
    if name in SHOWN:
        text = f"{text}\n\nExample: {msgspec.json.encode(EXAMPLES[name]).decode()}"
    if result is not None:
        more["output_schema"] = schema_of(result)

    def register(function: Callable[..., Any]) -> Any:
        tools.functions[name] = function
        return tools.server.tool(
            name=name,
            title=name.replace("_", " ").capitalize(),
            description=text,
            annotations=hints,
            hidden=not tools.lists(name),
            **more,
        )(function)

    return register


def answer(result: msgspec.Struct, *blocks: Any) -> ToolResult:
    """Return the result as structured content and as JSON text, followed by other blocks.

    Together they are at most MAX_CHARS, not counting pictures.
    """
    links = sum(len(one.uri) + len(one.name) + _LINK for one in blocks if _is_link(one))
    shown = bound(result, MAX_CHARS - _FRAME - links)
    if not blocks:
        return ToolResult(structured=shown)
    return ToolResult([msgspec.json.encode(shown).decode(), *blocks], structured=shown)


def _is_link(block: Any) -> bool:
    return isinstance(block, ResourceLink)
