"""Instructions about position and size: moving, aligning, rotating, ordering."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from dovetail_design.findings.measuring import font_size_of, overflow_of
from dovetail_design.generating.advice_steps import Step, begin_with, update
from dovetail_design.generating.targets import find_target
from dovetail_design.model import AnyElement, Design, Text

__all__ = [
    "align_elements",
    "delete_elements",
    "move_elements",
    "order_elements",
    "rotate_elements",
    "scale_elements",
]

Match = re.Match[str]


_BIGGER, _A_LITTLE, _MUCH = 1.25, 1.12, 1.6


_FAR = 0.05


def scale_elements(found: Match, design: Design) -> Step | None:
    """Scale elements."""
    target = find_target(found["target"], design)
    if target is None:
        return None
    amount = found["amount"] or ""
    share = re.search(r"(\d+)\s*%", found[0])
    factor = _A_LITTLE if re.search(r"bit|little|slightly", amount) else _BIGGER
    factor = _MUCH if re.search(r"much|lot|way", amount) else factor
    factor = 1 + int(share[1]) / 100 if share else factor
    factor = factor if re.match(r"big|larg|wid|tall|high", found["way"], re.I) else 1 / factor
    operations = [_scaled(element, factor, design) for element in target.elements]
    return Step(
        f"{begin_with(target)} becomes {'larger' if factor > 1 else 'smaller'}.", operations
    )


def _scaled(element: AnyElement, factor: float, design: Design) -> dict[str, Any]:
    """Scale about the centre; for texts the font, and the box as far as needed."""
    if isinstance(element, Text):
        return _scaled_text(element, factor, design)
    width, height = element.width * factor, element.height * factor
    return update(
        element,
        x=round(element.x - (width - element.width) / 2, 1),
        y=round(element.y - (height - element.height) / 2, 1),
        width=round(max(width, 1), 1),
        height=round(max(height, 1), 1),
    )


def _scaled_text(element: Text, factor: float, design: Design) -> dict[str, Any]:
    size = round(font_size_of(element) * factor, 1)
    changes: dict[str, Any] = {"fontSize": size}
    overflow = overflow_of(msgspec.structs.replace(element, fontSize=size))
    if overflow is not None and overflow.breaks_word:
        # Wider, up to the edge of the canvas.
        width = min(overflow.needed_width + 2, design.width)
        changes |= {"width": round(width), "x": round(max(0, min(element.x, design.width - width)))}
        overflow = overflow_of(msgspec.structs.replace(element, **changes))
    if overflow is not None:
        changes["height"] = round(max(overflow.needed_height, element.height) + 1)
    return update(element, **changes)


_SIDES = {"centre": "center", "centered": "center", "middle": "center", "centred": "center"}


def align_elements(found: Match, design: Design) -> Step | None:
    """Align text in its box, or elements on the canvas."""
    side = found["side"].lower()
    side = _SIDES.get(side, side)
    target = find_target(found["target"] or "all texts", design)
    if target is None:
        return None
    texts = [element for element in target.elements if isinstance(element, Text)]
    if side in ("top", "bottom") or not texts or re.search(r"\b(?:canvas|page|design)\b", found[0]):
        to = ["center", "middle"] if side == "center" else [side]
        operation = {"op": "align", "elementIds": target.ids, "to": to, "relativeTo": "canvas"}
        return Step(f"{begin_with(target)} is aligned to the {side} of the canvas.", [operation])
    return Step(
        f"{begin_with(target)} is aligned {side}.",
        [update(element, textAlign=side) for element in texts],
    )


def move_elements(found: Match, design: Design) -> Step | None:
    """Move by some pixels, or by a twentieth of the canvas."""
    target = find_target(found["target"], design)
    if target is None:
        return None
    way = found["way"].lower()
    is_level = way in ("left", "right")
    whole = design.width if is_level else design.height
    amount = float(found["amount"]) if found["amount"] else round(whole * _FAR)
    sign = -1 if way in ("left", "up") else 1
    step = {"dx" if is_level else "dy": sign * amount}
    return Step(
        f"{begin_with(target)} moves {way} by {amount:g} px.",
        [{"op": "move", "elementIds": target.ids, **step}],
    )


def rotate_elements(found: Match, design: Design) -> Step | None:
    """Rotate by some degrees, or by fifteen."""
    target = find_target(found["target"], design)
    if target is None:
        return None
    by = float(found["degrees"] or 15) * (
        -1 if re.search(r"counter|anti|left", found[0], re.I) else 1
    )
    return Step(
        f"{begin_with(target)} turns by {by:g} degrees.",
        [update(element, rotation=(element.rotation + by) % 360) for element in target.elements],
    )


def delete_elements(found: Match, design: Design) -> Step | None:
    """Delete elements."""
    target = find_target(found["target"], design)
    if target is None:
        return None
    return Step(f"{begin_with(target)} is deleted.", [{"op": "delete", "elementIds": target.ids}])


def order_elements(found: Match, design: Design) -> Step | None:
    """Bring elements to the front or to the back."""
    target = find_target(found["target"], design)
    if target is None:
        return None
    to = "front" if re.search(r"front|top", found["place"], re.I) else "back"
    return Step(
        f"{begin_with(target)} moves to the {to}.",
        [{"op": "order", "elementIds": target.ids, "to": to}],
    )
