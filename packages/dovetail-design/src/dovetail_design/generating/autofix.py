"""Small repairs that need no taste: smaller letters where they overflow, other ones where they
cannot be read."""

from __future__ import annotations

import msgspec

from dovetail_design.findings.contrasts import LowContrast, look_for_low_contrast
from dovetail_design.findings.measuring import font_size_of, overflow_of
from dovetail_design.findings.pixels import Eye
from dovetail_design.findings.scene import Scene
from dovetail_design.findings.wcag import readable_on
from dovetail_design.model import AnyElement, Barcode, Design, Qr, Table, Text

__all__ = ["fit_texts", "mend_contrast"]

_STEP = 0.94
# Below this share of its size a headline is none any more.
_SMALLEST = 0.4
# Cells and header of a table are mended one after the other.
_ROUNDS = 3


def fit_texts(design: Design) -> Design:
    """Every text that overflows its box in smaller letters, until it fits or is very small."""
    return _with(design, [_fit(element) for element in design.elements])


def _fit(element: AnyElement) -> AnyElement:
    if not isinstance(element, Text):
        return element
    largest = font_size_of(element)
    size, fitted = largest, element
    while overflow_of(fitted) is not None and size * _STEP >= max(largest * _SMALLEST, 6):
        size *= _STEP
        fitted = msgspec.structs.replace(
            element,
            fontSize=round(size, 1),
            letterSpacing=round(element.letterSpacing * size / largest, 2),
        )
    return fitted


def mend_contrast(design: Design) -> Design:
    """Letters that cannot be read in black or white, whichever differs more from the ground."""
    for _ in range(_ROUNDS):
        scene = Scene.of(design)
        low = {one.item.level: one for one in look_for_low_contrast(scene, Eye(scene))}
        if not low:
            break
        design = _with(
            design,
            [
                _readable(element, low[level]) if level in low else element
                for level, element in enumerate(design.elements)
            ],
        )
    return design


def _readable(element: AnyElement, low: LowContrast) -> AnyElement:
    colour = readable_on(low.ground)
    match element:
        case Text():
            return msgspec.structs.replace(element, fill=colour)
        case Qr():
            return msgspec.structs.replace(element, qrColor="#000000", qrBgColor="#ffffff")
        case Barcode():
            return msgspec.structs.replace(
                element, barcodeLineColor="#000000", barcodeBackground="#ffffff"
            )
        case Table() if low.part == "header":
            return msgspec.structs.replace(element, tableHeaderTextColor=colour)
        case Table():
            return msgspec.structs.replace(element, tableCellTextColor=colour)
    return element


def _with(design: Design, elements: list[AnyElement]) -> Design:
    return msgspec.structs.replace(design, elements=tuple(elements))
