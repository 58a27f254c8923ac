"""Automatic fixes: a smaller font for overflowing text, readable colours for low contrast."""

from __future__ import annotations

import msgspec

from dovetail_design.findings.contrasts import LowContrast, measure_low_contrast
from dovetail_design.findings.measuring import font_size_of, overflow_of
from dovetail_design.findings.pixels import PixelSampler
from dovetail_design.findings.scene import Scene
from dovetail_design.findings.wcag import readable_on
from dovetail_design.model import AnyElement, Barcode, Design, Qr, Table, Text

__all__ = ["fit_texts", "fix_contrast"]

_STEP = 0.94
# A headline is not made smaller than this share of its size.
_SMALLEST = 0.4
# Cells and header of a table are fixed one after the other.
_ROUNDS = 3


def fit_texts(design: Design) -> Design:
    """Reduce the font size of overflowing texts until they fit or are very small."""
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


def fix_contrast(design: Design) -> Design:
    """Set unreadable text to black or white, whichever has more contrast."""
    for _ in range(_ROUNDS):
        scene = Scene.of(design)
        low = {one.item.level: one for one in measure_low_contrast(scene, PixelSampler(scene))}
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
