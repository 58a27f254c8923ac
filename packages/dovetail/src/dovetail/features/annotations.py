"""Annotations of tools and resources, given as a model or as a plain dict.

`annotations={"readOnlyHint": True}` is how the specification and other frameworks write them.
Keys may be camelCase, as on the wire, or snake_case, as in the models.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict, TypeVar

import msgspec

from dovetail.errors import UsageError
from dovetail.spec.models import Role

__all__ = ["AnnotationsDict", "ToolAnnotationsDict", "read_annotations"]

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
