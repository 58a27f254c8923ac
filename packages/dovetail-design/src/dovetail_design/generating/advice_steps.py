"""What follows from a wish, and the words that all rules share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dovetail_design.generating.targets import Target
from dovetail_design.model import AnyElement, parse_paint

__all__ = ["Step", "begin_with", "read_paint", "update"]


@dataclass(frozen=True)
class Step:
    """One thing to do."""

    reply: str
    operations: list[dict[str, Any]] = field(default_factory=list)
    background: str | None = None


def read_paint(text: str) -> str | None:
    """The colour or gradient that words name, or None."""
    text = text.strip().strip("'\"").lower()
    for candidate in (text, text.replace(" ", ""), text.split()[-1] if text.split() else ""):
        try:
            parse_paint(candidate)
        except ValueError:
            continue
        return candidate
    return None


def update(element: AnyElement, **changes: Any) -> dict[str, Any]:
    """The operation that changes properties of an element."""
    return {"op": "update", "elementId": element.id, "updates": changes}


def begin_with(target: Target) -> str:
    """A sentence's subject."""
    words = target.words
    return words[:1].upper() + words[1:]
