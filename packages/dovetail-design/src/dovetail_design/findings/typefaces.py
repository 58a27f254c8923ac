"""Finds missing fonts."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_design.findings.finding import Finding
from dovetail_design.findings.scene import Scene
from dovetail_design.model import Barcode, Table, Text

__all__ = ["find_missing_fonts"]


def find_missing_fonts(scene: Scene) -> Iterator[Finding]:
    """Yield one finding per family, with all elements that use it."""
    users: dict[str, list[str]] = {}
    for item in scene.items:
        element = item.element
        if isinstance(element, Text | Table | Barcode):
            users.setdefault(element.fontFamily, []).append(item.id)
    for asked, ids in users.items():
        choice = scene.context.book.choose(asked)
        if choice.is_substitute:
            yield Finding(
                "missing-font",
                f"The font {asked!r} is missing; {choice.family!r} is used instead",
                tuple(ids),
                f"Set fontFamily to {choice.family!r} or another family from list_fonts.",
            )
