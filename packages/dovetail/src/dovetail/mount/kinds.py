"""The kinds of entries that servers list, and how lists name them."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["BY_NAME", "KINDS", "EntryKind"]


class EntryKind(NamedTuple):
    """A kind of entries: its list, and the member of an entry that names it."""

    name: str
    method: str
    member: str
    key: str
    capability: str
    is_uri: bool


KINDS = (
    EntryKind("tool", "tools/list", "tools", "name", "tools", is_uri=False),
    EntryKind("prompt", "prompts/list", "prompts", "name", "prompts", is_uri=False),
    EntryKind("resource", "resources/list", "resources", "uri", "resources", is_uri=True),
    EntryKind(
        "resource template",
        "resources/templates/list",
        "resourceTemplates",
        "uriTemplate",
        "resources",
        is_uri=True,
    ),
)
BY_NAME = {kind.name: kind for kind in KINDS}
