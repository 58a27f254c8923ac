"""The cells of the gallery's first sheet: each type of element and each group of styles once.

A cell is 260 by 180; elements are placed from its top left corner.
"""

from __future__ import annotations

import base64
from typing import Any

from dovetail_design.library.icons import find_icon
from dovetail_design.library.pictures import find_picture
from dovetail_design.model import parse_design
from dovetail_design.rendering import render_png

__all__ = ["draw_elements"]

Plain = dict[str, Any]

_BLUE, _RED, _GOLD, _INK, _GREEN = "#2f6fde", "#e4572e", "#f2b134", "#2d3047", "#2a9d8f"
_SUNSET = "linear-gradient(135deg, #ff7e5f, #feb47b)"


def _at(type: str, x: float, y: float, width: float, height: float, **more: Any) -> Plain:
    return {"type": type, "x": x, "y": y, "width": width, "height": height, **more}


def _text(words: str, x: float, y: float, width: float, height: float, **more: Any) -> Plain:
    style = {"fontSize": 20, "fill": _INK, **more}
    return _at("text", x, y, width, height, text=words, **style)


def _photo() -> str:
    """A picture with pixels, as a data URI."""
    found = find_picture("embedded:illustration/mountain-dusk")
    if found is None:
        raise ValueError("the library has lost a picture")
    plain = found.as_elements((0, 0, 480, 300), "photo")
    data = render_png(parse_design({"width": 480, "height": 300, "elements": plain}))
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def _icon(name: str, x: float, fill: str, weight: str) -> Plain:
    found = find_icon(name)
    if found is None:
        raise ValueError(f"no icon {name!r}")
    return found.as_element((x, 50, 80, 80), fill=fill, weight=weight)


def _barcode(format: str, value: str, x: float = 20, width: float = 220, y: float = 40) -> Plain:
    return _at(
        "barcode", x, y, width, 100, barcodeFormat=format, barcodeValue=value, barcodeFontSize=14
    )


_LOREM = "Letters are set by the shaping engine, wrapped at the width of the box and aligned."


def draw_elements() -> dict[str, list[Plain]]:
    """Name of a cell -> its elements."""
    photo = _photo()
    return {
        name: [{**part, "src": photo} if part.get("src") == _PHOTO else part for part in parts]
        for name, parts in _CELLS.items()
    }


# Stands for the picture until it is drawn.
_PHOTO = "photo"
_CELLS: dict[str, list[Plain]] = {
    "rectangle": [
        _at("rectangle", 20, 20, 100, 60, fill=_BLUE),
        _at("rectangle", 140, 20, 100, 60, fill=_SUNSET, borderRadius=16),
        _at(
            "rectangle",
            20,
            100,
            100,
            60,
            fill="none",
            stroke=_RED,
            strokeWidth=4,
            borderStyle="dashed",
        ),
        _at(
            "rectangle",
            140,
            100,
            100,
            60,
            fill=_GOLD,
            borderRadiusTopLeft=30,
            borderRadiusBottomRight=30,
            rotation=6,
        ),
    ],
    "circle": [
        _at("circle", 20, 40, 100, 100, fill="radial-gradient(circle at 35% 35%, #fff, #2f6fde)"),
        _at("circle", 130, 60, 115, 60, fill="none", stroke=_GREEN, strokeWidth=6),
    ],
    "text": [
        _text("Headline", 20, 16, 220, 40, fontSize=32, fontWeight="800"),
        _text(_LOREM, 20, 62, 220, 100, fontSize=16, lineHeight=1.4),
    ],
    "text styles": [
        _text("Serif italic", 20, 14, 220, 30, fontFamily="Noto Serif", fontStyle="italic"),
        _text("Script", 20, 44, 220, 40, fontFamily="Dancing Script", fontSize=32),
        _text(
            "spaced capitals",
            20,
            92,
            220,
            26,
            fontSize=15,
            letterSpacing=4,
            textTransform="uppercase",
        ),
        _text("underlined", 20, 120, 110, 26, fontSize=18, textDecoration="underline"),
        _text("struck", 140, 120, 100, 26, fontSize=18, textDecoration="line-through"),
        _text("monospace 0123", 20, 148, 220, 24, fontSize=15, fontFamily="JetBrains Mono"),
    ],
    "text effects": [
        _text(
            "Shadow",
            20,
            12,
            220,
            50,
            fontSize=38,
            fontWeight="800",
            textShadowX=3,
            textShadowY=3,
            textShadowBlur=4,
            textShadowColor="#00000066",
        ),
        _text(
            "Outline",
            20,
            64,
            220,
            50,
            fontSize=38,
            fontWeight="800",
            fill="#ffffff",
            textStrokeWidth=3,
            textStrokeColor=_BLUE,
        ),
        _text(
            "Gradient",
            20,
            116,
            220,
            50,
            fontSize=38,
            fontWeight="800",
            fill="linear-gradient(90deg, #c23d17, #7d5ba6)",
        ),
    ],
    "right to left": [
        _text("\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", 20, 30, 220, 50, fontSize=32),
        _text(
            "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
            20,
            96,
            220,
            60,
            fontSize=32,
        ),
    ],
    "image": [
        _at("image", 20, 20, 105, 140, src=_PHOTO, objectFit="cover", borderRadius=12),
        _at("image", 135, 20, 105, 140, src=_PHOTO, objectFit="contain", fill="#dfe5ee"),
    ],
    "filters": [
        _at("image", 16, 20, 72, 140, src=_PHOTO, saturate=0),
        _at("image", 94, 20, 72, 140, src=_PHOTO, hueRotate=120),
        _at("image", 172, 20, 72, 140, src=_PHOTO, blur=3, brightness=130),
    ],
    "line": [
        _at("line", 20, 40, 220, 0, stroke=_INK, strokeWidth=4),
        _at("line", 20, 80, 220, 0, stroke=_RED, strokeWidth=4, lineDash="12,8"),
        _at(
            "line",
            20,
            110,
            220,
            50,
            stroke=_BLUE,
            strokeWidth=4,
            lineEnd="arrow",
            linePoints=[
                {"x": 0, "y": 40},
                {"x": 90, "y": 0},
                {"x": 140, "y": 40},
                {"x": 215, "y": 10},
            ],
        ),
    ],
    "polygon": [
        _at("polygon", 20, 45, 70, 90, fill=_GREEN, polygonSides=3),
        _at("polygon", 95, 45, 75, 90, fill=_BLUE, polygonSides=6),
        _at(
            "polygon",
            175,
            45,
            70,
            90,
            fill=_GOLD,
            stroke=_INK,
            strokeWidth=3,
            polygonPoints=[
                {"x": 0, "y": 20},
                {"x": 70, "y": 0},
                {"x": 50, "y": 90},
                {"x": 10, "y": 70},
            ],
        ),
    ],
    "star": [
        _at("star", 16, 54, 70, 70, fill=_GOLD),
        _at("star", 95, 54, 70, 70, fill=_RED, starPoints=12, starInnerRadius=0.7),
        _at(
            "star",
            174,
            54,
            70,
            70,
            fill="none",
            stroke=_BLUE,
            strokeWidth=4,
            starPoints=6,
            starInnerRadius=0.55,
        ),
    ],
    "svg": [
        _icon("airplane-tilt", 40, _BLUE, "regular"),
        _icon("airplane-tilt", 140, _RED, "fill"),
    ],
    "bezier": [
        _at(
            "bezier",
            20,
            30,
            220,
            120,
            stroke=_BLUE,
            strokeWidth=5,
            fill="none",
            lineCap="round",
            bezierPoints=[
                {"x": 0, "y": 100},
                {"x": 70, "y": -60},
                {"x": 150, "y": 180},
                {"x": 220, "y": 20},
            ],
        ),
    ],
    "container": [
        _at(
            "container",
            30,
            25,
            200,
            130,
            id="panel",
            fill="#ffffff",
            borderRadius=14,
            rotation=3,
            padding=12,
            boxShadow="0 6px 18px rgba(20,33,61,0.25)",
            overflow="hidden",
        ),
        _at("circle", 170, 90, 100, 100, fill="#ffd98a", groupId="panel"),
        _text(
            "Children turn and are cut with their panel",
            46,
            42,
            150,
            80,
            fontSize=17,
            groupId="panel",
        ),
    ],
    "box shadow": [
        _at(
            "rectangle",
            35,
            45,
            80,
            90,
            fill="#ffffff",
            borderRadius=10,
            boxShadow="0 8px 20px rgba(0,0,0,0.3)",
        ),
        _at(
            "circle",
            145,
            50,
            80,
            80,
            fill=_GOLD,
            boxShadow="0 4px 8px rgba(0,0,0,0.3), inset 0 -6px 10px rgba(0,0,0,0.25)",
        ),
    ],
    "backdrop blur": [
        _at("image", 20, 20, 220, 140, src=_PHOTO),
        _at("container", 60, 50, 140, 80, fill="#ffffff66", borderRadius=12, backdropBlur=8),
    ],
    "opacity": [
        _at("circle", 40, 45, 90, 90, fill="#e4572eaa"),
        _at("circle", 85, 45, 90, 90, fill=_BLUE, opacity=0.6),
        _at("circle", 130, 45, 90, 90, fill="#f2b134aa"),
    ],
    "gradients": [
        _at(
            "rectangle",
            16,
            30,
            70,
            120,
            fill="linear-gradient(to bottom, #0f4c81, #2bb3c0 60%, #fff)",
        ),
        _at("rectangle", 95, 30, 70, 120, fill="radial-gradient(circle at 30% 30%, #fff, #7d5ba6)"),
        _at(
            "rectangle",
            174,
            30,
            70,
            120,
            fill="conic-gradient(from 45deg, #e4572e, #f2b134, #2a9d8f, #2f6fde, #e4572e)",
        ),
    ],
    "table": [
        _at(
            "table",
            16,
            20,
            228,
            140,
            tableRows=3,
            tableColumns=3,
            fill="#ffffff",
            tableHeaderData=[
                {"col": 0, "text": "Item"},
                {"col": 1, "text": "Qty"},
                {"col": 2, "text": "Sum"},
            ],
            tableCellData=[
                {"row": row, "col": col, "text": value}
                for row, values in enumerate(
                    (("Bread", "2", "7.00"), ("Soup", "1", "5.50"), ("Tea", "3", "6.00"))
                )
                for col, value in enumerate(values)
            ],
            tableHeaderBackground="#24305e",
            tableHeaderTextColor="#ffffff",
            tableAlternateRowColor="#eef2f9",
            tableCellFontSize=14,
            tableCellPadding=6,
        ),
    ],
    "qr": [
        _at("qr", 16, 40, 100, 100, qrValue="https://example.com", qrErrorLevel="L"),
        _at(
            "qr",
            140,
            40,
            100,
            100,
            qrValue="https://example.com",
            qrErrorLevel="H",
            qrColor="#24305e",
            qrBgColor="#fdf3e1",
        ),
    ],
    "barcode CODE128": [_barcode("CODE128", "Dovetail-42")],
    "barcode CODE39": [_barcode("CODE39", "ABC-123")],
    "barcode EAN13": [_barcode("EAN13", "4006381333931")],
    "barcode EAN8": [_barcode("EAN8", "9638507")],
    "barcode UPC": [_barcode("UPC", "03600029145")],
    "barcode UPCE": [_barcode("UPCE", "01234565")],
    "barcode ITF14": [_barcode("ITF14", "1540014128876")],
    "barcode MSI": [_barcode("MSI", "123456")],
    "barcode codabar": [_barcode("codabar", "A40156B")],
    "barcode pharmacode": [_barcode("pharmacode", "1234")],
}
