"""Types of property values: limits and descriptions.

Properties that several types share are defined here once, with the same limits and description.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

__all__ = [
    "BarcodeFormat",
    "BorderStyle",
    "BoxShadow",
    "Colour",
    "Coordinate",
    "DashPattern",
    "Degrees",
    "Direction",
    "Extent",
    "Filter",
    "FontFamily",
    "FontSize",
    "FontStyle",
    "FontWeight",
    "HorizontalAlign",
    "LineCap",
    "LineEnding",
    "Margin",
    "ObjectFit",
    "ObjectPosition",
    "Overflow",
    "Paint",
    "Point",
    "Points",
    "Radius",
    "Share",
    "Size",
    "Source",
    "Spacing",
    "StrokeWidth",
    "SvgPath",
    "TextAlign",
    "TextDecoration",
    "TextTransform",
    "VerticalAlign",
    "ViewBox",
]

# Far outside any canvas (10,000 px), but small enough that the renderer does not overflow.
_FAR = 100_000

Coordinate = Annotated[
    float, Meta(ge=-_FAR, le=_FAR, description="Pixels from the canvas's left or top edge")
]
Size = Annotated[float, Meta(ge=1, le=20_000, description="Pixels")]
Extent = Annotated[float, Meta(ge=0, le=20_000, description="Pixels; may be 0 for a line")]
Degrees = Annotated[
    float, Meta(ge=0, le=360, description="Clockwise degrees around the element's centre")
]
Share = Annotated[float, Meta(ge=0, le=1, description="From 0 to 1")]
Spacing = Annotated[float, Meta(ge=0, le=10_000, description="Pixels")]
Margin = Annotated[
    float,
    Meta(ge=0, le=10_000, description="Margin in pixels when elements are arranged"),
]
Radius = Annotated[float, Meta(ge=0, le=10_000, description="Corner radius in pixels")]
StrokeWidth = Annotated[float, Meta(ge=0, le=1_000, description="Pixels")]
Filter = Annotated[float, Meta(ge=0, le=200, description="Per cent; 100 is unchanged")]

Colour = Annotated[
    str,
    Meta(
        max_length=200,
        description="A colour: #rgb, #rgba, #rrggbb, #rrggbbaa, rgb(), rgba(), hsl(), hsla(), a "
        "CSS name, transparent or none",
    ),
]
Paint = Annotated[
    str,
    Meta(
        max_length=2_000,
        description="A colour (hex, rgb(), hsl(), a CSS name, none) or a CSS gradient: "
        "linear-gradient(45deg, #f00, #00f 80%), radial-gradient(circle at 30% 30%, ...), "
        "conic-gradient(from 0deg, ...)",
    ),
]
BoxShadow = Annotated[
    str,
    Meta(
        max_length=1_000,
        description="CSS box-shadow, also several: '0 4px 12px rgba(0,0,0,0.2), inset 0 1px 2px "
        "#0003' (x, y, blur, spread, colour). It follows the element's outline",
    ),
]
BorderStyle = Literal["solid", "dashed", "dotted"]

FontFamily = Annotated[
    str,
    Meta(
        min_length=1, max_length=200, description="A family from list_fonts; others are substituted"
    ),
]
FontSize = Annotated[float, Meta(ge=1, le=2_000, description="Pixels")]
FontWeight = (
    Literal["100", "200", "300", "400", "500", "600", "700", "800", "900", "normal", "bold"]
    | Annotated[int, Meta(ge=100, le=900, multiple_of=100)]
)
FontStyle = Literal["normal", "italic", "oblique"]
TextAlign = Literal["left", "center", "right", "justify"]
HorizontalAlign = Literal["left", "center", "right"]
VerticalAlign = Literal["top", "middle", "bottom"]
TextDecoration = Literal["none", "underline", "line-through", "overline"]
TextTransform = Literal["none", "uppercase", "lowercase", "capitalize"]
Direction = Literal["auto", "ltr", "rtl"]

ObjectFit = Literal["fill", "contain", "cover", "none", "scale-down"]
ObjectPosition = Annotated[
    str,
    Meta(
        max_length=60, description="CSS object-position: center, 'top right', '25% 75%', '10px 0'"
    ),
]
Source = Annotated[
    str,
    Meta(
        max_length=1_500_000,
        description="An asset's id or URI from list_assets or search_*, a data: URI, or {{field}}",
    ),
]
SvgPath = Annotated[
    str, Meta(max_length=200_000, description="SVG path data, such as M 0 0 L 100 100 Z")
]
ViewBox = Annotated[
    str,
    Meta(
        max_length=100,
        description="The coordinate box of svgPath, 'x y width height', fitted to the element",
    ),
]
Overflow = Literal["visible", "hidden"]
LineCap = Literal["butt", "round", "square"]
LineEnding = Literal["none", "arrow", "dot"]
DashPattern = Annotated[
    str, Meta(max_length=200, description="Lengths of dashes and gaps in pixels: 5,5")
]
BarcodeFormat = Literal[
    "CODE128",
    "CODE39",
    "EAN13",
    "EAN8",
    "UPC",
    "UPCE",
    "ITF14",
    "MSI",
    "pharmacode",
    "codabar",
]


class Point(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A point in pixels from the top left corner of the element's box."""

    x: Coordinate
    y: Coordinate


Points = Annotated[tuple[Point, ...], Meta(min_length=2, max_length=2_000)]
