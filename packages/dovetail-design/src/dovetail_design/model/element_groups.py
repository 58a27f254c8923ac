"""What elements have in common: the base Structs that the thirteen types are built on.

    Element         identity, box, transform, filters, shadow     every type
    ├── Stroked     outline                                       line
    │   └── Painted fill                                          circle star polygon svg bezier
    │       └── Cornered corners                                  rectangle image container
    └── Lettered    font                                          text table barcode

Structs cannot have two bases with fields, so this is a tree: where a type needs a group of
another branch it repeats the names, and the meaning of each stands in `values.py`.
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

__all__ = ["Cornered", "Element", "Lettered", "Painted", "Stroked"]

Identifier = Annotated[str, Meta(max_length=100)]
Moment = Annotated[str, Meta(max_length=40, description="Set by the studio, ISO 8601")]


class Element(
    msgspec.Struct,
    kw_only=True,
    frozen=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag_field="type",
):
    """What every element has, whatever its type."""

    x: Coordinate
    y: Coordinate
    width: Size
    height: Size
    id: Annotated[Identifier, Meta(description="Given by the studio when left out")] = ""
    name: Annotated[str, Meta(max_length=200, description="Shown in listings")] | None = None
    rotation: Degrees = 0.0
    opacity: Share = 1.0
    visible: bool = True
    locked: Annotated[bool, Meta(description="Refuse changes until it is unlocked")] = False
    groupId: (
        Annotated[
            Identifier,
            Meta(description="Its group. A container's id makes it a child of that container"),
        ]
        | None
    ) = None
    isDynamic: Annotated[bool, Meta(description="It holds {{fields}} to be filled")] = False
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
        """Refuse texts that are no colour, gradient, shadow or path, wherever they come from."""
        check_css_values(self)

    @property
    def type(self) -> str:
        """The word that tells the types apart on the wire."""
        return str(self.__struct_config__.tag)


class Stroked(Element, kw_only=True, frozen=True):
    """An outline."""

    stroke: Paint | None = None
    strokeWidth: StrokeWidth | None = None
    borderStyle: BorderStyle = "solid"


class Painted(Stroked, kw_only=True, frozen=True):
    """An outline and an inside."""

    fill: Paint | None = None


class Cornered(Painted, kw_only=True, frozen=True):
    """A box whose corners may be round."""

    borderRadius: Radius | None = None
    borderRadiusTopLeft: Radius | None = None
    borderRadiusTopRight: Radius | None = None
    borderRadiusBottomLeft: Radius | None = None
    borderRadiusBottomRight: Radius | None = None


class Lettered(Element, kw_only=True, frozen=True):
    """Something that is written in a font."""

    fontFamily: FontFamily = "Inter"
    fontSize: FontSize | None = None
    fontWeight: FontWeight | None = None
    fontStyle: FontStyle = "normal"


def fields_of(element_type: type[Element]) -> tuple[str, ...]:
    """The names of a type's properties on the wire, `type` among them."""
    fields: tuple[Any, ...] = msgspec.structs.fields(element_type)
    return ("type", *(field.encode_name for field in fields))
