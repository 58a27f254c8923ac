"""Changes to the tools of a mounted server: names, descriptions and arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from dovetail.errors import ToolError, UsageError
from dovetail.spec.models import CallToolParams
from dovetail.wire import codec

__all__ = [
    "ArgumentTransform",
    "ToolTransform",
    "change_arguments",
    "change_listing",
    "check_arguments",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentTransform:
    """What to change about one argument of a tool."""

    name: str | None = None
    description: str | None = None
    # The value that every call gets; clients do not see the argument.
    value: Any = UNSET
    # Clients do not see the argument and cannot set it; the tool uses its default.
    hidden: bool = False

    @property
    def is_listed(self) -> bool:
        """Whether clients see the argument."""
        return not self.hidden and self.value is UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTransform:
    """What to change about one tool of a mounted server."""

    name: str | None = None
    title: str | None = None
    description: str | None = None
    # Clients neither see the tool nor can they call it.
    hidden: bool = False
    # By the name that the argument has in the mounted server.
    arguments: Mapping[str, ArgumentTransform] = field(default_factory=dict)

    def outer_argument(self, name: str) -> str:
        """Return the name of an argument that clients use."""
        transform = self.arguments.get(name)
        return name if transform is None or transform.name is None else transform.name


def change_listing(entry: Mapping[str, Any], transform: ToolTransform) -> dict[str, Any]:
    """Return the listing of a tool with the changes; the name is changed by the mount."""
    changed = dict(entry)
    for member in ("title", "description"):
        text = getattr(transform, member)
        if text is not None:
            changed[member] = text
    schema = entry.get("inputSchema")
    if transform.arguments and isinstance(schema, dict):
        changed["inputSchema"] = _change_schema(schema, transform)
    return changed


def _change_schema(schema: Mapping[str, Any], transform: ToolTransform) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name, given in (schema.get("properties") or {}).items():
        change = transform.arguments.get(name, _UNCHANGED)
        if not change.is_listed:
            continue
        property_ = given
        if change.description is not None and isinstance(given, dict):
            property_ = {**given, "description": change.description}
        properties[transform.outer_argument(name)] = property_
    changed = {**schema, "properties": properties}
    required = [
        transform.outer_argument(name)
        for name in schema.get("required") or ()
        if transform.arguments.get(name, _UNCHANGED).is_listed
    ]
    changed.pop("required", None)
    return {**changed, "required": required} if required else changed


def change_arguments(params: CallToolParams, transform: ToolTransform) -> CallToolParams:
    """Return the params of a call with the arguments that the mounted server expects.

    Raises ToolError for arguments that clients may not set, so that the model can correct it.
    """
    if not transform.arguments:
        return params
    try:
        given = (
            {} if params.arguments is UNSET else codec.decode_as(dict[str, Any], params.arguments)
        )
    except msgspec.ValidationError:
        return params  # the mounted server says what is wrong
    inner = {
        change.name: name
        for name, change in transform.arguments.items()
        if change.name is not None and change.is_listed
    }
    for name, change in transform.arguments.items():
        is_other = inner.get(name) is not None
        if name in given and not is_other and (not change.is_listed or change.name is not None):
            raise ToolError(f"Invalid arguments for {params.name}: {name}: unknown argument")
    values = {inner.get(name, name): value for name, value in given.items()}
    for name, change in transform.arguments.items():
        if change.value is not UNSET:
            values[name] = change.value
    return msgspec.structs.replace(params, arguments=Raw(codec.encode(values)))


def check_arguments(tool: str, schema: Mapping[str, Any], transform: ToolTransform) -> None:
    """Raise UsageError if the transform does not fit the input schema of the tool."""
    known = schema.get("properties") or {}
    required = set(schema.get("required") or ())
    for name, change in transform.arguments.items():
        if name not in known:
            raise UsageError(
                f"tool {tool!r} has no argument {name!r}; it has "
                f"{', '.join(map(repr, known)) or 'none'}"
            )
        if change.hidden and change.value is UNSET and name in required:
            raise UsageError(
                f"the argument {name!r} of tool {tool!r} is required, so it cannot be hidden "
                "without a value="
            )
    names = [transform.outer_argument(name) for name in known]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise UsageError(f"tool {tool!r} would have two arguments {sorted(twice)[0]!r}")


_UNCHANGED = ArgumentTransform()
