"""Codes are read back from the picture: by zxing, or by the definition where zxing cannot."""

from __future__ import annotations

import io
import math
from itertools import groupby
from typing import Any

import numpy as np
import PIL.Image
import pytest
import zxingcpp

from dovetail_design.model import parse_design
from dovetail_design.rendering import RenderOptions, render_png

# Format, value, what a reader says.
READABLE = [
    ("CODE128", "Hello-128", "Hello-128"),
    ("CODE128", "1234567890", "1234567890"),
    ("CODE128", "12345", "12345"),
    ("CODE128", "AB123456789cd", "AB123456789cd"),
    ("CODE128", "\tTab and Z", "\tTab and Z"),
    ("CODE39", "CODE-39 $/+%.", "CODE-39 $/+%."),
    ("EAN13", "400638133393", "4006381333931"),
    ("EAN13", "9780306406157", "9780306406157"),
    ("EAN8", "9638507", "96385074"),
    ("UPC", "03600029145", "0036000291452"),
    ("UPCE", "123456", "0012345000065"),
    ("UPCE", "01234531", "0012300000451"),
    ("UPCE", "1123451", "0112100003451"),
    ("UPCE", "123454", "0012340000053"),
    ("ITF14", "1540014128876", "15400141288763"),
    ("codabar", "31117013206375", "A31117013206375A"),
    ("codabar", "B40-15$6:7/8.9+D", "B40-15$6:7/8.9+D"),
]


def picture_of(element: dict[str, Any], **options: Any) -> PIL.Image.Image:
    whole = {"x": 20, "y": 20, **element}
    canvas = {"width": whole["width"] + 40, "height": whole["height"] + 40, "elements": [whole]}
    data = render_png(parse_design(canvas), RenderOptions(**options))
    return PIL.Image.open(io.BytesIO(data)).convert("L")


def barcode(kind: str, value: str, width: int = 500) -> dict[str, Any]:
    return {
        "type": "barcode",
        "width": width,
        "height": 120,
        "barcodeFormat": kind,
        "barcodeValue": value,
    }


@pytest.mark.parametrize("width", [300, 470, 700])
@pytest.mark.parametrize(("kind", "value", "read"), READABLE)
def test_a_barcode_is_read_back(kind: str, value: str, read: str, width: int) -> None:
    found = zxingcpp.read_barcodes(picture_of(barcode(kind, value, width)))
    assert [one.text for one in found] == [read]


@pytest.mark.parametrize("scale", [0.5, 2, 3])
def test_a_barcode_is_read_back_at_other_scales(scale: float) -> None:
    found = zxingcpp.read_barcodes(picture_of(barcode("EAN13", "400638133393"), scale=scale))
    assert [one.text for one in found] == ["4006381333931"]


@pytest.mark.parametrize("margin", [1, 4])
@pytest.mark.parametrize("level", ["L", "M", "Q", "H"])
@pytest.mark.parametrize(
    "value", ["https://example.org/path?x=1", "0123456789", "Grüße, 世界! " * 9]
)
def test_a_qr_code_is_read_back(value: str, level: str, margin: int) -> None:
    element = {
        "type": "qr",
        "width": 260,
        "height": 300,
        "qrValue": value,
        "qrErrorLevel": level,
        "qrMargin": margin,
        "qrColor": "#1e3a8a",
    }
    (found,) = zxingcpp.read_barcodes(picture_of(element))
    assert found.text == value
    assert found.ec_level == level


def test_a_qr_code_that_is_turned_is_read_back() -> None:
    element = {"type": "qr", "width": 200, "height": 200, "qrValue": "turned", "rotation": 17}
    (found,) = zxingcpp.read_barcodes(picture_of(element))
    assert found.text == "turned"


def bar_widths(image: PIL.Image.Image) -> list[int]:
    """Widths of dark and light in turn along a line through the bars, in modules."""
    row = np.asarray(image)[30] < 128
    runs = [(dark, len(list(run))) for dark, run in groupby(row)]
    if not runs[0][0]:
        runs = runs[1:]
    if not runs[-1][0]:
        runs = runs[:-1]
    module = math.gcd(*(length for _, length in runs))
    return [length // module for _, length in runs]


def read_msi(widths: list[int]) -> str:
    """MSI as it is defined: a bit is a bar of 2 (one) or 1 (zero) in 3 modules, 4 bits a digit."""
    assert (widths[:2], widths[-3:]) == ([2, 1], [1, 2, 1])
    pairs = list(zip(widths[2:-3:2], widths[3:-3:2], strict=True))
    assert all(bar + gap == 3 for bar, gap in pairs)
    bits = "".join(str(bar - 1) for bar, _ in pairs)
    return "".join(str(int(bits[at : at + 4], 2)) for at in range(0, len(bits), 4))


def read_pharmacode(widths: list[int]) -> int:
    """Laetus: from the right, a narrow bar counts 2^n and a wide one 2^(n+1)."""
    bars, gaps = widths[::2], widths[1::2]
    assert set(gaps) <= {2}
    return sum((2 if bar == 3 else 1) * 2**at for at, bar in enumerate(reversed(bars)))


# Luhn's check digits of these are 4, 4 and 0, by hand.
@pytest.mark.parametrize(
    ("value", "read"), [("1234567", "12345674"), ("80523", "805234"), ("0", "00")]
)
def test_msi_is_read_back_with_its_check_digit(value: str, read: str) -> None:
    assert read_msi(bar_widths(picture_of(barcode("MSI", value)))) == read


@pytest.mark.parametrize("value", [3, 4, 7, 1234, 131_070])
def test_pharmacode_is_read_back(value: int) -> None:
    assert read_pharmacode(bar_widths(picture_of(barcode("pharmacode", str(value))))) == value
