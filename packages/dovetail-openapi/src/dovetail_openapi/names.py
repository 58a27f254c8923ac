"""Names of tools and arguments: characters and lengths that every client accepts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection

__all__ = ["argument_name", "tool_name", "unique"]

# Model providers accept fewer characters and shorter names than MCP does.
MAX_LENGTH = 64
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")
_NOT_IN_VARIABLE = re.compile(r"[^A-Za-z0-9_]+")
_DIGEST = 7


def tool_name(operation_id: str, method: str, path: str) -> str:
    """Return the name of the tool of an operation."""
    own = _OTHER.sub("_", operation_id).strip("_-")
    return _cut(own or _OTHER.sub("_", f"{method}{path}").strip("_"))


def argument_name(name: str) -> str:
    """Return the name of an argument: letters, digits and inner underscores, a letter first."""
    own = _NOT_IN_VARIABLE.sub("_", name).strip("_") or "value"
    return _cut(f"arg_{own}" if own[0].isdigit() else own)


def unique(name: str, taken: Collection[str]) -> str:
    """Return the name, with a number behind it if it is taken."""
    number = 2
    found = name
    while found in taken:
        end = f"_{number}"
        found = name[: MAX_LENGTH - len(end)] + end
        number += 1
    return found


def _cut(name: str) -> str:
    if len(name) <= MAX_LENGTH:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[: _DIGEST - 1]
    return f"{name[: MAX_LENGTH - _DIGEST]}_{digest}"
