"""Instructions about appearance: colours, fonts, text, visibility."""

from __future__ import annotations

import re
from typing import Any

from dovetail_design.generating.advice_steps import Step, begin_with, read_paint, update
from dovetail_design.generating.targets import find_target
from dovetail_design.model import Barcode, Design, Line, Qr, Table, Text

__all__ = [
    "paint_background",
    "paint_elements",
    "set_font",
    "set_font_size",
    "set_look",
    "set_opacity",
    "set_words",
    "show_or_hide",
]

Match = re.Match[str]


def paint_background(found: Match, design: Design) -> Step | None:
    """Change the background of the canvas, and a rectangle that covers it."""
    paint = read_paint(found["colour"])
    if paint is None:
        return None
    covering = [
        element
        for element in design.elements
        if element.type == "rectangle"
        and element.x <= 0
        and element.y <= 0
        and element.x + element.width >= design.width
        and element.y + element.height >= design.height
    ]
    operations = [update(covering[-1], fill=paint)] if covering else []
    return Step(f"The background becomes {paint}.", operations, background=paint)


# The colour property of a type, if it is not `fill`.
_COLOUR_KEYS: dict[type[Any], str] = {
    Qr: "qrColor",
    Barcode: "barcodeLineColor",
    Table: "tableCellTextColor",
    Line: "stroke",
}


def paint_elements(found: Match, design: Design) -> Step | None:
    """Change the colour of elements."""
    paint, target = read_paint(found["colour"]), find_target(found["target"], design)
    if paint is None or target is None:
        return None
    operations = [
        update(element, **{_COLOUR_KEYS.get(type(element), "fill"): paint})
        for element in target.elements
    ]
    return Step(f"{begin_with(target)} becomes {paint}.", operations)


def set_font_size(found: Match, design: Design) -> Step | None:
    """Set the font size in pixels."""
    target = find_target(found["target"] or "title", design)
    if target is None:
        return None
    texts = [element for element in target.elements if isinstance(element, Text)]
    size = float(found["size"])
    if not texts or not 1 <= size <= 2000:
        return None
    return Step(
        f"{begin_with(target)} is set in {size:g} px.",
        [update(element, fontSize=size) for element in texts],
    )


_LOOKS: dict[str, dict[str, Any]] = {
    "bold": {"fontWeight": "700"},
    "italic": {"fontStyle": "italic"},
    "underlined": {"textDecoration": "underline"},
    "uppercase": {"textTransform": "uppercase"},
    "lowercase": {"textTransform": "lowercase"},
    "normal": {
        "fontWeight": "400",
        "fontStyle": "normal",
        "textDecoration": "none",
        "textTransform": "none",
    },
}


def set_look(found: Match, design: Design) -> Step | None:
    """Set bold, italic and similar styles."""
    target = find_target(found["target"], design)
    word = {"underline": "underlined", "regular": "normal"}.get(
        found["look"].lower(), found["look"].lower()
    )
    texts = [element for element in target.elements if isinstance(element, Text)] if target else []
    if target is None or not texts:
        return None
    return Step(
        f"{begin_with(target)} becomes {word}.",
        [update(element, **_LOOKS[word]) for element in texts],
    )


def set_font(found: Match, design: Design) -> Step | None:
    """Another family."""
    target = find_target(found["target"] or "all texts", design)
    texts = [element for element in target.elements if isinstance(element, Text)] if target else []
    if target is None or not texts:
        return None
    family = found["family"].strip().strip("'\"")
    return Step(
        f"{begin_with(target)} is set in {family}.",
        [update(element, fontFamily=family) for element in texts],
    )


def show_or_hide(found: Match, design: Design) -> Step | None:
    """Show or hide elements."""
    is_shown = found["way"].lower() in ("show", "unhide")
    target = find_target(found["target"], design)
    if target is None:
        return None
    return Step(
        f"{begin_with(target)} is {'shown' if is_shown else 'hidden'}.",
        [update(element, visible=is_shown) for element in target.elements],
    )


def set_words(found: Match, design: Design) -> Step | None:
    """Another text."""
    target = find_target(found["target"], design)
    texts = [element for element in target.elements if isinstance(element, Text)] if target else []
    if target is None or len(texts) != 1:
        return None
    return Step(
        f'{begin_with(target)} now says "{found["words"]}".',
        [update(texts[0], text=found["words"])],
    )


def set_opacity(found: Match, design: Design) -> Step | None:
    """Set the opacity of elements."""
    target = find_target(found["target"], design)
    if target is None:
        return None
    value = float(found["value"])
    share = value / 100 if value > 1 or found["percent"] else value
    if re.search(r"transparent", found[0], re.I):
        share = 1 - share
    share = round(min(max(share, 0), 1), 2)
    return Step(
        f"{begin_with(target)} gets the opacity {share:g}.",
        [update(element, opacity=share) for element in target.elements],
    )
