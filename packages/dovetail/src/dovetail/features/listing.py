"""Lists of tools, prompts and resources: their pages, and what entries show.

Pages (server/utilities/pagination) are encoded once per revision and cursor.

`annotations={"readOnlyHint": True}` is how the specification and other frameworks write them.
Keys may be camelCase, as on the wire, or snake_case, as in the models.

A model pays for the list of tools in every conversation. The listed schema accepts fewer arguments
than the tool does: it leaves out null where omitting the argument means the same, and parameters
that are marked with `Param(hidden=True)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypedDict, TypeVar

import msgspec

from dovetail.core.call import Call
from dovetail.core.era import CacheHint, Encoded
from dovetail.core.principal import visibility_of
from dovetail.core.registry import Registry
from dovetail.core.schema import Schema, assemble, map_schemas
from dovetail.errors import UsageError
from dovetail.spec.models import ListParams, Role
from dovetail.spec.revisions import Revision

__all__ = [
    "AnnotationsDict",
    "Param",
    "ToolAnnotationsDict",
    "answer_page",
    "listed_schema",
    "read_annotations",
]

T = TypeVar("T")

# Cursors are not secret: a client that makes up many of them must not fill the memory.
_MOST_CACHED_PAGES = 1024


def answer_page(
    call: Call,
    registry: Registry[T],
    member: str,
    listed: Callable[[T, Revision], dict[str, Any]],
    hint: CacheHint,
) -> Encoded:
    """Return one page of a list, from the registry's cache if possible."""
    params: ListParams = call.params  # type: ignore[assignment]
    revision = call.era.revision
    # Callers that see the same entries share the encoded page.
    is_guarded = call.services.permission is not None
    visibility = visibility_of(call, registry) if registry.scopes or is_guarded else None
    key = (revision.order, params.cursor, visibility, is_guarded)
    body = registry.encoded.get(key)
    if body is None:
        page = registry.page(params.cursor, visibility)
        result: dict[str, Any] = {member: [listed(entry, revision) for entry in page.entries]}
        if page.next_cursor is not None:
            result["nextCursor"] = page.next_cursor
        if visibility is not None or is_guarded:
            # caching.public-aware (2026-07-28 server/utilities/caching): callers differ
            hint = hint._replace(scope="private")
        body = call.era.complete(result, hint)
        if len(registry.encoded) >= _MOST_CACHED_PAGES:
            registry.encoded.clear()
        registry.encoded[key] = body
    return Encoded(body)


S = TypeVar("S", bound=msgspec.Struct)


class ToolAnnotationsDict(TypedDict, total=False):
    """`ToolAnnotations` as a dict."""

    title: str
    readOnlyHint: bool
    read_only_hint: bool
    destructiveHint: bool
    destructive_hint: bool
    idempotentHint: bool
    idempotent_hint: bool
    openWorldHint: bool
    open_world_hint: bool


class AnnotationsDict(TypedDict, total=False):
    """`Annotations` as a dict."""

    audience: list[Role]
    priority: float
    lastModified: str
    last_modified: str


def read_annotations(model: type[S], given: S | Mapping[str, Any] | None, where: str) -> S | None:
    """Return annotations as `model`; raises UsageError for unknown keys and wrong types."""
    if given is None or isinstance(given, model):
        return given
    if not isinstance(given, Mapping):
        raise UsageError(
            f"{where}: annotations is a dict or {model.__name__}(...), got {type(given).__name__}"
        )
    wire_names = model.__struct_encode_fields__
    known = dict(zip(model.__struct_fields__, wire_names, strict=True)) | {
        name: name for name in wire_names
    }
    unknown = [key for key in given if key not in known]
    if unknown:
        raise UsageError(
            f"{where}: annotations has no key {unknown[0]!r}; the keys are {', '.join(wire_names)}"
        )
    try:
        return msgspec.convert({known[key]: value for key, value in given.items()}, model)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: annotations: {error}") from None


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
