"""Helpers for all tools: registration and results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dovetail import Server, ToolAnnotations, ToolResult
from dovetail_design.examples import EXAMPLES
from dovetail_serverkit import tool_descriptions

__all__ = ["MAX_CHARS", "answer", "describe", "tool"]

# The largest result, in characters.
MAX_CHARS = 20_000


def describe(
    name: str, text: str, hints: ToolAnnotations, result: type[msgspec.Struct]
) -> dict[str, Any]:
    """Return the arguments that register a tool, including its example."""
    return tool_descriptions.describe(name, text, hints, result, EXAMPLES[name])


def tool(
    server: Server,
    name: str,
    text: str,
    hints: ToolAnnotations,
    result: type[msgspec.Struct],
    **more: Any,
) -> Callable[[Callable[..., Any]], Any]:
    """Register a tool."""
    return server.tool(**describe(name, text, hints, result), **more)


def answer(result: msgspec.Struct, *blocks: Any) -> ToolResult:
    """Return the result as structured content and as JSON text, followed by other blocks."""
    if not blocks:
        return ToolResult(structured=result)
    return ToolResult([msgspec.json.encode(result).decode(), *blocks], structured=result)
