"""Helpers for all tools: registration and results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from dovetail import Server, ToolAnnotations, ToolResult
from dovetail_design.examples import EXAMPLES, SHOWN
from dovetail_serverkit.tool_descriptions import schema_of

__all__ = ["COMPACT", "MAX_CHARS", "UNLISTED", "Registrar", "ToolSet", "answer", "tool"]

# The largest result, in characters.
MAX_CHARS = 20_000

ToolSet = Literal["default", "compact"]
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
            listed=tools.lists(name),
            **more,
        )(function)

    return register


def answer(result: msgspec.Struct, *blocks: Any) -> ToolResult:
    """Return the result as structured content and as JSON text, followed by other blocks."""
    if not blocks:
        return ToolResult(structured=result)
    return ToolResult([msgspec.json.encode(result).decode(), *blocks], structured=result)
