"""Finds elements outside the canvas.

Shapes and pictures may extend over the edge. Text, codes and tables that are cut off there are
reported, and so is everything that is completely outside.
"""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_design.findings.finding import Finding
from dovetail_design.findings.scene import Item, Scene

__all__ = ["find_off_canvas"]

# Tolerance for rounding.
_SLACK = 1.0


def find_off_canvas(scene: Scene) -> Iterator[Finding]:
    """Yield elements that are outside, and content that is cut off at the edge."""
    canvas = scene.canvas
    for item in scene.items:
        box = item.ink if item.is_content else item.bounds
        if canvas.holds(box, _SLACK):
            continue
        if canvas.meet(item.bounds) is None:
            yield _outside(item, scene)
        elif item.is_content:
            yield _cut(item, scene)


def _outside(item: Item, scene: Scene) -> Finding:
    width, height = scene.design.width, scene.design.height
    return Finding(
        "off-canvas",
        f"The {item.label} is outside the canvas ({width} x {height}): {_place(item)}",
        (item.id,),
        "Move it onto the canvas, or delete it.",
    )


def _cut(item: Item, scene: Scene) -> Finding:
    canvas, box = scene.canvas, item.ink
    sides = {
        "left": canvas.left - box.left,
        "top": canvas.top - box.top,
        "right": box.right - canvas.right,
        "bottom": box.bottom - canvas.bottom,
    }
    cut = {side: amount for side, amount in sides.items() if amount > _SLACK}
    said = " and ".join(f"{amount:.0f} px over the {side} edge" for side, amount in cut.items())
    fits = box.width <= canvas.width and box.height <= canvas.height
    return Finding(
        "off-canvas",
        f"The {item.label} extends {said} and is cut off there",
        (item.id,),
        f"Move it {_back(cut)}." if fits else "Make it smaller, or the canvas larger.",
    )


def _back(cut: dict[str, float]) -> str:
    opposite = {"left": "right", "right": "left", "top": "down", "bottom": "up"}
    return " and ".join(f"{opposite[side]} by {amount:.0f} px" for side, amount in cut.items())


def _place(item: Item) -> str:
    box = item.bounds
    return f"from {box.left:.0f}, {box.top:.0f} to {box.right:.0f}, {box.bottom:.0f}"
