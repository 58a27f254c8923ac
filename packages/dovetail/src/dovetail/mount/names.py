"""The kinds of entries that servers list, and the names of those of a mounted server.

With the prefix "shop" the tool `add` is `shop_add`, the resource `notes://today` is
`notes://shop/today`, and `urn:note` is `urn:shop/note`. A URI that does not have the prefix never
reaches the mounted server, whatever follows it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from dovetail.errors import UsageError

__all__ = ["BY_NAME", "KINDS", "EntryKind", "Prefix"]

_VALID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:(?://)?)(.*)", re.DOTALL)


class Prefix:
    """Adds and removes the prefix of a mount; an empty prefix changes nothing."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        if text and not _VALID.fullmatch(text):
            raise UsageError(
                "a prefix has 1 to 32 letters, digits, - and _, and begins with a letter or "
                f"digit; got {text!r}"
            )
        self.text: str = text

    def add(self, name: str) -> str:
        """Return the outer name of a tool or prompt."""
        return f"{self.text}_{name}" if self.text else name

    def remove(self, name: str) -> str | None:
        """Return the inner name; None if the name does not have the prefix."""
        if not self.text:
            return name
        start = f"{self.text}_"
        return name[len(start) :] if name.startswith(start) and name != start else None

    def add_to_uri(self, uri: str) -> str:
        """Return the outer URI or URI template."""
        match = _SCHEME.match(uri)
        if not self.text or match is None:
            return uri
        return f"{match[1]}{self.text}/{match[2]}"

    def remove_from_uri(self, uri: str) -> str | None:
        """Return the inner URI or template; None if the URI does not have the prefix."""
        if not self.text:
            return uri
        match = _SCHEME.match(uri)
        start = f"{self.text}/"
        if match is None or not match[2].startswith(start):
            return None
        return f"{match[1]}{match[2][len(start) :]}"

    def overlaps(self, other: Prefix) -> bool:
        """Whether one name could belong to both prefixes."""
        mine, its = f"{self.text}_", f"{other.text}_"
        return bool(self.text and other.text) and (mine.startswith(its) or its.startswith(mine))


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
