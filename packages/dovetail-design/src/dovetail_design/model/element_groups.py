"""The base Structs of the thirteen element types.

    Element         identity, box, transform, filters, shadow     every type
    ├── Stroked     outline                                       line
    │   └── Painted fill                                          circle star polygon svg bezier
    │       └── Cornered corners                                  rectangle image container
    └── Lettered    font                                          text table barcode

Structs cannot have two bases with fields, so this is a tree: a type that needs a group of another
branch repeats the names. `values.py` defines the meaning of each.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from dovetail_design.model.css_values import check_css_values
from dovetail_design.model.values import (
    BorderStyle,
    BoxShadow,
    Coordinate,
    Degrees,
    Filter,
    FontFamily,
    FontSize,
    FontStyle,
    FontWeight,
    Margin,
    Paint,
    Radius,
    Share,
    Size,
    StrokeWidth,
)

__all__ = ["MAX_PAGES", "Cornered", "Element", "Lettered", "Painted", "Stroked"]

MAX_PAGES = 200
Identifier = Annotated[str, Meta(max_length=100)]
Moment = Annotated[str, Meta(max_length=40, description="Set by the server, ISO 8601")]


class Element(
    msgspec.Struct,
    kw_only=True,
    frozen=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag_field="type",
):
    """Properties of every element."""

    x: Coordinate
    y: Coordinate
    width: Size
    height: Size
    id: Annotated[Identifier, Meta(description="Generated if omitted")] = ""
    name: Annotated[str, Meta(max_length=200, description="Shown in listings")] | None = None
    page: Annotated[int, Meta(ge=1, le=MAX_PAGES, description="Its page, from 1")] = 1
    rotation: Degrees = 0.0
    opacity: Share = 1.0
    visible: bool = True
    locked: Annotated[bool, Meta(description="Reject changes until it is unlocked")] = False
    groupId: (
        Annotated[
            Identifier,
            Meta(description="Group id. The id of a container makes it a child of that container"),
        ]
        | None
    ) = None
    isDynamic: Annotated[bool, Meta(description="It contains {{fields}} to be filled")] = False
    margin: Margin | None = None
    marginTop: Margin | None = None
    marginRight: Margin | None = None
    marginBottom: Margin | None = None
    marginLeft: Margin | None = None
    blur: Annotated[float, Meta(ge=0, le=500, description="Pixels")] = 0.0
    brightness: Filter = 100.0
    contrast: Filter = 100.0
    saturate: Filter = 100.0
    hueRotate: Annotated[float, Meta(ge=0, le=360, description="Degrees")] = 0.0
    boxShadow: BoxShadow | None = None
    createdAt: Moment | None = None
    updatedAt: Moment | None = None

    def __post_init__(self) -> None:
        """Reject invalid colours, gradients, shadows and paths."""
        check_css_values(self)

    @property
    def type(self) -> str:
        """The value of `type` on the wire."""
        return str(self.__struct_config__.tag)


class Stroked(Element, kw_only=True, frozen=True):
    """An outline."""

    stroke: Paint | None = None
    strokeWidth: StrokeWidth | None = None
    borderStyle: BorderStyle = "solid"


class Painted(Stroked, kw_only=True, frozen=True):
    """An outline and a fill."""

    fill: Paint | None = None


class Cornered(Painted, kw_only=True, frozen=True):
    """A box with optional round corners."""

    borderRadius: Radius | None = None
    borderRadiusTopLeft: Radius | None = None
    borderRadiusTopRight: Radius | None = None
    borderRadiusBottomLeft: Radius | None = None
    borderRadiusBottomRight: Radius | None = None


class Lettered(Element, kw_only=True, frozen=True):
    """Text in a font."""

    fontFamily: FontFamily = "Inter"
    fontSize: FontSize | None = None
    fontWeight: FontWeight | None = None
    fontStyle: FontStyle = "normal"


def fields_of(element_type: type[Element]) -> tuple[str, ...]:
    """Return the property names of a type on the wire, including `type`."""
    fields: tuple[Any, ...] = msgspec.structs.fields(element_type)
    return ("type", *(field.encode_name for field in fields))
