"""QR codes and barcodes as marks, with sharp edges for scanners."""

from __future__ import annotations

import functools
import math

import segno

from dovetail_design.model.barcodes import Symbol, encode_barcode
from dovetail_design.model.elements import Barcode, Qr
from dovetail_design.model.svg_paths import PathCommand
from dovetail_design.rendering.drawing_context import DrawingContext
from dovetail_design.rendering.marks import Mark, PathMark, TextMark
from dovetail_design.rendering.outlines import Box, PathShape
from dovetail_design.rendering.painting_values import box_of, colour_or_none
from dovetail_design.rendering.text_blocks import TextBlock, clean_text, weight_number

__all__ = ["barcode_marks", "qr_marks"]

DEFAULT_SIZE = 20.0
_LINE_HEIGHT = 1.2
# From this width, modules are whole pixels, although the code may get narrower than its box:
# with soft edges scanners failed on most codes of less than two pixels per module.
_WHOLE_PIXELS = 1
# The placeholder for a value that is not filled in yet.
_UNFILLED = {
    "CODE128": "FIELD",
    "CODE39": "FIELD",
    "EAN13": "000000000000",
    "EAN8": "0000000",
    "UPC": "00000000000",
    "UPCE": "000000",
    "ITF14": "0000000000000",
    "MSI": "0000",
    "pharmacode": "1234",
    "codabar": "0000",
}


def qr_marks(element: Qr, _: DrawingContext) -> tuple[Mark, ...]:
    """Return the background and the dark modules."""
    dark, size = _qr_modules(element.qrValue, element.qrErrorLevel)
    whole = size + 2 * element.qrMargin
    box = box_of(element)
    side = min(box.width, box.height)
    # Modules of whole pixels if there is room: no seams, no grey.
    module = math.floor(side / whole) if side >= 2 * whole else side / whole
    middle_x, middle_y = box.centre
    left, top = middle_x - module * whole / 2, middle_y - module * whole / 2
    if module == math.floor(module):
        left, top = round(left), round(top)
    marks: list[Mark] = []
    background = colour_or_none(element.qrBgColor)
    if background is not None:
        square = Box(middle_x - side / 2, middle_y - side / 2, side, side)
        marks.append(PathMark(square, background))
    colour = colour_or_none(element.qrColor)
    if colour is not None:
        shift = element.qrMargin * module
        shape = PathShape(dark, module, module, left + shift, top + shift)
        marks.append(PathMark(shape, colour, is_crisp=True))
    return tuple(marks)


@functools.lru_cache(maxsize=128)
def _qr_modules(value: str, level: str) -> tuple[tuple[PathCommand, ...], int]:
    """Return the dark runs as a path with one unit per module, and the modules per side."""
    code = segno.make(value or " ", error=level, micro=False, boost_error=False)
    rows = [list(row) for row in code.matrix]
    commands: list[PathCommand] = []
    for y, row in enumerate(rows):
        commands += _runs("".join("1" if module else "0" for module in row), y)
    return tuple(commands), len(rows)


def _runs(modules: str, y: int) -> list[PathCommand]:
    commands, at = [], 0
    while (at := modules.find("1", at)) >= 0:
        end = modules.find("0", at)
        end = len(modules) if end < 0 else end
        commands += [
            PathCommand("M", (at, y)),
            PathCommand("H", (end,)),
            PathCommand("V", (y + 1,)),
            PathCommand("H", (at,)),
            PathCommand("Z", ()),
        ]
        at = end
    return commands


def barcode_marks(element: Barcode, context: DrawingContext) -> tuple[Mark, ...]:
    """Return the background, the bars and the text below."""
    unfilled = "{{" in element.barcodeValue
    value = _UNFILLED[element.barcodeFormat] if unfilled else element.barcodeValue
    symbol = encode_barcode(element.barcodeFormat, value)
    box = box_of(element)
    marks: list[Mark] = []
    background = colour_or_none(element.barcodeBackground)
    if background is not None:
        marks.append(PathMark(box, background))
    colour = colour_or_none(element.barcodeLineColor)
    if colour is None:
        return tuple(marks)
    text_height = 0.0
    if element.barcodeShowText:
        shown = element.barcodeValue if unfilled else symbol.text
        text = _caption(element, shown, context)
        height = context.typesetter.measure(text).height
        text_height = height + element.barcodeTextMargin
        marks.append(TextMark(text, box.x, round(box.y + box.height - height), colour))
    commands, left, module = _bars(symbol, box)
    bar_height = max(box.height - text_height, 1.0)
    shape = PathShape(commands, module, bar_height, left, box.y)
    marks.append(PathMark(shape, colour, is_crisp=module >= _WHOLE_PIXELS))
    return tuple(marks)


def _bars(symbol: Symbol, box: Box) -> tuple[tuple[PathCommand, ...], float, float]:
    """Return bars one unit high, their start, and the width of a module."""
    whole = len(symbol.modules) + 2 * symbol.quiet
    module = box.width / whole
    is_wide = module >= _WHOLE_PIXELS
    if is_wide:
        module = math.floor(module)
    left = box.x + (box.width - len(symbol.modules) * module) / 2
    return tuple(_runs(symbol.modules, 0)), round(left) if is_wide else left, module


def _caption(element: Barcode, text: str, context: DrawingContext) -> TextBlock:
    size = element.barcodeFontSize or element.fontSize or DEFAULT_SIZE
    weight, is_italic = weight_number(element.fontWeight), element.fontStyle != "normal"
    text = clean_text(text)
    # The text never takes more than a third of the height from the bars.
    size = min(size, max(element.height / 3, 1.0))
    return TextBlock(
        text,
        context.typesetter.families(element.fontFamily, text, weight, is_italic),
        size,
        weight,
        is_italic,
        element.width,
        element.barcodeTextAlign,
        _LINE_HEIGHT,
    )
