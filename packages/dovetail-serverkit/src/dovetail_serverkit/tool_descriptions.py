"""The metadata of a tool: annotations and output schema."""

from __future__ import annotations

from typing import Any

import msgspec

from dovetail import ToolAnnotations

__all__ = ["CHANGES", "DESTROYS", "EDITS", "READS", "SETS", "schema_of"]


def _writes(*, is_destructive: bool, is_idempotent: bool) -> ToolAnnotations:
    return ToolAnnotations(
        read_only_hint=False,
        destructive_hint=is_destructive,
        idempotent_hint=is_idempotent,
        open_world_hint=False,
    )


# Annotations for tools that work on local data only.
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
CHANGES = _writes(is_destructive=False, is_idempotent=False)
# Repeating the call has no further effect.
SETS = _writes(is_destructive=False, is_idempotent=True)
# May remove data; repeating the call removes more, or fails.
EDITS = _writes(is_destructive=True, is_idempotent=False)
DESTROYS = _writes(is_destructive=True, is_idempotent=True)


def schema_of(result: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of a result type, with the object itself (no `$ref`) at the root."""
    schema = msgspec.json.schema(result)
    definitions = schema["$defs"]
    root = definitions.pop(result.__name__)
    return {**root, "$defs": definitions} if definitions else root
