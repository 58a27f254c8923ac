"""Designs and elements as typed, validated values.

Nothing here draws or imports a graphics library.
"""

from dovetail_design.model.colours import Rgba, parse_colour
from dovetail_design.model.design import MAX_ELEMENTS, MAX_SIDE, CanvasSide, Design
from dovetail_design.model.element_groups import Element
from dovetail_design.model.elements import (
    ELEMENT_TYPES,
    PROPERTIES,
    AnyElement,
    Barcode,
    Bezier,
    Circle,
    Container,
    HeaderCell,
    Image,
    Line,
    Polygon,
    Qr,
    Rectangle,
    Star,
    Svg,
    Table,
    TableCell,
    Text,
)
from dovetail_design.model.gradients import Gradient, parse_gradient, parse_paint
from dovetail_design.model.reading import (
    merge_element,
    parse_design,
    parse_element,
    to_plain,
)
from dovetail_design.model.values import Point

__all__ = [
    "ELEMENT_TYPES",
    "MAX_ELEMENTS",
    "MAX_SIDE",
    "PROPERTIES",
    "AnyElement",
    "Barcode",
    "Bezier",
    "CanvasSide",
    "Circle",
    "Container",
    "Design",
    "Element",
    "Gradient",
    "HeaderCell",
    "Image",
    "Line",
    "Point",
    "Polygon",
    "Qr",
    "Rectangle",
    "Rgba",
    "Star",
    "Svg",
    "Table",
    "TableCell",
    "Text",
    "merge_element",
    "parse_colour",
    "parse_design",
    "parse_element",
    "parse_gradient",
    "parse_paint",
    "to_plain",
]
