"""The input schema that a list shows: what a model needs to call the tool, and no more.

A model pays for the list in every conversation. The listed schema accepts fewer arguments than the
tool does: it leaves out null where omitting the argument means the same, and parameters that
are marked with `Param(hidden=True)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dovetail.core.schema import Schema, assemble, map_schemas
from dovetail.errors import UsageError

__all__ = ["Param", "listed_schema"]

_NULL = {"type": "null"}


class Param:
    """How a parameter is listed: `Annotated[str | None, Param(hidden=True)]` is left out."""

    def __init__(self, *, hidden: bool = False) -> None:
        self.hidden = hidden


def listed_schema(schema: Schema, hints: Mapping[str, Any], where: str) -> Schema:
    """Return the schema for the list; raises UsageError if a hidden parameter is required."""
    schema = map_schemas(schema, _without_nulls)
    hidden = {
        name
        for name, hint in hints.items()
        for extra in getattr(hint, "__metadata__", ())
        if isinstance(extra, Param) and extra.hidden
    }
    required = hidden.intersection(schema.get("required", ()))
    if required:
        raise UsageError(
            f"{where}: {', '.join(sorted(required))} is required, so it cannot be hidden; give it "
            "a default"
        )
    if not hidden:
        return schema
    properties = {name: part for name, part in schema["properties"].items() if name not in hidden}
    # Without "additionalProperties": false, because the tool takes more than the list shows.
    shown = {k: part for k, part in schema.items() if k not in ("additionalProperties", "$defs")}
    shown["properties"] = properties
    return assemble(shown, schema.get("$defs", {}), inline_refs=False)


def _without_nulls(schema: Schema) -> Schema:
    if "properties" not in schema:
        return schema
    required = schema.get("required", ())
    properties = {
        name: part if name in required else _without_null(part)
        for name, part in schema["properties"].items()
    }
    return {**schema, "properties": properties}


def _without_null(schema: Any) -> Any:
    """Drop null from a property whose default is null."""
    if not isinstance(schema, dict) or schema.get("default", _NULL) is not None:
        return schema
    rest = {key: item for key, item in schema.items() if key not in ("anyOf", "default", "enum")}
    if "anyOf" in schema:
        others = [part for part in schema["anyOf"] if part != _NULL]
        return {**(others[0] if len(others) == 1 else {"anyOf": others}), **rest}
    if "enum" in schema:
        return {**rest, "enum": [value for value in schema["enum"] if value is not None]}
    return rest
