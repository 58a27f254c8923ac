from __future__ import annotations

import pytest

from dovetail_design.model.elements import (
    ELEMENT_TYPES,
    PROPERTIES,
    QR_CAPACITY,
    Barcode,
    Qr,
)


def test_there_are_thirteen_types() -> None:
    shapes = {"rectangle", "circle", "line", "polygon", "star", "svg", "bezier", "container"}
    assert set(ELEMENT_TYPES) == shapes | {"text", "image", "table", "qr", "barcode"}


def test_every_type_has_what_all_have() -> None:
    for names in PROPERTIES.values():
        assert {"type", "id", "x", "y", "width", "height", "rotation", "opacity", "blur"} <= {
            *names
        }


def test_a_code_that_is_too_long_for_its_level_is_refused() -> None:
    Qr(x=0, y=0, width=9, height=9, qrValue="x" * QR_CAPACITY["H"], qrErrorLevel="H")
    with pytest.raises(ValueError, match="1274 bytes are too many for a QR code of level H"):
        Qr(x=0, y=0, width=9, height=9, qrValue="x" * 1274, qrErrorLevel="H")


def test_a_barcode_is_checked_unless_it_is_still_to_be_filled() -> None:
    with pytest.raises(ValueError, match="barcodeValue: EAN13 takes 12 digits"):
        Barcode(x=0, y=0, width=9, height=9, barcodeValue="12", barcodeFormat="EAN13")
    Barcode(x=0, y=0, width=9, height=9, barcodeValue="{{sku}}", barcodeFormat="EAN13")
