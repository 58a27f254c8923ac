"""Looks up declared capabilities, for probes and rules."""

from __future__ import annotations

from typing import Any

__all__ = ["declares"]


def declares(capabilities: Any, capability: str) -> bool:
    """Whether a capability, or a member such as `resources.subscribe`, is declared."""
    found = capabilities
    for key in capability.split("."):
        if not isinstance(found, dict) or key not in found:
            return False
        found = found[key]
    return found is not False and found is not None
