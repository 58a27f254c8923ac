"""The result of a rule, and helpers for all rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dovetail_design.generating.targets import Target
from dovetail_design.model import AnyElement, parse_paint

__all__ = ["Step", "begin_with", "read_paint", "update"]


@dataclass(frozen=True)
class Step:
    """A reply and the operations for it."""

    reply: str
    operations: list[dict[str, Any]] = field(default_factory=list)
    background: str | None = None


def read_paint(text: str) -> str | None:
    """Return the colour or gradient that a text names, or None."""
    text = text.strip().strip("'\"").lower()
    for candidate in (text, text.replace(" ", ""), text.split()[-1] if text.split() else ""):
        try:
            parse_paint(candidate)
        except ValueError:
            continue
        return candidate
    return None


def update(element: AnyElement, **changes: Any) -> dict[str, Any]:
    """Return the operation that updates properties of an element."""
    return {"op": "update", "elementId": element.id, "updates": changes}


def begin_with(target: Target) -> str:
    """Return the target as the start of a sentence."""
    words = target.words
    return words[:1].upper() + words[1:]
