"""What a server has declared, read the same way by those who probe and those who judge."""

from __future__ import annotations

from typing import Any

__all__ = ["declares"]


def declares(capabilities: Any, capability: str) -> bool:
    """Whether it is among the capabilities; `resources.subscribe` asks for a member."""
    found = capabilities
    for key in capability.split("."):
        if not isinstance(found, dict) or key not in found:
            return False
        found = found[key]
    return found is not False and found is not None
