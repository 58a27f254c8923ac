"""Finds elements without content, and {{fields}} that are not filled."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dovetail_design.findings.finding import Finding
from dovetail_design.findings.scene import Scene
from dovetail_design.model import (
    Barcode,
    Element,
    Image,
    Qr,
    Svg,
    Table,
    Text,
)

__all__ = ["FIELD", "find_empty", "find_unfilled", "texts_of"]

FIELD = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*\}\}")


def find_empty(scene: Scene) -> Iterator[Finding]:
    """Yield elements without the data that they need."""
    for item in scene.items:
        lack = _lack(item.element)
        if lack is not None:
            missing, fix = lack
            yield Finding("empty-data", f"The {item.label} has {missing}", (item.id,), fix)


def _lack(element: Element) -> tuple[str, str] | None:
    match element:
        case Text() if not element.text.strip():
            return "no text", "Set text, or delete it."
        case Image() if not (element.src or "").strip() and element.fill is None:
            return "no picture", "Set src to an asset or a data: URI."
        case Svg() if not (element.svgPath or "").strip() and not (element.src or "").strip():
            return "no outline", "Set svgPath (see list_shapes and search_icons) or src."
        case Qr() if not element.qrValue.strip():
            return "nothing to encode", "Set qrValue."
        case Barcode() if not element.barcodeValue.strip():
            return "nothing to encode", "Set barcodeValue."
        case Table() if not _has_cells(element):
            return "no cells", "Set tableHeaderData and tableCellData."
    return None


def _has_cells(table: Table) -> bool:
    if table.tableIsDynamic or table.tableJsonData or table.tableCsvUrl:
        return True
    cells = [cell.text for cell in table.tableCellData or ()]
    return any(text.strip() for text in cells)


def find_unfilled(scene: Scene) -> Iterator[Finding]:
    """Yield fields that are not filled."""
    for item in scene.items:
        names = list(
            dict.fromkeys(name for text in texts_of(item.element) for name in FIELD.findall(text))
        )
        if names:
            listed = ", ".join(f"{{{{{name}}}}}" for name in names[:8])
            yield Finding(
                "unfilled-field",
                f"The {item.label} still shows {listed}",
                (item.id,),
                "Fill it with apply_template(data=...), or replace it with the text itself.",
            )


def texts_of(element: Element) -> Iterator[str]:
    """Return every text of an element that may contain fields."""
    match element:
        case Text():
            yield element.text
        case Image() | Svg():
            yield element.src or ""
        case Qr():
            yield element.qrValue
        case Barcode():
            yield element.barcodeValue
        case Table():
            yield from (cell.text for cell in element.tableHeaderData or ())
            yield from (cell.text for cell in element.tableCellData or ())
            yield element.tableCsvUrl or ""
            yield element.tableJsonData or ""
