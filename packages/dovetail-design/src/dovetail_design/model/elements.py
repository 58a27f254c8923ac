"""The thirteen element types, distinguished by `type`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from dovetail_design.model.barcodes import encode_barcode
from dovetail_design.model.element_groups import (
    Cornered,
    Element,
    Lettered,
    Painted,
    Stroked,
    fields_of,
)
from dovetail_design.model.values import (
    BarcodeFormat,
    BorderStyle,
    Colour,
    DashPattern,
    Direction,
    Extent,
    HorizontalAlign,
    LineCap,
    LineEnding,
    ObjectFit,
    ObjectPosition,
    Overflow,
    Paint,
    Points,
    Size,
    Source,
    Spacing,
    StrokeWidth,
    SvgPath,
    TextAlign,
    TextDecoration,
    TextTransform,
    VerticalAlign,
    ViewBox,
)

__all__ = [
    "ELEMENT_TYPES",
    "PROPERTIES",
    "AnyElement",
    "Barcode",
    "Bezier",
    "Circle",
    "Container",
    "HeaderCell",
    "Image",
    "Line",
    "Polygon",
    "Qr",
    "Rectangle",
    "Star",
    "Svg",
    "Table",
    "TableCell",
    "Text",
]


# The capacity in bytes of the largest code of a level (ISO/IEC 18004, version 40).
QR_CAPACITY = {"L": 2953, "M": 2331, "Q": 1663, "H": 1273}


class Rectangle(Cornered, tag="rectangle", kw_only=True, frozen=True):
    """A box, optionally with round corners."""


class Circle(Painted, tag="circle", kw_only=True, frozen=True):
    """A circle, or the ellipse that fills the box."""


class Text(Lettered, tag="text", kw_only=True, frozen=True):
    """Text that wraps at the width of its box; `\\n` starts a new line."""

    text: Annotated[str, Meta(max_length=20_000, description="May contain {{fields}}")]
    fill: Paint | None = None
    color: Annotated[Paint, Meta(description="Alias of fill; fill takes precedence")] | None = None
    textAlign: Annotated[
        TextAlign | None, Meta(description="Default: left, or right for right-to-left text")
    ] = None
    verticalAlign: VerticalAlign = "top"
    textDecoration: TextDecoration = "none"
    textTransform: TextTransform = "none"
    letterSpacing: Annotated[float, Meta(ge=-200, le=1_000, description="Pixels")] = 0.0
    lineHeight: Annotated[float, Meta(ge=0.5, le=3, description="Multiple of the font size")] = 1.2
    direction: Annotated[Direction, Meta(description="auto: by the first letters")] = "auto"
    textShadowX: Annotated[float, Meta(ge=-1_000, le=1_000)] = 0.0
    textShadowY: Annotated[float, Meta(ge=-1_000, le=1_000)] = 0.0
    textShadowBlur: Annotated[float, Meta(ge=0, le=500)] = 0.0
    textShadowColor: Colour | None = None
    textStrokeWidth: Annotated[float, Meta(ge=0, le=200)] = 0.0
    textStrokeColor: Colour | None = None
    padding: Spacing | None = None
    paddingTop: Spacing | None = None
    paddingRight: Spacing | None = None
    paddingBottom: Spacing | None = None
    paddingLeft: Spacing | None = None


class Image(Cornered, tag="image", kw_only=True, frozen=True):
    """A picture; `fill` shows through transparent and uncovered areas."""

    src: Source | None = None
    objectFit: ObjectFit = "cover"
    objectPosition: ObjectPosition = "center"


class Line(Stroked, tag="line", kw_only=True, frozen=True):
    """A line along the longer side of its box, or through `linePoints`."""

    width: Extent
    height: Extent
    lineCap: LineCap = "butt"
    lineDash: DashPattern | None = None
    linePoints: Points | None = None
    lineStart: LineEnding = "none"
    lineEnd: LineEnding = "none"


class Polygon(Painted, tag="polygon", kw_only=True, frozen=True):
    """A regular polygon, one through `polygonPoints`, or the shape of `svgPath`."""

    polygonSides: Annotated[int, Meta(ge=3, le=200)] = 6
    polygonPoints: Points | None = None
    svgPath: SvgPath | None = None
    svgViewBox: ViewBox = "0 0 100 100"


class Star(Painted, tag="star", kw_only=True, frozen=True):
    """A star that fills its box, with a point at the top."""

    starPoints: Annotated[int, Meta(ge=3, le=200)] = 5
    starInnerRadius: Annotated[
        float,
        Meta(ge=0, le=1, description="Ratio of inner to outer radius; 0.4 is the classic star"),
    ] = 0.4


class Svg(Painted, tag="svg", kw_only=True, frozen=True):
    """The shape of `svgPath`, or an SVG file given by `src`, which keeps its own colours."""

    svgPath: SvgPath | None = None
    svgViewBox: ViewBox = "0 0 100 100"
    src: Source | None = None
    objectFit: ObjectFit = "contain"
    objectPosition: ObjectPosition = "center"


class Bezier(Painted, tag="bezier", kw_only=True, frozen=True):
    """A curve: 3 points are quadratic, 4, 7, 10... chained cubic, others a smooth curve."""

    bezierPoints: Points
    bezierClosed: bool = False
    lineCap: LineCap = "butt"
    lineDash: DashPattern | None = None


class Container(Cornered, tag="container", kw_only=True, frozen=True):
    """A panel; elements whose groupId is its id are its children and rotate and fade with it."""

    padding: Spacing | None = None
    paddingTop: Spacing | None = None
    paddingRight: Spacing | None = None
    paddingBottom: Spacing | None = None
    paddingLeft: Spacing | None = None
    backdropBlur: Annotated[
        float, Meta(ge=0, le=500, description="Blurs the background behind it")
    ] = 0.0
    overflow: Annotated[
        Overflow, Meta(description="hidden clips children to the panel minus its padding")
    ] = "visible"


class TableCell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One cell; rows are counted from 0 without the header row."""

    row: Annotated[int, Meta(ge=0, le=499)]
    col: Annotated[int, Meta(ge=0, le=99)]
    text: Annotated[str, Meta(max_length=2_000)]


class HeaderCell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One cell of the header row."""

    col: Annotated[int, Meta(ge=0, le=99)]
    text: Annotated[str, Meta(max_length=2_000)]


class Table(Lettered, tag="table", kw_only=True, frozen=True):
    """Rows and columns that share the box; widths and heights are proportions of it."""

    fill: Paint | None = None
    stroke: Paint | None = None
    strokeWidth: StrokeWidth | None = None
    borderStyle: BorderStyle = "solid"
    tableRows: Annotated[int, Meta(ge=1, le=500, description="Without the header row")] = 3
    tableColumns: Annotated[int, Meta(ge=1, le=100)] = 3
    tableHasHeader: bool = True
    tableHasVerticalHeader: bool = False
    tableColumnWidths: Annotated[tuple[Size, ...], Meta(max_length=100)] | None = None
    tableRowHeights: Annotated[tuple[Size, ...], Meta(max_length=501)] | None = None
    tableCellData: Annotated[tuple[TableCell, ...], Meta(max_length=5_000)] | None = None
    tableHeaderData: Annotated[tuple[HeaderCell, ...], Meta(max_length=100)] | None = None
    tableHeaderBackground: Colour | None = None
    tableHeaderTextColor: Colour | None = None
    tableCellTextColor: Colour | None = None
    tableCellFontSize: Annotated[float, Meta(ge=1, le=500)] | None = None
    tableBorderColor: Colour | None = None
    tableBorderWidth: Annotated[float, Meta(ge=0, le=100)] = 1.0
    tableAlternateRowColor: Colour | None = None
    tableCellPadding: Annotated[float, Meta(ge=0, le=500)] = 8.0
    tableCellAlignment: HorizontalAlign = "left"
    tableHeaderAlignment: HorizontalAlign = "left"
    tableColumnAlignments: (
        Annotated[
            tuple[HorizontalAlign, ...],
            Meta(max_length=100, description="For each column, with its header"),
        ]
        | None
    ) = None
    tableIsDynamic: Annotated[bool, Meta(description="Its rows come from the data")] = False
    tableDataSource: Literal["csv", "json", "manual"] = "manual"
    tableCsvUrl: (
        Annotated[str, Meta(max_length=2_000, description="A {{field}} with CSV")] | None
    ) = None
    tableJsonData: (
        Annotated[str, Meta(max_length=200_000, description="JSON rows, or a {{field}}")] | None
    ) = None


class Qr(Element, tag="qr", kw_only=True, frozen=True):
    """A QR code, square and centred in its box."""

    qrValue: Annotated[str, Meta(max_length=2_953, description="May contain {{fields}}")]
    qrColor: Colour = "#000000"
    qrBgColor: Colour = "#ffffff"
    qrErrorLevel: Annotated[
        Literal["L", "M", "Q", "H"], Meta(description="Restores 7, 15, 25 or 30 per cent")
    ] = "M"
    qrMargin: Annotated[int, Meta(ge=0, le=20, description="Quiet zone in modules")] = 1

    def __post_init__(self) -> None:
        """Reject more data than a code of this level can hold."""
        super().__post_init__()
        size, most = len(self.qrValue.encode()), QR_CAPACITY[self.qrErrorLevel]
        if size > most:
            raise ValueError(
                f"qrValue: {size} bytes are too many for a QR code of level {self.qrErrorLevel}, "
                f"which holds {most}; shorten it or use level L ({QR_CAPACITY['L']})"
            )


class Barcode(Lettered, tag="barcode", kw_only=True, frozen=True):
    """A linear barcode; missing check digits are added."""

    barcodeValue: Annotated[str, Meta(max_length=200, description="May contain {{fields}}")]
    barcodeFormat: BarcodeFormat = "CODE128"
    barcodeLineColor: Colour = "#000000"
    barcodeBackground: Colour = "transparent"
    barcodeShowText: bool = True
    barcodeFontSize: Annotated[float, Meta(ge=8, le=48)] | None = None
    barcodeTextMargin: Annotated[float, Meta(ge=0, le=20)] = 2.0
    barcodeTextAlign: HorizontalAlign = "center"

    def __post_init__(self) -> None:
        """Reject a value that is invalid for the format, unless it has fields to fill."""
        super().__post_init__()
        if "{{" not in self.barcodeValue:
            try:
                encode_barcode(self.barcodeFormat, self.barcodeValue)
            except ValueError as error:
                raise ValueError(f"barcodeValue: {error}") from None


AnyElement = (
    Rectangle
    | Circle
    | Text
    | Image
    | Line
    | Polygon
    | Star
    | Svg
    | Bezier
    | Container
    | Table
    | Qr
    | Barcode
)

ELEMENT_TYPES: dict[str, type[Any]] = {
    str(one.__struct_config__.tag): one
    for one in (
        Rectangle,
        Circle,
        Text,
        Image,
        Line,
        Polygon,
        Star,
        Svg,
        Bezier,
        Container,
        Table,
        Qr,
        Barcode,
    )
}

PROPERTIES: dict[str, tuple[str, ...]] = {
    name: fields_of(element_type) for name, element_type in ELEMENT_TYPES.items()
}
