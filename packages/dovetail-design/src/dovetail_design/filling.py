"""Finds `{{fields}}` in designs and fills them with rows of data."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dovetail import ToolError

__all__ = ["FIELD", "MOST_ROWS", "fill_elements", "find_fields", "list_names", "read_rows"]

MOST_ROWS = 500

FIELD = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_.-]{0,99})\s*\}\}")
# Properties that may contain fields; those of tables are handled separately.
_TEXTS = ("text", "src", "qrValue", "barcodeValue", "tableCsvUrl", "tableJsonData")
_MOST_LISTED = 1_500
_CELLS = ("tableCellData", "tableHeaderData")


def find_fields(elements: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the fields of a design, each with the ids of its elements."""
    found: dict[str, list[str]] = {}
    for element in elements:
        for text in _texts(element):
            for name in FIELD.findall(text):
                ids = found.setdefault(name, [])
                if element.get("id", "") not in ids:
                    ids.append(element.get("id", ""))
    return found


def fill_elements(
    elements: Sequence[Mapping[str, Any]], row: Mapping[str, Any], defaults: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the elements with all fields filled; raises ToolError for missing or unknown names."""
    fields = find_fields(elements)
    values = {**{name: value for name, value in defaults.items() if name in fields}, **row}
    missing = [name for name in fields if name not in values]
    surplus = [name for name in row if name not in fields]
    if missing or surplus:
        parts = [f"missing: {list_names(missing)}"] if missing else []
        parts += [f"not in the template: {list_names(map(str, surplus))}"] if surplus else []
        raise ToolError(
            f"The data does not match the fields ({'; '.join(parts)}). Fields: {list_names(fields)}"
        )
    return [_fill(element, values) for element in elements]


def read_rows(data: Any) -> list[dict[str, Any]]:
    """Parse one or more rows: an object, a list of objects, either as JSON text, or CSV."""
    if isinstance(data, str):
        data = _read_text(data)
    rows = [data] if isinstance(data, dict) else data
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ToolError("data must be an object, a list of objects, or CSV text with a header line")
    if not rows:
        raise ToolError("data has no rows; pass at least one")
    if len(rows) > MOST_ROWS:
        raise ToolError(f"data has {len(rows)} rows; the limit is {MOST_ROWS}")
    return rows


def _read_text(text: str) -> Any:
    if text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except ValueError as error:
            raise ToolError(f"data looks like JSON but is invalid: {error}") from None
    return _read_csv(text)


def _read_csv(text: str) -> list[dict[str, Any]]:
    header, *lines = [line for line in csv.reader(io.StringIO(text.lstrip("\ufeff"))) if line] or [
        []
    ]
    header = [name.strip() for name in header]
    if len(set(header)) != len(header):
        raise ToolError(f"The CSV header has a duplicate column: {list_names(header)}")
    for number, line in enumerate(lines, 2):
        if len(line) != len(header):
            raise ToolError(
                f"Line {number} of the CSV has {len(line)} values, its header {len(header)}: "
                f"{list_names(header)}"
            )
    return [dict(zip(header, line, strict=True)) for line in lines]


def _texts(element: Mapping[str, Any]) -> list[str]:
    texts = [element[name] for name in _TEXTS if isinstance(element.get(name), str)]
    for name in _CELLS:
        texts += [cell["text"] for cell in element.get(name) or ()]
    return texts


def _fill(element: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    filled = dict(element)
    for name in _TEXTS:
        if isinstance(element.get(name), str) and "{{" in element[name]:
            filled[name] = _replace(element[name], values)
    for name in _CELLS:
        if element.get(name):
            filled[name] = [
                {**cell, "text": _replace(cell["text"], values)} for cell in element[name]
            ]
    if filled != element:
        filled.pop("isDynamic", None)
    if element.get("tableIsDynamic"):
        _fill_table(filled)
    return filled


def _replace(text: str, values: Mapping[str, Any]) -> str:
    return FIELD.sub(lambda found: _say(values[found[1]]), text)


def _say(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False)


def _fill_table(element: dict[str, Any]) -> None:
    """Convert rows in the data to cells."""
    source = element.get("tableDataSource", "manual")
    text = element.get("tableCsvUrl" if source == "csv" else "tableJsonData")
    if source == "manual" or not text:
        return
    header, rows = _read_table(text, source)
    if not rows or not rows[0]:
        raise ToolError(f"The rows for the table {element.get('name', '')!r} are empty")
    for name in ("tableCsvUrl", "tableJsonData", "tableDataSource", "tableIsDynamic"):
        element.pop(name, None)
    element["tableRows"] = len(rows)
    element["tableColumns"] = max(map(len, rows))
    if header:
        element["tableHeaderData"] = [
            {"col": column, "text": text} for column, text in enumerate(header)
        ]
    element["tableCellData"] = [
        {"row": number, "col": column, "text": text}
        for number, row in enumerate(rows)
        for column, text in enumerate(row)
    ]
    for name, count in (
        ("tableColumnWidths", element["tableColumns"]),
        ("tableRowHeights", element["tableRows"] + bool(element.get("tableHasHeader", True))),
    ):
        if len(element.get(name) or ()) != count:
            element.pop(name, None)


def _read_table(text: str, source: str) -> tuple[list[str], list[list[str]]]:
    if source == "csv":
        header, *rows = list(csv.reader(io.StringIO(text))) or [[]]
        return header, rows
    try:
        data = json.loads(text)
    except ValueError as error:
        raise ToolError(f"The rows of a table must be JSON: {error}") from None
    if isinstance(data, list) and data and all(isinstance(row, dict) for row in data):
        header = list(dict.fromkeys(key for row in data for key in row))
        return header, [[_say(row.get(key)) for key in header] for row in data]
    if isinstance(data, list) and all(isinstance(row, list) for row in data):
        return [], [[_say(value) for value in row] for row in data]
    raise ToolError("The rows of a table must be a list of objects or a list of lists")


def list_names(names: Iterable[str]) -> str:
    """Return names for an error, which must stay short."""
    text = ", ".join(names) or "none"
    return text if len(text) <= _MOST_LISTED else f"{text[:_MOST_LISTED]}..."
