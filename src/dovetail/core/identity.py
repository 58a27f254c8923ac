"""Who the server is and what it can do, as every era needs to say it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dovetail.spec.models import Implementation
from dovetail.spec.revisions import Revision

__all__ = ["Identity"]


class Identity(NamedTuple):
    """Name, version, instructions, and capabilities computed from what is registered."""

    implementation: Implementation
    instructions: str | None
    capabilities: Callable[[], dict[str, Any]]
    extensions: dict[str, Any]

    def capabilities_at(self, revision: Revision) -> dict[str, Any]:
        """The capabilities in the words of one revision."""
        capabilities = dict(self.capabilities())
        if not revision.completions_capability:
            capabilities.pop("completions", None)
        if self.extensions and revision.extensions:
            capabilities["extensions"] = self.extensions
        return capabilities
