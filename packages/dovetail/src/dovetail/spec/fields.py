"""Tables of members that not every revision has, and functions that remove them.

lifecycle.operation.version (2025-06-18 basic/lifecycle): messages follow the negotiated revision.
Most clients ignore extra members, but clients that validate strictly may reject them.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from dovetail.spec import models
from dovetail.spec.revisions import V2025_03_26, V2025_06_18, V2025_11_25, Revision

__all__ = [
    "ENDED_FIELDS",
    "NEWER_CONTENT_FIELDS",
    "NEWER_FIELDS",
    "drop_unknown",
    "has_all_content_fields",
    "project",
    "trim",
]

M = TypeVar("M", bound=Struct)

# struct -> wire name of a member -> the first revision that has it
NEWER_FIELDS: dict[type[Struct], dict[str, Revision]] = {
    models.Implementation: {
        "title": V2025_06_18,
        "description": V2025_11_25,
        "websiteUrl": V2025_11_25,
        "icons": V2025_11_25,
    },
    models.Tool: {
        "title": V2025_06_18,
        "icons": V2025_11_25,
        "outputSchema": V2025_06_18,
        "annotations": V2025_03_26,
        "execution": V2025_11_25,
        "_meta": V2025_06_18,
    },
    models.Prompt: {
        "title": V2025_06_18,
        "icons": V2025_11_25,
        "_meta": V2025_06_18,
    },
    models.PromptArgument: {"title": V2025_06_18},
    models.Annotations: {"lastModified": V2025_06_18},
    models.Resource: {
        "title": V2025_06_18,
        "icons": V2025_11_25,
        "_meta": V2025_06_18,
    },
    models.ResourceTemplate: {
        "title": V2025_06_18,
        "icons": V2025_11_25,
        "_meta": V2025_06_18,
    },
}

# struct -> wire name of a member -> the last revision that has it
ENDED_FIELDS: dict[type[Struct], dict[str, Revision]] = {
    models.Tool: {"execution": V2025_11_25},
}


# The same for content blocks, which stay structs: see `trim`.
NEWER_CONTENT_FIELDS: dict[type[Struct], dict[str, Revision]] = {
    models.TextContent: {"_meta": V2025_06_18},
    models.ImageContent: {"_meta": V2025_06_18},
    models.AudioContent: {"_meta": V2025_06_18},
    models.EmbeddedResource: {"_meta": V2025_06_18},
    models.ResourceLink: {"icons": V2025_11_25},
    models.Annotations: NEWER_FIELDS[models.Annotations],
}


def project(model: Struct, revision: Revision) -> dict[str, Any]:
    """The struct as builtins, with only the members that `revision` has."""
    value: dict[str, Any] = msgspec.to_builtins(model)
    drop_unknown(type(model), value, revision)
    if isinstance(model, models.Prompt) and model.arguments:
        value["arguments"] = [project(argument, revision) for argument in model.arguments]
    if isinstance(model, models.Resource | models.ResourceTemplate) and model.annotations:
        value["annotations"] = project(model.annotations, revision)
    return value


def drop_unknown(kind: type[Struct], value: dict[str, Any], revision: Revision) -> None:
    """Remove the members that `revision` lacks from a `kind` of builtins."""
    for name, since in NEWER_FIELDS[kind].items():
        if since.order > revision.order:
            value.pop(name, None)
    for name, until in ENDED_FIELDS.get(kind, {}).items():
        if until.order < revision.order:
            value.pop(name, None)


@cache
def has_all_content_fields(revision: Revision) -> bool:
    """Whether `revision` has all content members, so that `trim` can be skipped."""
    return not any(_unknown_members(kind, revision) for kind in NEWER_CONTENT_FIELDS)


def trim(block: M, revision: Revision) -> M:
    """The block without the members that `revision` lacks; unchanged if it uses none."""
    unknown = _unknown_members(type(block), revision)
    changes: dict[str, Any] = {name: None for name in unknown if getattr(block, name) is not None}
    annotations = getattr(block, "annotations", None)
    if annotations is not None and (fitted := trim(annotations, revision)) is not annotations:
        changes["annotations"] = fitted
    return msgspec.structs.replace(block, **changes) if changes else block


@cache
def _unknown_members(kind: type[Struct], revision: Revision) -> tuple[str, ...]:
    newer = NEWER_CONTENT_FIELDS[kind]
    return tuple(
        member.name
        for member in msgspec.structs.fields(kind)
        if member.encode_name in newer and newer[member.encode_name].order > revision.order
    )
