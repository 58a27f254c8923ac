"""Automatic fixes: operations that resolve findings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_design.findings.describing import describe
from dovetail_design.generating.autofix import fit_texts, fix_contrast
from dovetail_design.model import Design, to_plain

__all__ = ["fix_operations"]

_SIZES = frozenset({"fontSize", "letterSpacing"})
_UNSET = object()


def fix_operations(design: Design) -> tuple[list[dict[str, Any]], str]:
    """Return the operations that fix problems, and a summary."""
    fixed = fix_contrast(fit_texts(design))
    operations = list(_updates(design, fixed))
    smaller = sum("fontSize" in operation["updates"] for operation in operations)
    recoloured = sum(bool(operation["updates"].keys() - _SIZES) for operation in operations)
    moves = _moves(fixed)
    counted = (
        (smaller, "made smaller to fit"),
        (recoloured, "given readable colours"),
        (len(moves), "moved onto the canvas"),
    )
    said = [
        f"{count} element{'' if count == 1 else 's'} {what}" for count, what in counted if count
    ]
    return operations + moves, ", ".join(said)


def _updates(before: Design, after: Design) -> Iterator[dict[str, Any]]:
    for old, new in zip(before.elements, after.elements, strict=True):
        if old != new:
            was, becomes = to_plain(old), to_plain(new)
            changed = {
                key: value for key, value in becomes.items() if was.get(key, _UNSET) != value
            }
            yield {"op": "update", "elementId": old.id, "updates": changed}


def _moves(design: Design) -> list[dict[str, Any]]:
    """Return operations that move elements back onto the canvas, if they fit there."""
    by_id = {element.id: element for element in design.elements}
    moves = []
    for found in describe(design).findings:
        element = by_id.get(found.element_ids[0])
        if found.code != "off-canvas" or element is None:
            continue
        if element.width > design.width or element.height > design.height:
            continue
        x = min(max(element.x, 0), design.width - element.width)
        y = min(max(element.y, 0), design.height - element.height)
        if (x, y) != (element.x, element.y):
            moves.append({"op": "move", "elementIds": [element.id], "x": x, "y": y})
    return moves
