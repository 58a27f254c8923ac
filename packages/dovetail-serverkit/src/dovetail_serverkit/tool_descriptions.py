"""How the tools of a ready server are described: hints, the schema of a result, an example."""

from __future__ import annotations

from typing import Any

import msgspec

from dovetail import ToolAnnotations

__all__ = ["CHANGES", "DESTROYS", "EDITS", "READS", "SETS", "describe", "schema_of"]


def _changing(*, destroys: bool, is_idempotent: bool) -> ToolAnnotations:
    return ToolAnnotations(
        read_only_hint=False,
        destructive_hint=destroys,
        idempotent_hint=is_idempotent,
        open_world_hint=False,
    )


# For what stays on this machine.
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
CHANGES = _changing(destroys=False, is_idempotent=False)
# The same call again changes nothing more.
SETS = _changing(destroys=False, is_idempotent=True)
# May take something away; the same call again takes more, or fails.
EDITS = _changing(destroys=True, is_idempotent=False)
DESTROYS = _changing(destroys=True, is_idempotent=True)


def schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of a result, with the object itself at the root."""
    schema = msgspec.json.schema(kind)
    definitions = schema["$defs"]
    root = definitions.pop(kind.__name__)
    return {**root, "$defs": definitions} if definitions else root


def describe(
    name: str,
    text: str,
    hints: ToolAnnotations,
    result: type[msgspec.Struct] | None,
    example: object,
) -> dict[str, Any]:
    """What a tool is registered with; the arguments of its example stand in the description."""
    described: dict[str, Any] = {
        "name": name,
        "title": name.replace("_", " ").capitalize(),
        "description": f"{text}\n\nExample: {msgspec.json.encode(example).decode()}",
        "annotations": hints,
    }
    if result is not None:
        described["output_schema"] = schema_of(result)
    return described
