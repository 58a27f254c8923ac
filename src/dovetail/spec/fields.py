"""Members that are too new for older revisions, as a table, and the projection that drops them.

lifecycle.operation.version (2025-06-18 basic/lifecycle): messages fit the negotiated
revision. Extra members would be tolerated by most clients; a client that validates
strictly, and a reader of transcripts, should not have to.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from dovetail.spec import models
from dovetail.spec.revisions import V2025_03_26, V2025_06_18, V2025_11_25, Revision

__all__ = ["NEWER_FIELDS", "project"]

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
        "_meta": V2025_06_18,
    },
    models.Prompt: {
        "title": V2025_06_18,
        "icons": V2025_11_25,
        "_meta": V2025_06_18,
    },
    models.PromptArgument: {"title": V2025_06_18},
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


def project(model: Struct, revision: Revision) -> dict[str, Any]:
    """The struct as builtins with only the members that `revision` knows."""
    value: dict[str, Any] = msgspec.to_builtins(model)
    for name, since in NEWER_FIELDS[type(model)].items():
        if since.order > revision.order:
            value.pop(name, None)
    if isinstance(model, models.Prompt) and model.arguments:
        value["arguments"] = [project(argument, revision) for argument in model.arguments]
    return value
