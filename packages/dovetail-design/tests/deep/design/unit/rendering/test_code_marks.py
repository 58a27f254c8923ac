from __future__ import annotations

from typing import Any

from dovetail_design.model import Barcode, Qr
from dovetail_design.rendering.code_marks import barcode_marks, qr_marks
from dovetail_design.rendering.drawing_context import DrawingContext
from dovetail_design.rendering.marks import PathMark, TextMark
from dovetail_design.rendering.outlines import Box, PathShape

CONTEXT = DrawingContext()


def test_a_qr_code_is_a_square_of_whole_pixels() -> None:
    background, dark = qr_marks(
        Qr(x=0, y=0, width=300, height=200, qrValue="a", qrMargin=2), CONTEXT
    )
    assert isinstance(background, PathMark) and isinstance(dark, PathMark)
    assert background.outline == Box(50, 0, 200, 200)
    assert isinstance(dark.outline, PathShape)
    # 21 modules and the margins are 25, so 8 pixels each.
    assert dark.outline[1:5] == (8, 8, 66, 16)
    assert dark.is_crisp


def test_colours_of_a_qr_code_may_be_none() -> None:
    element = Qr(x=0, y=0, width=90, height=90, qrValue="a", qrBgColor="transparent")
    assert len(qr_marks(element, CONTEXT)) == 1


def test_an_empty_value_is_still_a_code() -> None:
    assert len(qr_marks(Qr(x=0, y=0, width=90, height=90, qrValue=""), CONTEXT)) == 2


def barcode(**properties: object) -> Barcode:
    box: dict[str, Any] = {
        "x": 0,
        "y": 0,
        "width": 300,
        "height": 100,
        "barcodeValue": "1234",
        **properties,
    }
    return Barcode(**box)


def test_bars_leave_room_for_the_text() -> None:
    text, bars = barcode_marks(barcode(barcodeFontSize=20, barcodeTextMargin=6), CONTEXT)
    assert isinstance(text, TextMark) and isinstance(bars, PathMark)
    assert isinstance(bars.outline, PathShape)
    assert text.y == 76
    assert bars.outline.scale_y == 100 - 24 - 6
    (alone,) = barcode_marks(barcode(barcodeShowText=False), CONTEXT)
    assert isinstance(alone, PathMark) and isinstance(alone.outline, PathShape)
    assert alone.outline.scale_y == 100


def test_a_field_shows_its_name() -> None:
    text, _ = barcode_marks(barcode(barcodeValue="{{sku}}", barcodeFormat="EAN13"), CONTEXT)
    assert isinstance(text, TextMark)
    assert text.block.text == "{{sku}}"


def test_a_background_covers_the_box() -> None:
    background, *_ = barcode_marks(barcode(barcodeBackground="white"), CONTEXT)
    assert isinstance(background, PathMark)
    assert background.outline == Box(0, 0, 300, 100)
    assert len(barcode_marks(barcode(barcodeLineColor="none"), CONTEXT)) == 0
