"""The kinds of entries that servers list, and how lists name them."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["BY_NAME", "KINDS", "Kind"]


class Kind(NamedTuple):
    """A kind of entries: its list, and the member of an entry that names it."""

    name: str
    method: str
    member: str
    key: str
    capability: str
    is_uri: bool


KINDS = (
    Kind("tool", "tools/list", "tools", "name", "tools", is_uri=False),
    Kind("prompt", "prompts/list", "prompts", "name", "prompts", is_uri=False),
    Kind("resource", "resources/list", "resources", "uri", "resources", is_uri=True),
    Kind(
        "resource template",
        "resources/templates/list",
        "resourceTemplates",
        "uriTemplate",
        "resources",
        is_uri=True,
    ),
)
BY_NAME = {kind.name: kind for kind in KINDS}
