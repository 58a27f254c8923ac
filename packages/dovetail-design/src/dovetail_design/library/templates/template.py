"""A template: a canvas with named slots and sample values for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import msgspec

from dovetail_design.library.templates.layout import expand
from dovetail_design.model import Design, parse_design

__all__ = ["FIELD", "Template", "fill_text"]

FIELD = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*\}\}")
# Properties that may hold fields; those of tables are lists of cells.
_TEXTS = ("text", "src", "qrValue", "barcodeValue")
_CELLS = ("tableHeaderData", "tableCellData")


class Template(msgspec.Struct, frozen=True, eq=False, dict=True, forbid_unknown_fields=True):
    """The content of a template file: elements with `{{slots}}` and a sample for each slot."""

    id: str
    name: str
    category: str
    description: str
    tags: tuple[str, ...]
    width: int
    height: int
    background: str
    # The elements as the file writes them, see `layout`.
    layout: tuple[dict[str, Any], ...] = msgspec.field(name="elements")
    # Slot -> sample value; the names are exactly the fields that occur in the elements.
    slots: dict[str, str]

    @cached_property
    def elements(self) -> tuple[Mapping[str, Any], ...]:
        """The elements, bottom first, with their slots.

        They are expanded on first use: listing templates does not load icons and pictures.
        """
        return tuple(plain for element in self.layout for plain in expand(element))

    def filled(self, data: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
        """Return the elements with every slot filled; slots missing in `data` get their sample."""
        values = {**self.slots, **(data or {})}
        return [_fill(element, values) for element in self.elements]

    def design(self, data: Mapping[str, str] | None = None) -> Design:
        """Return the template as a design; its element ids are e1, e2... bottom first."""
        elements = [
            {"id": f"e{number}", **element} for number, element in enumerate(self.filled(data), 1)
        ]
        return parse_design(
            {
                "width": self.width,
                "height": self.height,
                "background": self.background,
                "elements": elements,
            }
        )

    def fields(self) -> set[str]:
        """Return the names of the fields in the elements."""
        return {
            name
            for element in self.elements
            for text in _texts(element)
            for name in FIELD.findall(text)
        }


def fill_text(text: str, values: Mapping[str, str]) -> str:
    """Replace the fields that have a value; others stay as they are."""
    return FIELD.sub(lambda found: str(values.get(found[1], found[0])), text)


def _texts(element: Mapping[str, Any]) -> list[str]:
    found = [element[key] for key in _TEXTS if key in element]
    return found + [cell["text"] for key in _CELLS for cell in element.get(key, ())]


def _fill(element: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
    filled = dict(element)
    for key in _TEXTS:
        if key in filled:
            filled[key] = fill_text(filled[key], values)
    for key in _CELLS:
        if key in filled:
            filled[key] = [
                {**cell, "text": fill_text(cell["text"], values)} for cell in filled[key]
            ]
    return filled
