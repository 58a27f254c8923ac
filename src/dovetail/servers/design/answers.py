"""What every tool has in common: how it is described, and how an answer is put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dovetail import Server, ToolAnnotations, ToolResult
from dovetail.servers.design.examples import EXAMPLES
from dovetail.servers.design.results import schema_of

__all__ = [
    "CHANGES",
    "DESTROYS",
    "EDITS",
    "MAX_CHARS",
    "READS",
    "SETS",
    "Budget",
    "answer",
    "describe",
    "tool",
]

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
CHANGES = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
# The same call again changes nothing more.
SETS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
DESTROYS = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)

# May take something away, one way or another; an undo brings it back unless it was a file.
EDITS = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
)

# The bound of an answer; a tenth is kept for what stands around the lists.
MAX_CHARS = 20_000


class Budget:
    """Counts characters of JSON."""

    def __init__(self, characters: int = MAX_CHARS) -> None:
        self._left = characters - min(characters // 10, 2_000)

    def take(self, value: object) -> bool:
        """Whether the value still fits; if so it is counted."""
        size = len(msgspec.json.encode(value).decode()) + 1
        if size > self._left:
            return False
        self._left -= size
        return True


def describe(
    name: str, text: str, hints: ToolAnnotations, result: type[msgspec.Struct]
) -> dict[str, Any]:
    """What a tool is registered with; its example stands in the description."""
    example = msgspec.json.encode(EXAMPLES[name]).decode()
    return {
        "name": name,
        "title": name.replace("_", " ").capitalize(),
        "description": f"{text}\n\nExample: {example}",
        "annotations": hints,
        "output_schema": schema_of(result),
    }


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
