"""Instructions that add elements."""

from __future__ import annotations

import re
from typing import Any

from dovetail_design.generating.advice_steps import Step, read_paint
from dovetail_design.library.icons import search_icons
from dovetail_design.library.shapes import search_shapes
from dovetail_design.model import Design

__all__ = ["add_code", "add_shape", "add_text"]

Match = re.Match[str]


def add_text(found: Match, design: Design) -> Step | None:
    """Add a text in the centre."""
    size = max(16, round(min(design.width, design.height) / 18))
    margin = round(design.width * 0.08)
    element = {
        "type": "text",
        "name": "added text",
        "text": found["words"],
        "x": margin,
        "y": round(design.height * 0.5 - size),
        "width": design.width - 2 * margin,
        "height": round(size * 2.6),
        "fontSize": size,
        "fontWeight": "600",
        "textAlign": "center",
        "verticalAlign": "middle",
        "fill": "#111111",
    }
    return Step(f'A text "{found["words"]}" was added.', [{"op": "add", "element": element}])


def add_code(found: Match, design: Design) -> Step | None:
    """Add a QR code in a corner."""
    side = round(min(design.width, design.height) * 0.22)
    element = {
        "type": "qr",
        "name": "added code",
        "qrValue": found["value"].strip("'\""),
        "x": design.width - side - round(design.width * 0.05),
        "y": design.height - side - round(design.height * 0.05),
        "width": side,
        "height": side,
    }
    return Step(
        f"A QR code for {element['qrValue']} was added.", [{"op": "add", "element": element}]
    )


def add_shape(found: Match, design: Design) -> Step | None:
    """Add a shape or an icon of the library in the centre."""
    side = round(min(design.width, design.height) * 0.25)
    place = ((design.width - side) / 2, (design.height - side) / 2, side, side)
    words = found["what"]
    colour = next((paint for word in words.split() if (paint := _named(word))), "#3a86c8")
    words = " ".join(word for word in words.split() if _named(word) is None)
    shapes, icons = search_shapes(words), search_icons(words)
    wants_icon = "icon" in found[0].lower()
    if shapes and not wants_icon:
        element: dict[str, Any] = {**shapes[0].as_element(*place), "fill": colour}
    elif icons:
        element = icons[0].as_element(place, fill=colour, weight="fill")
    else:
        return None
    return Step(f"A {element['name']} was added.", [{"op": "add", "element": element}])


def _named(word: str) -> str | None:
    return read_paint(word) if word.isalpha() or word.startswith("#") else None
