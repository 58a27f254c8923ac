"""What every tool has in common: how it is described, and how an answer is put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dovetail import Server, ToolAnnotations, ToolResult
from dovetail_design.examples import EXAMPLES
from dovetail_serverkit import describing

__all__ = ["MAX_CHARS", "answer", "describe", "tool"]

# The bound of an answer.
MAX_CHARS = 20_000


def describe(
    name: str, text: str, hints: ToolAnnotations, result: type[msgspec.Struct]
) -> dict[str, Any]:
    """What a tool is registered with, its example among it."""
    return describing.describe(name, text, hints, result, EXAMPLES[name])


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
    """The result as data, as JSON for clients that read text, and whatever is to be seen."""
    if not blocks:
        return ToolResult(structured=result)
    return ToolResult([msgspec.json.encode(result).decode(), *blocks], structured=result)
