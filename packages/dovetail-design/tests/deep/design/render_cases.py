"""Small designs, one for each type of element and each group of styles, with their pictures.

`python -m tests.deep.design.render_cases` writes the reference pictures anew. Look at each of
them before you commit it.
"""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import PIL.Image

from dovetail_design.model import Design, parse_design
from dovetail_design.rendering import render_png

REFERENCES = Path(__file__).with_name("references")
WIDTH, HEIGHT = 160, 120


def make_photo(width: int = 60, height: int = 40) -> str:
    """A picture with a gradient and a frame, so that cropping and scaling can be seen."""
    image = PIL.Image.new("RGB", (width, height))
    for x in range(width):
        for y in range(height):
            is_frame = x < 3 or y < 3 or x >= width - 3 or y >= height - 3
            colour = (200, 30, 60) if is_frame else (x * 4 % 256, y * 6 % 256, 160)
            image.putpixel((x, y), colour)
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode()


PHOTO = make_photo()
DRAWING = "data:image/svg+xml," + (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 40 40'><defs><linearGradient id='a'>"
    "<stop offset='0' stop-color='%23f97316'/><stop offset='1' stop-color='%23db2777'/>"
    "</linearGradient></defs><circle cx='20' cy='20' r='18' fill='url(%23a)'/>"
    "<path d='M10 22l7 7 13-15' fill='none' stroke='white' stroke-width='4'/></svg>"
)


def box(kind: str, **properties: Any) -> dict[str, Any]:
    """An element in the middle of the canvas."""
    return {"type": kind, "x": 20, "y": 15, "width": 120, "height": 90, **properties}


def text(words: str, **properties: Any) -> dict[str, Any]:
    """A text in the middle of the canvas."""
    return box("text", text=words, **{"fontSize": 20, "fill": "#1e293b", **properties})


BEZIER = [{"x": 0, "y": 80}, {"x": 30, "y": -20}, {"x": 90, "y": 100}, {"x": 120, "y": 10}]
WAVE = [{"x": x, "y": 45 + (30 if at % 2 else -30)} for at, x in enumerate(range(0, 121, 30))]
TABLE = {
    "tableRows": 2,
    "tableColumns": 2,
    "tableHeaderData": [{"col": 0, "text": "Item"}, {"col": 1, "text": "Price"}],
    "tableCellData": [
        {"row": 0, "col": 0, "text": "Tea"},
        {"row": 0, "col": 1, "text": "2.50"},
        {"row": 1, "col": 0, "text": "Cake"},
        {"row": 1, "col": 1, "text": "4.00"},
    ],
    "tableCellFontSize": 12,
}
SHADE = "0 6px 14px rgba(0,0,0,0.45)"

CASES: dict[str, list[dict[str, Any]]] = {
    "rectangle": [box("rectangle", fill="#2563eb")],
    "rectangle_default": [box("rectangle")],
    "rectangle_corners": [
        box(
            "rectangle",
            fill="#fde68a",
            stroke="#b45309",
            strokeWidth=4,
            borderRadius=10,
            borderRadiusTopLeft=45,
            borderRadiusBottomRight=0,
        )
    ],
    "border_dashed": [
        box("rectangle", fill="none", stroke="#111", strokeWidth=4, borderStyle="dashed")
    ],
    "border_dotted": [
        box("rectangle", fill="none", stroke="#be123c", strokeWidth=6, borderStyle="dotted")
    ],
    "circle": [box("circle", fill="#10b981", stroke="#064e3b", strokeWidth=5)],
    "gradient_linear": [
        box("rectangle", fill="linear-gradient(60deg, #f00, #ff0 30%, rgba(0,0,255,0.5))")
    ],
    "gradient_corner": [
        box("rectangle", fill="linear-gradient(to bottom right, #0ea5e9, #4c1d95)")
    ],
    "gradient_radial": [box("rectangle", fill="radial-gradient(circle at 30% 30%, #fff, #f97316)")],
    "gradient_ellipse": [box("circle", fill="radial-gradient(#fef08a 20%, #ca8a04 80%)")],
    "gradient_conic": [box("circle", fill="conic-gradient(from 45deg, red, lime, blue, red)")],
    "gradient_repeating": [
        box("rectangle", fill="repeating-linear-gradient(45deg, #111 0 8px, #fc0 8px 16px)")
    ],
    "rotation": [box("rectangle", fill="#a855f7", rotation=30, borderRadius=8)],
    "opacity": [box("rectangle", fill="#111"), box("circle", fill="#f43f5e", opacity=0.4)],
    "shadow": [box("rectangle", fill="#fff", borderRadius=12, boxShadow=SHADE)],
    "shadow_spread_inset": [
        box("rectangle", fill="#fff", boxShadow="0 0 0 6px #38bdf8, inset 0 4px 10px #0009")
    ],
    "shadow_inset_shapes": [
        box("star", fill="#facc15", boxShadow="inset 2px 3px 6px #000c", width=70, height=70),
        box("circle", x=80, y=50, width=60, height=60, boxShadow="inset 0 4px 8px 2px #000a"),
        box(
            "rectangle",
            x=30,
            y=85,
            width=40,
            height=25,
            borderRadius=8,
            fill="#fff",
            boxShadow="inset 0 0 6px #2563eb, 2px 2px 0 -1px #0008",
        ),
    ],
    "shadow_of_star": [box("star", fill="#facc15", boxShadow="4px 6px 8px #0008")],
    "shadow_of_text": [text("Shadow", fontSize=30, boxShadow="3px 4px 4px #0008")],
    "filter_blur": [box("rectangle", fill="#ef4444", blur=6)],
    "filter_colours": [
        box("image", src=PHOTO, brightness=120, contrast=140, saturate=30, hueRotate=90)
    ],
    "text_wrapped": [text("Words that wrap at the width of their box", fontSize=16)],
    "text_styles": [
        text("Bold italic", fontWeight="bold", fontStyle="italic", height=30),
        text("underlined", y=45, textDecoration="underline", textTransform="capitalize", height=30),
        text("mono code", y=75, fontFamily="JetBrains Mono", letterSpacing=2, fontSize=15),
    ],
    "text_aligned": [
        text("left", height=25),
        text("centre", y=40, textAlign="center", height=25),
        text("right", y=65, textAlign="right", height=25),
        text("middle", verticalAlign="bottom", textAlign="center", fontSize=14),
    ],
    "text_justified": [text("A longer text that is set to both sides of it", textAlign="justify")],
    "text_line_height": [text("two\nlines", lineHeight=2, fontFamily="Noto Serif", fontSize=22)],
    "text_gradient": [text("Colour", fontSize=34, fill="linear-gradient(90deg, #e11d48, #2563eb)")],
    "text_shadow": [
        text("Glow", fontSize=40, textShadowX=3, textShadowY=3, textShadowBlur=4, fontWeight="700")
    ],
    "text_stroke": [
        text("Edge", fontSize=48, fill="#fff", textStrokeWidth=3, textStrokeColor="#dc2626")
    ],
    "text_hebrew": [text("שלום עולם, זה טקסט!", fontSize=20)],
    "text_arabic": [text("مرحبا بالعالم", fontSize=24)],
    "text_script": [text("Dancing", fontFamily="Dancing Script", fontSize=36)],
    "image_cover": [box("image", src=PHOTO, objectFit="cover", borderRadius=20)],
    "image_contain": [box("image", src=PHOTO, objectFit="contain", fill="#e2e8f0")],
    "image_fill": [box("image", src=PHOTO, objectFit="fill", stroke="#111", strokeWidth=2)],
    "image_none": [box("image", src=PHOTO, objectFit="none", objectPosition="right bottom")],
    "image_scale_down": [box("image", src=PHOTO, objectFit="scale-down", objectPosition="0 100%")],
    "image_missing": [box("image", src="nowhere")],
    "line": [box("line", y=60, height=0, stroke="#334155", strokeWidth=6, lineCap="round")],
    "line_points": [
        box(
            "line",
            stroke="#0f766e",
            strokeWidth=4,
            linePoints=WAVE,
            lineDash="10,5",
            lineStart="dot",
            lineEnd="arrow",
        )
    ],
    "polygon": [box("polygon", polygonSides=5, fill="#8b5cf6", stroke="#4c1d95", strokeWidth=3)],
    "polygon_points": [
        box("polygon", polygonPoints=[{"x": 0, "y": 90}, {"x": 60, "y": 0}, {"x": 120, "y": 90}])
    ],
    "star": [box("star", starPoints=7, starInnerRadius=0.6, fill="#f59e0b")],
    "svg_path": [
        box(
            "svg",
            svgPath="M50 88C10 60 5 35 20 20a18 18 0 0 1 30 8a18 18 0 0 1 30-8c15 15 10 40-30 68z",
            fill="#e11d48",
            stroke="#881337",
            strokeWidth=2,
        )
    ],
    "svg_file": [box("svg", src=DRAWING)],
    "bezier": [box("bezier", bezierPoints=BEZIER, stroke="#6366f1", strokeWidth=5)],
    "bezier_smooth": [
        box("bezier", bezierPoints=WAVE, bezierClosed=True, fill="#bae6fd", stroke="#0369a1")
    ],
    "container": [
        box("container", id="panel", fill="#fff", borderRadius=14, boxShadow=SHADE, rotation=8),
        box("circle", x=90, y=60, groupId="panel", fill="#f472b6"),
        text("In a panel", x=30, y=25, groupId="panel", fontSize=16, width=100),
    ],
    "container_clipped": [
        box(
            "container", id="panel", fill="#e0f2fe", borderRadius=20, padding=10, overflow="hidden"
        ),
        box("circle", x=70, y=40, groupId="panel", fill="#0284c7"),
    ],
    "backdrop_blur": [
        box("rectangle", fill="repeating-linear-gradient(90deg, #111 0 6px, #fff 6px 12px)"),
        box("container", x=50, y=40, width=90, height=70, fill="#fff6", backdropBlur=8),
    ],
    "table": [box("table", **TABLE, tableHeaderBackground="#1e293b", tableHeaderTextColor="#fff")],
    "table_styles": [
        box(
            "table",
            **TABLE,
            tableHasVerticalHeader=True,
            tableAlternateRowColor="#fee2e2",
            tableBorderColor="#b91c1c",
            tableBorderWidth=2,
            tableCellAlignment="right",
            tableColumnWidths=[4, 5],
        )
    ],
    "qr": [box("qr", qrValue="https://example.org", qrColor="#1e3a8a", qrMargin=2)],
    "barcode": [box("barcode", barcodeValue="400638133393", barcodeFormat="EAN13", fontSize=14)],
}


def design_of(elements: list[dict[str, Any]]) -> Design:
    """A small canvas with these elements."""
    return parse_design(
        {"width": WIDTH, "height": HEIGHT, "background": "#f8fafc", "elements": elements}
    )


def main() -> None:
    """Write every reference picture."""
    REFERENCES.mkdir(exist_ok=True)
    for name, elements in CASES.items():
        (REFERENCES / f"{name}.png").write_bytes(render_png(design_of(elements)))


if __name__ == "__main__":
    main()
